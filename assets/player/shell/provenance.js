// What was run on what: title, what to watch, and the word that every number stands under.

import { el } from "../core/dom.js";

export class Provenance {
  constructor(store) {
    this.store = store;
    this.element = el("header", { class: "mb-provenance" });
  }

  draw() {
    const { comparison, runs } = this.store;
    const badges = new Map(runs.map((run) => [badge(run), run.clock]));
    const isCut = runs.some((run) => !run.complete);
    const { live } = comparison.options;
    this.element.replaceChildren(
      el("h2", { text: comparison.options.title ?? comparison.title }),
      el("p", { text: comparison.options.watch ?? comparison.watch }),
      el("div", { class: "mb-badges" },
        ...[...badges].map(([words, clock]) => el("span", { class: `mb-badge mb-${clock}`, text: words })),
        isCut ? el("span", { class: "mb-badge", text: live ? "running now" : "cancelled before the end" }) : null),
    );
  }
}

function badge(run) {
  const words = [run.clocks, run.device, `model ${run.model}`, run.dtype];
  if (run.fork) words.push(`forked at step ${run.fork.iteration}`);
  return words.join(" · ");
}
