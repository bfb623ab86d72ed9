// One policy's lane: its name and counters, its slots, its KV map and its queue.

import { Blocks, Queue } from "./blocks.js";
import { counters } from "./counters.js";
import { el, setText } from "../core/dom.js";
import { duration, percent, plural, threeFigures } from "../core/format.js";
import { Slots } from "./slots.js";
import { NOTHING_SELECTED } from "../core/store.js";

const ROWS = 176; // pixels of all rows of a lane together, more or less
const CLOSE_ROW = 15; // pixels of a row in the close-up of the lane in focus

export class Lane {
  /** @param {import("../core/store.js").Store} store @param {number} index */
  constructor(store, index) {
    this.store = store;
    this.index = index;
    this.slots = new Slots(store, index);
    this.blocks = new Blocks(store, index);
    this.queue = new Queue(store, index);
    this.numbers = {};
    this.element = this.#build();
    this.#listen();
  }

  get run() {
    return this.store.runs[this.index];
  }

  /** Lay out for a theme and the widths of the two canvases; `room` is the most height of the slots. */
  prepare(theme, width, side, room = Infinity) {
    const { run, store } = this;
    const grown = theme.scale ** 0.5; // type grows more: all lanes must stay in view
    let row = Math.min(Math.max(4.5, Math.min(16, ROWS / run.slots)) * grown, Math.max(4, room / run.slots));
    if (store.view === "close" && store.focus === this.index) row = Math.max(row, CLOSE_ROW * grown);
    this.slots.prepare(theme, width, row);
    this.queue.prepare(theme, side);
    this.blocks.prepare(theme, side, Math.max(30, row * run.slots - this.queue.surface.height - 18 * theme.scale));
    this.sideKey = null;
    this.theme = theme;
  }

  /** Draw a frame. `place` is where the run is; `request` (or -1) is lit up. */
  draw(scale, place, request) {
    const { run, store } = this;
    const isHidden = store.hidden?.lane === this.index;
    this.scale = scale;
    this.slots.draw(scale, request, isHidden);
    this.#finish(scale, isHidden);
    // A question stops at the first moment of the step it is about: what that step does is not shown.
    const i = isHidden && place.i >= store.hidden.iteration ? store.hidden.iteration - 1 : place.isDone ? run.n : place.i;
    const waiting = run.numWaiting.length && place.i >= 0 ? this.#waiting(i, place) : run.waitingAt(-1, place.t);
    const key = `${i} ${request} ${waiting.length} ${waiting[0]?.request}`;
    if (key === this.sideKey) return;
    this.sideKey = key;
    this.shownIteration = i;
    this.blocks.draw(i, request);
    this.queue.draw(waiting, request);
  }

  /** Refresh the numbers: not at every frame, because text costs more than pictures. */
  count(place) {
    const { run } = this;
    const now = counters(run, place);
    const words = {
      "tok/s": threeFigures(now.tokensPerSecond),
      busy: `${now.busy}/${run.slots}`,
      done: `${now.done}/${now.total}`,
      "TTFT p95": duration(now.ttftP95),
      "ITL p95": duration(now.itlP95),
      stalled: duration(now.stalled),
      rejected: String(this.rejected),
    };
    for (const [name, element] of Object.entries(this.numbers)) setText(element, words[name]);
    const free = run.numBlocks - run.heldBlocks(this.shownIteration);
    setText(this.kvText, `KV ${percent(1 - free / run.numBlocks)} % used, ${plural(free, "block")} free`);
  }

  focus(isFocused, isAlone) {
    this.element.classList.toggle("mb-focused", isFocused);
    this.element.classList.toggle("mb-away", isAlone && !isFocused);
    this.head.setAttribute("aria-pressed", String(isFocused));
  }

