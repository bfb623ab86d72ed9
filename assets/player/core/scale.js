// From positions on the axis to pixels.

const CELL = 34; // pixels of an iteration in the close-up: room for "r17 P"
const LEAD = 0.62; // of the close-up's width lies before the playhead

/** A linear axis: `origin` is the position at pixel 0, `factor` pixels a unit. */
export class Scale {
  constructor(axis, origin, factor, width) {
    Object.assign(this, { axis, origin, factor, width });
  }

  x(position) {
    return (position - this.origin) * this.factor;
  }

  position(x) {
    return this.origin + x / this.factor;
  }
}

/** The axis that all lanes share now: the whole of the longest run, or a close-up around the playhead. */
export function sharedScale(store, width, cell = CELL) {
  const whole = width / store.end;
  if (store.view === "whole") return new Scale(store.axis, 0, whole, width);
  const factor = Math.max(whole, cell / typicalStep(store));
  const last = Math.max(0, store.end - width / factor);
  const origin = Math.min(Math.max(0, store.position - (LEAD * width) / factor), last);
  return new Scale(store.axis, origin, factor, width);
}

const typicalSteps = new WeakMap(); // by comparison

/** Length on the axis of a typical iteration: the lower quartile, so that most cells hold a label. */
function typicalStep({ axis, comparison, runs }) {
  if (axis === "iterations") return 1;
  if (!typicalSteps.has(comparison)) {
    const durations = Float64Array.from(runs.flatMap((run) => Array.from(run.duration))).sort();
    typicalSteps.set(comparison, durations[durations.length >> 2] || 1);
  }
  return typicalSteps.get(comparison);
}
