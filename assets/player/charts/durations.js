// Durations of the steps of the run in focus, against the axis of the lanes.

import { axisTitle, clickToSeek, inUnits } from "./axis.js";
import { LabelPen, placeLabels } from "./labels.js";
import { stallColour } from "./look.js";
import { Plot } from "./plot.js";
import { stalledPart } from "./text.js";
import { el, LEGIBLE_MS } from "../core/dom.js";
import { duration } from "../core/format.js";

const BAR_COLUMNS = 700; // about the pixels of an axis: narrower bars are drawn as one

/** How long every iteration of the run in focus takes. */
export class DurationsChart {
  constructor(store) {
    this.store = store;
    this.plot = new Plot("durations", "Duration of each step", "Duration of each step of the policy in focus");
    this.name = el("span");
    this.swatch = el("i");
    this.plot.key.append(this.name, el("span", {}, this.swatch, "part that stalls requests"));
    clickToSeek(this.plot, store);
  }

  inputs(limits) {
    const { runs, axis, end, focus } = this.store;
    const run = runs[focus];
    this.run = run;
    this.name.textContent = run.label;
    this.steps = stepRows(run, axis, limits[focus], end / BAR_COLUMNS);
    const longest = run.duration.reduce((most, ns) => Math.max(most, ns / 1e6), 1e-6);
    return {
      words: { axis: axisTitle(axis), clock: run.clocks },
      params: { x_domain: [0, inUnits(axis, end)], y_domain: [0, longest * 1.08] },
      rows: { steps: this.steps },
    };
  }

  place(theme) {
    this.theme = theme;
    this.pen = new LabelPen(theme);
    this.seen = null;
    this.drawnAt = -Infinity;
    const colour = stallColour(theme);
    this.swatch.style.background = colour;
    const { plot } = this;
    const context = plot.past.clear();
    for (const step of this.steps) {
      const x = plot.x(step.x);
      const width = Math.max(0.5, plot.x(step.x2) - x);
      fillBar(context, x, width, plot.y(step.ms), plot.y(0), theme.muted);
      if (step.unstalled < step.ms) fillBar(context, x, width, plot.y(step.ms), plot.y(step.unstalled), colour);
    }
  }

  update(places) {
    const { axis, position, focus } = this.store;
    this.plot.drawCurtain(this.plot.x(inUnits(axis, position)));
    const { i, isRunning } = places[focus];
    const seen = `${i},${isRunning}`;
    if (seen === this.seen || this.run !== this.store.runs[focus]) return;
    const now = performance.now();
    if (this.store.isPlaying && now - this.drawnAt < LEGIBLE_MS) return;
    this.drawnAt = now;
    this.seen = seen;
    const context = this.plot.live.clear();
    if (isRunning) this.#drawStep(context, this.run, i, axis);
  }

  /** The step that runs, whole and with its number. */
  #drawStep(context, run, i, axis) {
    const { plot, pen, theme } = this;
    const [from, to] = [run.position(axis, i), run.endPosition(axis, i)].map((at) => plot.x(inUnits(axis, at)));
    const ms = run.duration[i] / 1e6;
    const width = Math.max(2 * theme.scale, to - from);
    fillBar(context, from, width, plot.y(ms), plot.y(0), theme.ink);
    const stalled = stalledPart(run, i) / 1e6;
    if (stalled) fillBar(context, from, width, plot.y(ms), plot.y(ms - stalled), stallColour(theme));
    const { left, top, width: wide, height } = plot.frame;
    const middle = Math.min(plot.y(ms), top + height - pen.height / 2);
    const label = pen.label(context, duration(run.duration[i]), from + width, middle, 5 * theme.scale);
    const [box] = placeLabels([label], { left, top: top - 10, width: wide + 10, height: height + 10 });
    if (box) pen.draw(context, label, box);
  }
}

/** Bars of iterations, the longest for those that share a pixel: {x, x2, ms, unstalled}. */
function stepRows(run, axis, limit, least) {
  const rows = [];
  for (let i = 0; i < limit; ) {
    const from = run.position(axis, i);
    let longest = i;
    let to = run.endPosition(axis, i);
    for (i++; i < limit && run.endPosition(axis, i) - from <= least; i++) {
      to = run.endPosition(axis, i);
      if (run.duration[i] > run.duration[longest]) longest = i;
    }
    const ms = run.duration[longest] / 1e6;
    const unstalled = ms - stalledPart(run, longest) / 1e6;
    rows.push({ x: inUnits(axis, from), x2: inUnits(axis, to), ms, unstalled });
  }
  return rows;
}

function fillBar(context, x, width, top, bottom, colour) {
  context.fillStyle = colour;
  context.fillRect(x, top, width, bottom - top);
}