  #waiting(i, place) {
    const { run } = this;
    return run.waitingAt(i, place.isDone ? -1 : place.t);
  }

  #finish(scale, isHidden) {
    const { run, theme } = this;
    const end = run.lastPosition(scale.axis);
    const x = scale.x(end);
    const key = `${scale.axis} ${x} ${scale.width} ${end} ${run.complete} ${Boolean(this.store.comparison.options.live)} ${isHidden} ${theme.scale}`;
    if (key === this.finishKey) return;
    this.finishKey = key;
    const word = run.complete ? "done" : this.store.comparison.options.live ? "so far" : "cancelled at";
    const text = scale.axis === "time" ? `${word} ${duration(run.endTime)}` : `${word} after ${run.n} steps`;
    setText(this.done, text);
    const room = 7.5 * theme.scale * text.length + 10;
    const left = x > room ? x - room : x + 6;
    this.done.style.transform = `translateX(${Math.round(left)}px)`;
    this.done.style.textAlign = x > room ? "right" : "left";
    this.done.style.width = `${room - 6}px`;
    this.done.hidden = isHidden || x < 0 || x > scale.width + 2;
  }

  #build() {
    const { run } = this;
    this.rejected = run.requests.filter(({ finish }) => finish === "rejected").length;
    const number = (name, isLarge) => {
      this.numbers[name] = el("b", { text: "–" });
      return el("span", { class: isLarge ? "mb-large" : "mb-small" }, this.numbers[name], ` ${name}`);
    };
    this.head = el(
      "button",
      { type: "button", class: "mb-lane-name", title: `Focus this lane (key ${this.index + 1})`,
        on: { click: () => this.store.set({ focus: this.index }) } },
      el("span", { class: "mb-policy", text: run.label }),
      el("span", { class: "mb-clock", text: run.clocks }),
    );
    const head = el(
      "div",
      { class: "mb-lane-head" },
      this.head,
      el("p", { text: run.summary }),
      el("div", { class: "mb-numbers" }, number("tok/s", true), number("busy", true)),
      el("div", { class: "mb-numbers" }, ...["done", "TTFT p95", "ITL p95", "stalled", ...(this.rejected ? ["rejected"] : [])].map((name) => number(name))),
    );
    this.done = el("div", { class: "mb-done" });
    this.kvText = el("div", { class: "mb-kv-text" });
    this.slots.element.setAttribute("role", "img");
    this.slots.element.setAttribute("aria-label", `Slot timeline of ${run.label}; in words below`);
    this.blocks.element.setAttribute("role", "img");
    this.blocks.element.setAttribute("aria-label", `KV blocks of ${run.label}; in words below`);
    this.queue.element.setAttribute("role", "img");
    this.queue.element.setAttribute("aria-label", `Waiting queue of ${run.label}; in words below`);
    return el(
      "section",
      { class: "mb-lane", "aria-label": run.label },
      head,
      el("div", { class: "mb-lane-slots" }, this.done, this.slots.element),
      el("div", { class: "mb-lane-side" }, this.blocks.element, this.kvText, this.queue.element),
    );
  }

  #listen() {
    const { store, index } = this;
    const hover = (found) => store.set({ hover: { ...NOTHING_SELECTED, lane: index, ...found } });
    const leave = () => store.set({ hover: NOTHING_SELECTED });
    const watch = (element, find) => {
      element.addEventListener("pointermove", (event) => this.scale && hover(find(event)));
      element.addEventListener("pointerleave", leave);
      element.addEventListener("click", (event) => {
        const { request } = find(event);
        const pinned = request === store.pinned ? -1 : request;
        store.set({ focus: index, pinned });
      });
    };
    watch(this.slots.element, (event) => this.slots.at(this.scale, event.offsetX, event.offsetY));
    watch(this.blocks.element, (event) => this.blocks.at(this.shownIteration ?? -1, event.offsetX, event.offsetY));
    watch(this.queue.element, (event) => ({ request: this.queue.at(event.offsetX) }));
  }
}
