// The why-card: what the scheduler decided at the playhead, and the lines of the policy that decided it.

import { el, setText } from "../core/dom.js";
import { count } from "../core/format.js";
import { RuleBox } from "./rule_box.js";
import { explainPlace, policyAt, sameMoment } from "./why.js";

const WHY_REFRESH_MS = 125; // while playing: nobody reads faster

export class WhyCard {
  /** @param {import("../core/store.js").Store} store */
  constructor(store) {
    this.store = store;
    this.where = el("p", { class: "mbw-where" });
    this.headline = el("h3", { class: "mbw-headline" });
    this.sentences = el("div", { class: "mbw-sentences" });
    this.others = el("ul", { class: "mbw-others" });
    this.same = el("div", { class: "mbw-same" }, el("h4", { text: "Same moment" }), this.others);
    const spoken = { "aria-live": "polite", "aria-atomic": "true" };
    this.said = el("div", { class: "mbw-said", ...spoken }, this.where, this.headline, this.sentences);
    this.rule = new RuleBox();
    this.element = el("section", { class: "mbw-card", "aria-label": "Why" }, this.said, this.same, this.rule.element);
  }

  /** @param {object[]} places of `Run.locate`, one a run */
  update(places) {
    const { store } = this;
    const live = store.isPlaying ? "off" : "polite";
    if (this.said.getAttribute("aria-live") !== live) this.said.setAttribute("aria-live", live);
    const key = this.#key(places);
    if (key === this.key && store.comparison === this.comparison) return;
    const now = performance.now();
    if (store.isPlaying && now - this.shown < WHY_REFRESH_MS) return;
    Object.assign(this, { key, shown: now, comparison: store.comparison });
    this.#show(places);
  }

  /** What the card depends on. Within an iteration it stays the same; between two, time itself is told. */
  #key(places) {
    const moments = places.map(({ i, t, isRunning, isDone }) => `${i} ${isRunning || isDone ? isDone : t}`);
    return `${this.store.focus} ${moments.join(" ")}`;
  }

  #show(places) {
    const { store } = this;
    const run = store.runs[store.focus];
    const place = places[store.focus];
    const isLive = Boolean(store.comparison.options?.live);
    const { headline, sentences, codes } = explainPlace(run, place, isLive);
    setText(this.where, `${run.label} · ${whyMoment(run, place)}`);
    setText(this.headline, headline);
    replaceTexts(this.sentences, "p", sentences);
    replaceTexts(this.others, "li", sameMoment(store.runs, places, store.focus, isLive));
    this.same.hidden = store.runs.length < 2;
    const policy = policyAt(run, Math.max(0, place.i));
    this.rule.show(store.comparison.sources?.[policy], codes);
  }

  destroy() {
    this.element.remove();
  }
}

function whyMoment(run, { i, isRunning, ended }) {
  if (isRunning) return `step ${count(i)}`;
  if (i < 0) return "before the first step";
  return ended >= run.n ? "the end" : `after step ${count(i)}`;
}

/** Fill an element with one child a text, keeping the children there are. */
function replaceTexts(parent, tag, texts) {
  while (parent.children.length > texts.length) parent.lastChild.remove();
  texts.forEach((text, k) => {
    if (k < parent.children.length) setText(parent.children[k], text);
    else parent.append(el(tag, { text }));
  });
}
