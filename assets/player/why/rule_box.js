// A policy's source with the lines that decided marked, in a box of its own.

import { el, setText } from "../core/dom.js";

const MOST_RULE_CODES = 2; // more would mark every line there is

export class RuleBox {
  constructor() {
    this.summary = el("summary");
    this.box = el("div", { class: "mbw-source", tabindex: "0", role: "region" });
    this.element = el("details", { class: "mbw-rule", on: { toggle: () => this.#mark() } }, this.summary, this.box);
    this.rows = [];
    this.codes = [];
  }

  /**
   * Show a policy's source and mark what decided.
   * @param {{files: {name: string, text: string}[], lines: object} | undefined} source of policy_source.py
   * @param {string[]} codes most important first
   */
  show(source, codes) {
    this.element.hidden = !source?.files.length;
    if (this.element.hidden) return;
    if (source !== this.source) this.#write(source);
    const known = codes.filter((code) => source.lines[code]);
    const file = known.length ? source.lines[known[0]][0] : 0;
    setText(this.summary, `The rule in ${source.files[file].name}`);
    this.box.setAttribute("aria-label", `Source of ${source.files[file].name}`);
    this.codes = known.slice(0, MOST_RULE_CODES);
    this.#mark();
  }

  #write(source) {
    this.source = source;
    this.marked = "";
    this.rows = source.files.map(({ text }) => text.replace(/\n$/, "").split("\n").map(sourceLine));
    const files = source.files.map(({ name }, k) =>
      el("div", {}, source.files.length > 1 ? el("p", { class: "mbw-file", text: name }) : null,
        el("pre", {}, el("code", {}, ...this.rows[k].map(({ element }) => element)))));
    this.box.replaceChildren(...files);
  }

  /** Mark the lines, and bring the first into view: within the box, the page stays where it is. */
  #mark() {
    if (!this.element.open || !this.source) return;
    const key = this.codes.join(" ");
    if (key === this.marked) return;
    this.marked = key;
    for (const row of this.rows.flat()) row.mark("");
    let first = null;
    this.codes.forEach((code, rank) => {
      const [file, numbers] = this.source.lines[code];
      for (const number of numbers) {
        const row = this.rows[file][number - 1];
        if (!row || row.kind) continue;
        row.mark(rank ? "also" : "decides");
        first ??= row.element;
      }
    });
    if (first) this.#reveal(first);
  }

  #reveal(line) {
    const top = line.getBoundingClientRect().top - this.box.getBoundingClientRect().top + this.box.scrollTop;
    const { scrollTop, clientHeight } = this.box;
    if (top >= scrollTop && top + line.offsetHeight <= scrollTop + clientHeight) return;
    this.box.scrollTop = Math.max(0, top - clientHeight / 3);
  }
}

const RULE_SIGNS = { decides: "▶", also: "▷", "": "" };
const RULE_SPOKEN = { decides: "decides: ", also: "decides too: ", "": "" };

function sourceLine(text, k) {
  const sign = el("span", { class: "mbw-sign", "aria-hidden": "true" });
  const spoken = el("span", { class: "mbw-spoken" });
  const number = el("span", { class: "mbw-number", text: String(k + 1), "aria-hidden": "true" });
  const code = el("span", { text: `${text}\n` });
  const element = el("span", { class: "mbw-line" }, sign, number, spoken, code);
  const row = { element, kind: "" };
  row.mark = (kind) => {
    if (row.kind === kind) return;
    row.kind = kind;
    element.className = kind ? `mbw-line mbw-${kind}` : "mbw-line";
    setText(sign, RULE_SIGNS[kind]);
    setText(spoken, RULE_SPOKEN[kind]);
  };
  return row;
}
