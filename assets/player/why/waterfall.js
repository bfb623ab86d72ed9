// One request's time under each policy: a bar a policy, from its arrival, on one axis.

import { el, setText } from "../core/dom.js";
import { duration, threeFigures } from "../core/format.js";
import { PARTS, requestLedger, requestParts } from "./ledger.js";

const SVG_SPACE = "http://www.w3.org/2000/svg";
const BAR_UNITS = 1000; // units of a bar
const LEAST_LETTER = 0.035; // of the axis: a part that is wide enough for its letter

/** A part is told by letter, by height and by stripes, and not by its colour alone: [letter, top, height] of 20. */
const PART_SHAPES = {
  queue: ["Q", 7, 6],
  prefill: ["P", 0, 20],
  decode: ["D", 3, 14],
  stalled: ["S", 11, 9],
  preempted: ["E", 7, 6],
};
const PART_NAMES = { preempted: "preempted" };

let stripeCount = 0;

export class Waterfall {
  constructor() {
    this.bars = el("div", { class: "mbw-bars" });
    this.axis = el("div", { class: "mbw-axis", "aria-hidden": "true" });
    const keys = PARTS.map((kind) => {
      const letter = el("b", { text: PART_SHAPES[kind][0] });
      return el("span", { class: "mbw-key" }, partKey(kind), letter, ` ${PART_NAMES[kind] ?? kind}`);
    });
    this.element = el("div", { class: "mbw-waterfall" },
      el("h4", { text: "From its arrival to its last token" }), this.bars, this.axis,
      el("div", { class: "mbw-keys" }, ...keys));
    this.rows = [];
  }

  /** @param {number} secret the run whose future is not told, or -1 */
  show(runs, request, secret) {
    const all = runs.map((run) => requestParts(run, request));
    const lengths = all.map((parts) => (parts.length ? parts[parts.length - 1].to - parts[0].from : 0));
    this.longest = Math.max(1, ...lengths);
    this.rows = runs.map((run, k) => this.#row(run, request, all[k], k === secret));
    this.bars.replaceChildren(...this.rows.map(({ element }) => element));
    this.#ticks();
  }

  /** Put the playhead of every bar where its run is; what comes after is faint. */
  move(places) {
    this.rows.forEach(({ run, from, to, veil, now }, k) => {
      const { i, t, isRunning, ended } = places[k];
      // While a question about the next step is open, that step counts as not begun.
      const told = isRunning || ended >= run.n ? t : Math.min(t, run.start[i + 1]);
      const at = Math.min(Math.max(told, from), to) - from;
      const left = `${((at / this.longest) * 100).toFixed(3)}%`;
      if (veil.style.left === left) return;
      veil.style.left = left;
      now.style.left = left;
    });
  }

  #row(run, request, parts, isSecret) {
    const from = parts.length ? parts[0].from : 0;
    const to = parts.length ? parts[parts.length - 1].to : 0;
    const share = (ns) => (ns - from) / this.longest;
    const veil = el("div", { class: isSecret ? "mbw-veil mbw-secret" : "mbw-veil" });
    const now = el("div", { class: "mbw-now" });
    const letters = parts
      .filter((part) => share(part.to) - share(part.from) >= LEAST_LETTER)
      .map((part) => letterAt(PART_SHAPES[part.kind][0], (share(part.from) + share(part.to)) / 2));
    const bar = el("div", { class: "mbw-bar" }, barDrawing(parts, share), veil, now);
    const numbers = el("p", { class: "mbw-numbers", text: isSecret ? "" : ledgerWords(run, request, parts) });
    const above = el("div", { class: "mbw-letters", "aria-hidden": "true" }, ...(isSecret ? [] : letters));
    const name = el("span", { class: "mbw-name", text: run.label });
    const element = el("div", { class: "mbw-row" }, name, el("div", {}, above, bar, numbers));
    return { element, run, from, to, veil, now };
  }

  /** 0, and round numbers of seconds up to the longest bar. */
  #ticks() {
    const seconds = this.longest / 1e9;
    const rough = seconds / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough);
    const ticks = [];
    for (let k = 0; k * step <= seconds * 0.94; k++) {
      const tick = el("span", { text: k ? `${Number(threeFigures(k * step).replaceAll(",", ""))} s` : "0" });
      tick.style.left = `${((k * step) / seconds) * 100}%`;
      ticks.push(tick);
    }
    this.axis.replaceChildren(...ticks);
  }
}

/** queue 310 ms + prefill 18.2 ms + decode 402 ms = 730 ms measured */
function ledgerWords(run, request, parts) {
  if (run.requests[request].finish === "rejected") return "rejected";
  if (!parts.length) return "never arrived";
  const totals = requestLedger(run, request);
  const some = PARTS.filter((kind) => totals[kind] > 0).map((kind) => `${kind} ${duration(totals[kind])}`);
  const sum = Object.values(totals).reduce((total, ns) => total + ns, 0);
  const cut = { abort: ", aborted", transfer: ", then in another engine" }[run.requests[request].finish];
  const end = run.requests[request].finish ? cut ?? "" : ", cut off";
  return `${some.join(" + ")} = ${duration(sum)} ${run.clocks}${end}`;
}

function letterAt(letter, share) {
  const span = el("span", { text: letter });
  span.style.left = `${share * 100}%`;
  return span;
}

function svgEl(tag, attributes, ...children) {
  const element = document.createElementNS(SVG_SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** All parts of a kind are one path, so that a thousand of them cost no more than one. */
function barDrawing(parts, share) {
  const svg = svgEl("svg", { viewBox: `0 0 ${BAR_UNITS} 20`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const stripes = stripesFor(svg);
  for (const kind of PARTS) {
    const d = parts
      .filter((part) => part.kind === kind)
      .map((part) => barRectangle(kind, share(part.from) * BAR_UNITS, share(part.to) * BAR_UNITS))
      .join("");
    if (!d) continue;
    svg.append(svgEl("path", { d, class: `mbw-part mbw-part-${kind}` }));
    if (kind === "prefill" || kind === "preempted") svg.append(svgEl("path", { d, fill: `url(#${stripes})` }));
  }
  return svg;
}

function barRectangle(kind, left, right) {
  const [, top, height] = PART_SHAPES[kind];
  return `M${left.toFixed(2)} ${top}H${right.toFixed(2)}V${top + height}H${left.toFixed(2)}Z`;
}

/** A pattern of stripes in the colour of the ground, and its id. */
function stripesFor(svg) {
  const id = `mbw-stripes-${stripeCount++}`;
  const line = svgEl("path", { d: "M-2 6L6 -2M2 10L10 2", class: "mbw-stripe" });
  svg.append(svgEl("defs", {}, svgEl("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" }, line)));
  return id;
}

function partKey(kind) {
  const svg = barDrawing([{ kind, from: 0, to: 1 }], (value) => value * 0.03);
  svg.setAttribute("viewBox", "0 0 30 20");
  return svg;
}
