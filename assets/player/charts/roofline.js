// The roofline: what every step asks of the machine, and what it gets.

import { LabelPen, placeLabels } from "./labels.js";
import { Plot } from "./plot.js";
import { pointLimits, PointMap, pointRows, PointTrail, tracePoint } from "./points.js";
import { ceilingsOf, logTicks, rooflineDomains, roofRows, writeRoofs } from "./roofs.js";
import { flopsInWords } from "./text.js";
import { threeFigures } from "../core/format.js";
import { NOTHING_SELECTED } from "../core/store.js";

const REDRAW_MS = 30; // between two drawings while playing: points that jump need no more

/** One chart of `Charts`: `inputs` for Vega, `place` after it has drawn, `update` with every frame. */
export class RooflineChart {
  constructor(store) {
    this.store = store;
    this.plot = new Plot("roofline", "Roofline: what each step asks of the machine", "Roofline of all steps");
    this.plot.key.append(...["decode", "prefill", "mixed"].map(shapeKey));
    const { area } = this.plot;
    area.addEventListener("pointermove", (event) => this.#hover(event));
    area.addEventListener("pointerleave", () => this.#leave());
    area.addEventListener("click", (event) => this.#click(event));
  }

  /** @param {number[]} limits iterations of each run that may be shown */
  inputs(limits, clocks) {
    const { runs } = this.store;
    this.limits = limits;
    this.ceilings = ceilingsOf(runs);
    this.domains = rooflineDomains(pointLimits(runs), this.ceilings);
    const { x_domain, y_domain } = this.domains;
    return {
      words: { clock: clocks },
      params: { x_domain, y_domain, x_ticks: logTicks(x_domain), y_ticks: logTicks(y_domain) },
      rows: { points: pointRows(runs, limits), ...roofRows(this.ceilings, this.domains) },
    };
  }

  place(theme) {
    this.theme = theme;
    this.pen = new LabelPen(theme, 13);
    this.map = new PointMap(this.store.runs, this.limits, this.plot);
    this.trail = new PointTrail(this.plot.past, this.map, theme);
    this.sides = [];
    this.seen = null;
    this.drawnAt = -Infinity;
    this.emphasised = null;
  }

  /** Where a point lies in CSS pixels from the chart's upper left corner: {x, y, kind}, or null. */
  pointAt(lane, iteration) {
    return this.map?.at(lane, iteration) ?? null;
  }

  update(places) {
    const { focus } = this.store;
    this.#emphasise();
    const seen = places.map((place) => 2 * place.i + (place.isRunning ? 1 : 0)).concat(focus).join();
    if (seen === this.seen) return;
    const now = performance.now();
    if (this.store.isPlaying && now - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = now;
    this.seen = seen;
    // The step that runs is drawn large; those before it have left their points behind.
    this.trail.advance(places.map((place, lane) => Math.max(0, Math.min(place.i, this.limits[lane]))), focus);
    this.#drawCurrent(places, focus);
  }

  #drawCurrent(places, focus) {
    const { theme, plot } = this;
    const context = plot.live.clear();
    const labels = [];
    const order = places.map((_, lane) => lane).filter((lane) => lane !== focus).concat(focus);
    for (const lane of order) {
      const point = this.pointAt(lane, places[lane].i);
      if (!point) continue;
      this.#drawPoint(context, point, lane === focus ? theme.accent : theme.ink, places[lane].isRunning);
      const { label } = this.store.runs[lane];
      labels.push({ ...this.pen.label(context, label, point.x, point.y, 10 * theme.scale), lane });
    }
    // The run in focus has the first choice of a place.
    labels.reverse();
    const sides = labels.map(({ lane }) => this.sides[lane]);
    const points = labels.map(({ x, y }) => around(x, y, 7 * theme.scale));
    this.boxes = placeLabels(labels, this.#frame(), [...points, ...this.roofBoxes], sides);
    labels.forEach((label, k) => {
      this.sides[label.lane] = sides[k];
      if (this.boxes[k]) this.pen.draw(context, label, this.boxes[k], label.lane === focus ? theme.accent : theme.ink, true);
    });
  }

  /** A step that runs is filled, one that only ran last is hollow. */
  #drawPoint(context, { x, y, kind }, colour, isRunning) {
    const { scale, surface } = this.theme;
    tracePoint(context, kind, x, y, 6.5 * scale);
    context.lineWidth = 5 * scale;
    context.strokeStyle = surface;
    context.stroke();
    context.lineWidth = 2 * scale;
    context.strokeStyle = colour;
    context.fillStyle = isRunning ? colour : surface;
    context.fill();
    context.stroke();
  }

  /** The labels' frame goes beyond the axes to the chart's right edge. */
  #frame() {
    const { left, top, height } = this.plot.frame;
    return { left, top: top - 8, width: this.plot.live.width - left - 2, height: height + 4 };
  }

  /** Numbers at the roofs, the steps of the request that is selected, and a ring around the step that is. */
  #emphasise() {
    const { hover, pinned } = this.store;
    const request = hover.request >= 0 ? hover.request : pinned;
    const key = `${request},${hover.lane},${hover.iteration}`;
    if (key === this.emphasised) return;
    this.emphasised = key;
    const { plot, theme } = this;
    const context = plot.marks.clear();
    if (request >= 0) this.#drawRequest(context, request);
    this.roofBoxes = writeRoofs(context, plot, theme, this.ceilings, this.domains);
    const point = hover.iteration >= 0 && hover.lane >= 0 ? this.pointAt(hover.lane, hover.iteration) : null;
    if (point) this.#drawRing(context, point, hover);
  }

  #drawRequest(context, request) {
    const { runs } = this.store;
    context.fillStyle = this.theme.colours?.[request % this.theme.colours.length] ?? this.theme.accent;
    context.globalAlpha = 0.85;
    runs.forEach((run, lane) => {
      for (const row of run.rowsOf(request)) {
        const point = this.pointAt(lane, run.entries.iteration[row]);
        if (!point) continue;
        tracePoint(context, point.kind, point.x, point.y, 3.2 * this.theme.scale);
        context.fill();
      }
    });
    context.globalAlpha = 1;
  }

