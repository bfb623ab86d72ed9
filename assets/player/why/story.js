// The story of one request: what it was asked, what it has generated, and where its time went under each policy.

import { button, el, setText } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { Waterfall } from "./waterfall.js";

const STORY_REFRESH_MS = 100; // of the text, while playing

export class Story {
  /** @param {import("../core/store.js").Store} store */
  constructor(store) {
    this.store = store;
    this.heading = el("h3", { class: "mbw-headline" });
    this.select = el("select", { class: "mbw-select", on: { change: () => this.#pin(Number(this.select.value)) } });
    this.unpin = button({ label: "Unpin", class: "mbw-button", onClick: () => this.#pin(-1) });
    const choose = el("label", { class: "mbw-choose" }, el("span", { text: "Request: " }), this.select);
    this.lengths = el("p", { class: "mbw-where" });
    this.prompt = el("p", { class: "mbw-passage", tabindex: "0", role: "region", "aria-label": "Prompt" });
    this.written = el("p", { class: "mbw-passage", tabindex: "0", role: "region", "aria-label": "Generated so far" });
    this.writer = el("h4");
    this.others = el("p", { class: "mbw-note" });
    this.waterfall = new Waterfall();
    const texts = el("div", { class: "mbw-texts" },
      el("div", {}, el("h4", { text: "Prompt" }), this.prompt), el("div", {}, this.writer, this.written, this.others));
    this.body = el("div", { class: "mbw-body" }, el("div", {}, this.lengths, texts), this.waterfall.element);
    this.hint = el("p", { class: "mbw-note", text: "Point at a request in a lane, or choose one here." });
    const head = el("div", { class: "mbw-head" }, this.heading, choose, this.unpin);
    this.element = el("section", { class: "mbw-story", "aria-label": "One request" }, head, this.hint, this.body);
  }

  /** @param {object[]} places of `Run.locate`, one a run */
  update(places) {
    const { store } = this;
    if (store.runs !== this.runs) this.#requests();
    const request = this.#request();
    const isNew = request !== this.request || store.runs !== this.runs || store.hidden !== this.hidden;
    this.#controls(request);
    Object.assign(this, { request, runs: store.runs, hidden: store.hidden });
    if (request < 0) return;
    if (isNew) this.#begin(request);
    this.waterfall.move(places);
    const now = performance.now();
    if (!isNew && store.isPlaying && now - this.shown < STORY_REFRESH_MS) return;
    this.shown = now;
    this.#soFar(request, places);
  }

  destroy() {
    this.element.remove();
  }

  #request() {
    const { pinned, hover, runs } = this.store;
    const request = pinned >= 0 ? pinned : hover.request;
    return request < (runs[0]?.requests.length ?? 0) ? request : -1;
  }

  #pin(request) {
    this.store.set({ pinned: request });
  }

  #requests() {
    const requests = this.store.runs[0]?.requests ?? [];
    const label = (request) => `r${request.id} · ${requestLengths(request)}`;
    const options = requests.map((request) => el("option", { value: request.id, text: label(request) }));
    this.select.replaceChildren(el("option", { value: -1, text: "none" }), ...options);
    this.pinnedShown = undefined;
  }

  #controls(request) {
    const { pinned } = this.store;
    if (this.pinnedShown !== pinned) {
      this.pinnedShown = pinned;
      this.select.value = String(pinned);
      this.unpin.disabled = pinned < 0;
    }
    setText(this.heading, request < 0 ? "One request" : `r${request}`);
    this.hint.hidden = request >= 0;
    this.body.hidden = request < 0;
  }

  /** What of the story doesn't depend on the playhead. */
  #begin(request) {
    const { store } = this;
    const { prompt, promptTokens, maxTokens } = store.runs[0].requests[request];
    setText(this.lengths, requestLengths({ promptTokens, maxTokens }));
    setText(this.prompt, prompt ?? "Given as tokens, not as text.");
    this.prompt.classList.toggle("mbw-silent", prompt === null);
    this.waterfall.show(store.runs, request, store.hidden?.lane ?? -1);
  }

  #soFar(request, places) {
    const { runs, focus } = this.store;
    const run = runs[focus];
    const { pieces, finish, maxTokens } = run.requests[request];
    const tokens = runs.map((each, k) => each.writtenBy(request, places[k].ended - 1));
    const silence = whySilent(run, tokens[focus], pieces, finish);
    const part = `${count(tokens[focus])} of at most ${plural(maxTokens, "token")}`;
    setText(this.writer, `Generated under ${run.label}: ${part}`);
    setText(this.written, silence || pieces.slice(0, tokens[focus]).join(""));
    this.written.classList.toggle("mbw-silent", silence !== "");
    const each = runs.map((other, k) => `${other.label} ${count(tokens[k])}`);
    const differ = new Set(tokens).size > 1;
    this.others.hidden = !differ;
    if (differ) setText(this.others, `Tokens at this moment: ${each.join(", ")}.`);
  }
}

function requestLengths({ promptTokens, maxTokens }) {
  return `${plural(promptTokens, "prompt token")}, at most ${count(maxTokens)} to generate`;
}

/** Why there is no text; "" where there is. */
function whySilent(run, tokens, pieces, finish) {
  if (finish === "rejected") return "Rejected: it generates nothing.";
  if (!tokens) return "Nothing yet.";
  return pieces.length ? "" : "A modelled run computes times, not text.";
}
