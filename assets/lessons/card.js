// What every question of a lesson is: asked, committed to, and only then answered.

import { button, el } from "../player/core/dom.js";
import { safeHtml } from "./lesson_parts.js";
import { readNumber, typedNumber } from "./numbers.js";

let cardsMade = 0;

/**
 * A question as a card. Whoever makes one fills `controls` and gives `parts`:
 * `verdict(right, answer)` says how it went, `reveal(answer)` is an element that tells what is right,
 * `restore(answer)` shows an earlier answer, `lock(isLocked)` closes the controls, `mark(isMarked)` shows in them what
 * was right. `right` is true, false, or null for close.
 */
export class Card {
  constructor(block, context, { kicker, parts }) {
    Object.assign(this, { block, context, parts });
    const { words } = context;
    const id = `mbl-ask-${++cardsMade}`;
    this.mark = el("span", { class: "mbl-mark" });
    this.ask = safeHtml("div", "mbl-ask", block.ask_html);
    this.ask.id = id;
    this.poll = el("div", { class: "mbl-poll" });
    this.controls = el("div", { class: "mbl-controls" });
    this.verdict = el("p", { class: "mbl-verdict", role: "status" });
    this.result = el("div", { class: "mbl-reveal" });
    this.againButton = button({ label: words("again"), class: "mbl-quiet", onClick: () => this.again() });
    this.againButton.removeAttribute("title");
    this.againButton.hidden = true;
    const head = el("p", { class: "mbl-kicker" }, el("span", { text: kicker }), this.mark);
    this.element = el("section", { class: `mbl-card mbl-${block.kind}`, "aria-labelledby": id }, head, this.ask, this.poll,
      this.controls, this.verdict, this.result, this.againButton);
    this.#state("open");
  }

  /** Show what was answered before. Called once the controls stand. */
  begin() {
    const record = this.context.answers[this.block.key];
    if (!record) return;
    try {
      this.parts.restore(record.answer);
      this.#show(record.right, record.answer);
    } catch {
      this.context.keep(this.block, null); // the lesson has changed since
      this.#state("open");
    }
  }

  commit(right, answer) {
    this.context.keep(this.block, { right, answer, at: new Date().toISOString() });
    this.#show(right, answer);
    if (!this.againButton.hidden) this.againButton.focus({ preventScroll: true });
  }

  /** Say that an answer can't be read. */
  complain(text) {
    this.verdict.textContent = text;
  }

  /** For a presenter: what is right, with nothing answered. @returns {boolean} whether anything was yet to be told */
  tell() {
    if (this.isTold || this.context.hides("answers")) return false;
    this.#show(undefined, null);
    return true;
  }

  again() {
    this.context.keep(this.block, null);
    this.#state("open");
    this.parts.mark?.(false);
    this.parts.lock(false);
    this.verdict.textContent = "";
    this.result.replaceChildren();
    this.controls.querySelector("input, button")?.focus({ preventScroll: true });
  }

  #show(right, answer) {
    const { words } = this.context;
    this.parts.lock(true);
    if (this.context.hides("answers")) {
      this.#state("kept");
      this.verdict.textContent = words("kept");
      return;
    }
    this.#state(right === undefined ? "told" : right ? "right" : right === null ? "close" : "wrong");
    this.verdict.textContent = right === undefined ? "" : this.parts.verdict(right, answer);
    this.parts.mark?.(true);
    this.result.replaceChildren(...[this.parts.reveal(answer)].filter(Boolean));
  }

  #state(state) {
    const { words } = this.context;
    this.isTold = state !== "open";
    this.element.dataset.state = state;
    this.mark.textContent = ["open", "told"].includes(state) ? "" : words(`mark_${state}`);
    this.againButton.hidden = !this.isTold;
  }
}

/** A button that commits. */
export function commitButton(words, onClick) {
  return el("button", { type: "button", class: "mbl-primary", text: words("commit"), on: { click: onClick } });
}

/** A number with its label and unit; Enter commits. `value()` is null where none can be read. */
export function numberEntry({ words, marks }, label, unit, onCommit) {
  // As text: what a field of type number takes for a comma is the browser's affair, and not the lesson's.
  const input = el("input", { type: "text", inputmode: "decimal", class: "mbl-number", autocomplete: "off" });
  const commit = commitButton(words, onCommit);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // the focus moves to a button, which this key would press as well
    onCommit();
  });
  const named = el("label", { class: "mbl-measure" }, el("span", { text: label }), input, unit ? el("span", { text: unit === "x" ? "×" : unit }) : null);
  const value = () => readNumber(input.value, marks);
  const show = (number) => { input.value = typedNumber(number, marks); };
  const lock = (isLocked) => { input.disabled = isLocked; commit.hidden = isLocked; };
  return { element: el("div", { class: "mbl-entry" }, named, commit), value, show, lock };
}
