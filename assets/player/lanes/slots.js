// The slot timeline of one lane: painted in tiles once, so that a frame only copies them.

import { Surface } from "../core/dom.js";
import { Patterns, SlotPainter } from "./paint.js";
import { Scale } from "../core/scale.js";
import { Segments } from "../core/segments.js";

const TILE = 256; // CSS pixels
const MOST_TILES = 24;
const FUTURE = 0.3; // opacity of what is still to come
const VEIL = 0.62; // over what does not belong to the request that is lit up

export class Slots {
  /** @param {import("../core/store.js").Store} store @param {number} lane */
  constructor(store, lane) {
    this.store = store;
    this.lane = lane;
    this.surface = new Surface({ class: "mb-slots" });
    this.element = this.surface.canvas;
    this.tiles = new Map();
  }

  get run() {
    return this.store.runs[this.lane];
  }

  /** Take a new size, theme or recording: everything is painted anew when it is next needed. */
  prepare(theme, width, rowHeight) {
    const isNew = this.run !== this.preparedRun;
    const resized = this.surface.resize(width, Math.ceil(rowHeight * this.run.slots));
    if (!isNew && !resized && theme === this.theme && rowHeight === this.rowHeight) return;
    if (isNew) this.segments = new Segments(this.run);
    Object.assign(this, { theme, rowHeight, preparedRun: this.run });
    // Tiles of the lanes begin at different places, so that no frame has to paint one for each of them.
    this.offset = Math.round((TILE * this.lane) / this.store.runs.length);
    this.patterns = new Patterns(theme, this.surface.ratio);
    this.painter = new SlotPainter(this.run, this.segments, { theme, patterns: this.patterns, rowHeight });
    this.tiles.clear();
    this.drawnKey = null;
  }

  /** Draw the frame. `scale` is shared by all lanes; `request` (or -1) is lit up; `hidden` hides the future. */
  draw(scale, request, hidden) {
    const { surface, theme, store } = this;
    const now = scale.x(store.position);
    const [from, to] = this.#stale(scale, request, hidden, now);
    const { context } = surface;
    context.save();
    context.beginPath();
    context.rect(from, 0, to - from, surface.height);
    context.clip();
    context.clearRect(from, 0, to - from, surface.height);
    this.#copy(context, scale, from, Math.min(now, to), 1);
    if (!hidden) this.#copy(context, scale, Math.max(now, from), to, FUTURE);
    if (request >= 0) this.#lightUp(context, scale, request, hidden ? now : surface.width);
    this.#marks(context, scale, hidden);
    context.fillStyle = theme.ink;
    context.fillRect(Math.round(now) - 0.75, 0, 1.5, surface.height);
    context.restore();
  }

