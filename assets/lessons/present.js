// Present mode: one block at a time in large type, for a projector and a clicker.

import { button, el } from "../player/core/dom.js";
import { handsPoll } from "./poll.js";

const FORWARD_KEYS = ["PageDown", "ArrowRight", "ArrowDown"];
const BACK_KEYS = ["PageUp", "ArrowLeft", "ArrowUp"];
const NEARLY = 12; // pixels that nobody misses
const SCREENFUL = 0.8;
const TYPED_TAGS = ["INPUT", "TEXTAREA", "SELECT"];

/** Shows blocks of a lesson one after the other; notes go with the block before them. */
export class Present {
  /**
   * @param {HTMLElement} root of the lesson
   * @param {object[]} shown blocks as they were built: {block, element, card?, poll?}
   * @param {{words: Function, hides: Function, onChange: Function}} context
   */
  constructor(root, head, shown, context) {
    Object.assign(this, { root, context, isOn: false, at: 0 });
    const { words } = context;
    this.stages = [{ elements: [head] }];
    for (const each of shown) {
      if (each.block.kind === "notes") this.stages.at(-1).elements.push(each.element);
      else this.stages.push({ elements: [each.element], card: each.card, poll: each.poll, block: each.block });
    }
    this.count = el("span", { class: "mbl-count", role: "status" });
    this.tellButton = el("button", { type: "button", text: words("tell"), on: { click: () => this.#tell() } });
    this.bar = el("div", { class: "mbl-present-bar", role: "toolbar", "aria-label": words("present") },
      button({ label: words("previous_block"), icon: "previous", onClick: () => this.move(-1) }), this.count,
      button({ label: words("next_block"), icon: "next", onClick: () => this.move(1) }), this.tellButton,
      el("button", { type: "button", text: words("leave"), on: { click: () => this.leave() } }));
    this.bar.hidden = true;
    this.onKey = (event) => this.#key(event);
    // On the window and captured: a player on the page has uses of its own for these keys.
    window.addEventListener("keydown", this.onKey, true);
  }

  /** Begin at a block, by its key. */
  enter(key = null) {
    this.isOn = true;
    this.root.classList.add("mbl-present");
    this.bar.hidden = false;
    for (const { card, poll } of this.stages) {
      if (card && poll && !card.poll.firstChild) card.poll.append(handsPoll(poll, this.context.words));
    }
    this.at = Math.max(0, this.stages.findIndex(({ block }) => block && block.key === key));
    this.context.onChange();
    this.#draw();
  }

  leave() {
    if (!this.isOn) return;
    this.isOn = false;
    this.root.classList.remove("mbl-present");
    this.bar.hidden = true;
    const [element] = this.stages[this.at].elements;
    for (const stage of this.stages) for (const each of stage.elements) each.classList.remove("mbl-current");
    this.context.onChange();
    element.scrollIntoView({ block: "start" });
  }

  move(by) {
    this.at = Math.max(0, Math.min(this.stages.length - 1, this.at + by));
    this.#draw();
  }

  destroy() {
    window.removeEventListener("keydown", this.onKey, true);
  }

  /** Tell what is right; whether there was something to tell. */
  #tell() {
    const { card } = this.stages[this.at];
    const told = card?.tell() ?? false;
    this.#draw(false);
    if (told) card.result.scrollIntoView({ block: "nearest" });
    return told;
  }

  #draw(scrolls = true) {
    const { words } = this.context;
    this.stages.forEach(({ elements }, k) => elements.forEach((element) => element.classList.toggle("mbl-current", k === this.at)));
    const { card } = this.stages[this.at];
    this.tellButton.hidden = !card || card.isTold || this.context.hides("answers");
    this.count.textContent = words("block_of", { n: this.at + 1, m: this.stages.length });
    if (scrolls) this.root.scrollTop = 0;
  }

  #key(event) {
    if (!this.isOn || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const target = event.composedPath()[0];
    const isClicker = event.key.startsWith("Page"); // its keys are the lesson's, wherever the focus was left
    const isElsewhere = TYPED_TAGS.includes(target?.tagName) || target?.closest?.(".mb-player, .mbl-board");
    if (event.key !== "Escape" && (target?.closest?.("dialog") || (isElsewhere && !isClicker))) return;
    const by = FORWARD_KEYS.includes(event.key) ? 1 : BACK_KEYS.includes(event.key) ? -1 : 0;
    if (!by && event.key !== "Escape") return;
    if (event.key === "Escape" && target?.closest?.("dialog, .mb-present")) return;
    event.preventDefault();
    event.stopPropagation();
    if (!by) this.leave();
    else if (!isClicker || !this.#clicked(by)) this.move(by);
  }

  /** What a clicker does before it goes on: show the rest of a long block, and tell. @returns {boolean} whether it did */
  #clicked(by) {
    const { scrollTop, scrollHeight, clientHeight } = this.root;
    const left = by > 0 ? scrollHeight - clientHeight - scrollTop : scrollTop;
    if (left > NEARLY) {
      this.root.scrollTop += by * Math.min(left, SCREENFUL * clientHeight);
      return true;
    }
    return by > 0 && this.#tell();
  }
}
