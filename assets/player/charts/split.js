// What the current step moves and computes, under the roofline.

import { boundOf, byteSplit, flopsInWords, workOf } from "./text.js";
import { el, LEGIBLE_MS, setText } from "../core/dom.js";
import { bytes, NOTHING, percent, threeFigures } from "../core/format.js";

const SHADES = [0.82, 0.48, 0.22]; // of ink: weights, KV, activations. Colour belongs to requests.

/** A stacked bar of the bytes of the step in focus, with its numbers. */
export class ByteSplit {
  constructor(store) {
    this.store = store;
    this.title = el("b");
    this.total = el("b");
    this.flops = el("b");
    this.intensity = el("b");
    this.bound = el("b");
    this.bars = SHADES.map(() => el("i"));
    this.keys = SHADES.map(() => el("i"));
    this.numbers = SHADES.map(() => el("b"));
    const names = ["weights ", "KV ", "activations "];
    const named = names.map((name, k) => el("span", {}, this.keys[k], name, this.numbers[k]));
    this.element = el("div", { class: "mb-split" },
      el("div", { class: "mb-split-row" }, el("span", {}, this.title), el("span", {}, "moves ", this.total)),
      el("div", { class: "mb-split-bar", "aria-hidden": "true" }, ...this.bars),
      el("div", { class: "mb-split-row" }, ...named),
      el("div", { class: "mb-split-row" },
        el("span", {}, "computes ", this.flops),
        el("span", {}, "intensity ", this.intensity),
        el("span", {}, this.bound)));
  }

  place({ ink }) {
    this.seen = null;
    [...this.bars, ...this.keys].forEach((mark, k) => {
      mark.style.background = ink;
      mark.style.opacity = SHADES[k % SHADES.length];
    });
  }

  update(places) {
    const { runs, focus, isPlaying } = this.store;
    const run = runs[focus];
    const { i } = places[focus];
    if (i === this.seen && run === this.run) return;
    const now = performance.now();
    if (isPlaying && run === this.run && now - this.drawnAt < LEGIBLE_MS) return;
    this.drawnAt = now;
    this.seen = i;
    this.run = run;
    if (i < 0) return this.#clear(run);
    const split = byteSplit(run, i);
    setText(this.title, `${run.label}, step ${i}: ${workOf(run, i)}`);
    setText(this.total, bytes(run.bytesOf(i)));
    split.forEach(({ bytes: number, share }, k) => {
      this.bars[k].style.width = `${share * 100}%`;
      setText(this.numbers[k], `${bytes(number)}, ${percent(share)} %`);
    });
    setText(this.flops, flopsInWords(run.flops[i]));
    setText(this.intensity, `${threeFigures(run.intensity(i))} FLOP/byte`);
    const bound = boundOf(run, i);
    setText(this.bound, bound && `${bound}: ${bound === "memory-bound" ? "left" : "right"} of the ridge`);
  }

  #clear(run) {
    setText(this.title, `${run.label} has not begun`);
    for (const element of [this.total, this.flops, this.intensity, ...this.numbers]) setText(element, NOTHING);
    setText(this.bound, "");
    for (const bar of this.bars) bar.style.width = "0";
  }
}