  /** From where to where the canvas must be painted anew: around the playhead if nothing but it has moved. */
  #stale(scale, request, hidden, now) {
    const { surface } = this;
    const { lane, iteration } = this.store.hover;
    const marked = lane === this.lane ? iteration : -1;
    const key = `${scale.axis} ${scale.origin} ${scale.factor} ${request} ${hidden} ${marked}`;
    const before = key === this.drawnKey ? this.drawnNow : null;
    Object.assign(this, { drawnKey: key, drawnNow: now });
    if (before !== null) {
      const from = Math.max(0, Math.floor(Math.min(now, before)) - 2);
      return [from, Math.min(surface.width, Math.ceil(Math.max(now, before)) + 2)];
    }
    surface.clear(); // which sets the context's scale as well
    return [0, surface.width];
  }

  /** What lies at a pixel: {slot, iteration, request}. */
  at(scale, x, y) {
    const { run, store } = this;
    const slot = Math.min(run.slots - 1, Math.max(0, Math.floor(y / this.rowHeight)));
    const { i, isRunning } = run.locate(scale.axis, scale.position(x));
    const isHidden = store.hidden?.lane === this.lane && i >= store.hidden.iteration;
    if (i < 0 || !isRunning || isHidden) return { slot, iteration: -1, request: -1 };
    const row = run.rowInSlot(slot, i);
    return { slot, iteration: i, request: row < 0 ? -1 : run.entries.request[row] };
  }

  #copy(context, scale, from, to, opacity) {
    if (to <= from) return;
    const { surface } = this;
    context.save();
    context.beginPath();
    context.rect(from, 0, to - from, surface.height);
    context.clip();
    context.globalAlpha = opacity;
    // On whole pixels of the screen, where copying needs no blending.
    const shift = Math.round(scale.origin * scale.factor * surface.ratio) / surface.ratio - this.offset;
    for (let tile = Math.floor((shift + from) / TILE); tile * TILE < shift + to; tile++) {
      context.drawImage(this.#tile(scale, tile), tile * TILE - shift, 0, TILE, surface.height);
    }
    context.restore();
  }

  #tile(scale, number) {
    const key = `${scale.axis} ${scale.factor} ${number}`;
    const kept = this.tiles.get(key);
    if (kept) {
      this.tiles.delete(key); // and put last, as the one used most recently
      this.tiles.set(key, kept);
      return kept;
    }
    const canvas = this.#blank();
    const from = (number * TILE + this.offset) / scale.factor;
    const own = new Scale(scale.axis, from, scale.factor, TILE);
    this.painter.paint(canvas.getContext("2d"), own, from, from + TILE / scale.factor);
    this.tiles.set(key, canvas);
    return canvas;
  }

  /** A canvas for a tile: once there are enough, the one that was used least recently. */
  #blank() {
    const { ratio, height } = this.surface;
    if (this.tiles.size >= MOST_TILES) {
      const [key, canvas] = this.tiles.entries().next().value;
      this.tiles.delete(key);
      canvas.getContext("2d").clearRect(0, 0, TILE, height);
      return canvas;
    }
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(TILE * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    return canvas;
  }

  #lightUp(context, scale, request, until) {
    const { surface, theme, segments, run, store } = this;
    const now = scale.x(store.position);
    context.globalAlpha = VEIL;
    context.fillStyle = theme.surface;
    context.fillRect(0, 0, surface.width, surface.height);
    for (const [from, to, opacity] of [[0, now, 1], [now, until, 0.55]]) {
      if (to <= from) continue;
      context.save();
      context.beginPath();
      context.rect(from, 0, to - from, surface.height);
      context.clip();
      context.globalAlpha = opacity;
      this.painter.ready(context);
      for (const k of segments.byRequest.of(request)) {
        const begins = scale.x(run.position(scale.axis, segments.from[k]));
        const ends = scale.x(run.endPosition(scale.axis, segments.to[k]));
        if (ends > from && begins < to) this.painter.segment(context, scale, k);
      }
      context.restore();
    }
    context.globalAlpha = 1;
  }

  /** Where the run ends, a mark of an iteration under the pointer, and a fork's first step. */
  #marks(context, scale, hidden) {
    const { surface, theme, run, store } = this;
    const line = (position, dash, colour) => {
      const x = Math.round(scale.x(position)) - 0.5;
      context.setLineDash(dash);
      context.strokeStyle = colour;
      context.lineWidth = 1.4;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, surface.height);
      context.stroke();
      context.setLineDash([]);
    };
    if (!hidden) line(run.lastPosition(scale.axis), [2, 2], theme.ink);
    if (run.fork) line(run.position(scale.axis, run.fork.iteration), [6, 3], theme.accent);
    const { lane, iteration } = store.hover;
    if (lane === this.lane && iteration >= 0) {
      const x = scale.x(run.position(scale.axis, iteration));
      const width = Math.max(2, scale.x(run.endPosition(scale.axis, iteration)) - x);
      context.strokeStyle = theme.ink;
      context.lineWidth = 1;
      context.strokeRect(x - 0.5, 0.5, width + 1, surface.height - 1);
    }
  }
}