  #drawRing(context, { x, y }, { lane, iteration }) {
    const { scale, ink } = this.theme;
    const run = this.store.runs[lane];
    context.strokeStyle = ink;
    context.lineWidth = 1.5 * scale;
    context.beginPath();
    context.arc(x, y, 8 * scale, 0, 2 * Math.PI);
    context.stroke();
    const name = `${run.label}, step ${iteration}`;
    const asks = `${threeFigures(run.intensity(iteration))} FLOP/byte`;
    const gets = `${flopsInWords(run.flopsPerSecond(iteration))}/s`;
    for (const text of [`${name}: ${asks}, ${gets}`, name]) {
      const label = this.pen.label(context, text, x, y, 12 * scale);
      const [box] = placeLabels([label], this.#frame());
      if (box) return this.pen.draw(context, label, box);
    }
  }

  #hover(event) {
    if (!this.map) return;
    const { x, y } = this.plot.pointer(event);
    const found = this.map.nearest(x, y, this.store.focus);
    this.plot.area.style.cursor = found ? "pointer" : "";
    if (!found) return this.#leave();
    const { hover } = this.store;
    this.found = found;
    if (hover.lane !== found.lane || hover.iteration !== found.iteration || hover.request >= 0) {
      this.store.set({ hover: { ...NOTHING_SELECTED, ...found } });
    }
  }

  #leave() {
    if (this.found) this.store.set({ hover: NOTHING_SELECTED });
    this.found = null;
  }

  #click(event) {
    if (!this.map) return;
    const { x, y } = this.plot.pointer(event);
    const found = this.map.nearest(x, y, this.store.focus);
    if (!found) return;
    const { runs, axis } = this.store;
    this.store.set({ focus: found.lane, position: runs[found.lane].position(axis, found.iteration), isPlaying: false });
  }
}

function around(x, y, radius) {
  return { left: x - radius, top: y - radius, width: 2 * radius, height: 2 * radius };
}

/** An entry of the key: a point's shape and what it means. */
function shapeKey(kind) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 10 10");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const shapes = { decode: "M5 1a4 4 0 1 0 .01 0z", prefill: "M5 .8 9.4 9H.6z", mixed: "M1.5 1.5h7v7h-7z" };
  path.setAttribute("d", shapes[kind]);
  svg.append(path);
  const entry = document.createElement("span");
  entry.append(svg, kind);
  return entry;
}
