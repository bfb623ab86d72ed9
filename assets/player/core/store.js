// What the player shows at this moment, and the listeners to its changes.

/**
 * @typedef {object} Selection what the pointer or the focus is on, and what belongs to it
 * @property {number} request a request, or -1
 * @property {number} slot a slot of lane `lane`, or -1
 * @property {number} block a KV block of lane `lane`, or -1
 * @property {number} iteration an iteration of lane `lane`, or -1
 * @property {number} lane the run it was found in, or -1 for all
 */

/** Nothing is selected. */
export const NOTHING_SELECTED = Object.freeze({ request: -1, slot: -1, block: -1, iteration: -1, lane: -1 });

/**
 * The state of one player. Views read its fields, call `set`, and hear of changes by `subscribe`.
 *
 * comparison, runs   what is shown (replaced as a live run grows)
 * axis               "time" (position in ns) or "iterations" (position in iterations of every run)
 * position           the playhead
 * view               "whole" or "close"
 * isPlaying, speed   speed: runs take 1/speed of PACE_S seconds; "real": as long as they really took
 * loop               [from, to] positions, or null
 * focus              the lane that keys, the why-card and predictions are about
 * hover              a Selection
 * pinned             a request, or -1
 * isFollowing        the playhead stays at the head of a run in progress
 * isPresenting       nothing else is on the screen, in large type
 * hidden             {lane, iteration}: what comes after is not shown, while a prediction is open; or null
 */
export class Store {
  #listeners = new Set();

  constructor(comparison, options = {}) {
    this.comparison = comparison;
    this.runs = comparison.runs;
    this.axis = "time";
    this.position = 0;
    this.view = "whole";
    this.isPlaying = false;
    this.speed = 1;
    this.loop = null;
    this.focus = Math.max(0, this.runs.length - 1);
    this.hover = NOTHING_SELECTED;
    this.pinned = -1;
    this.isFollowing = false;
    this.isPresenting = false;
    this.hidden = null;
    Object.assign(this, options);
    this.position = Math.min(this.position, this.end);
  }

  /** The last position of the axis. */
  get end() {
    return endOf(this.runs, this.axis);
  }

  /** Where every run is at the playhead: `Run.locate`. */
  get places() {
    return this.runs.map((run) => run.locate(this.axis, this.position));
  }

  /** Change some fields and tell every listener which. */
  set(patch) {
    const end = endOf(patch.runs ?? this.runs, patch.axis ?? this.axis);
    const position = Math.min(Math.max(0, patch.position ?? this.position), end);
    if (position !== this.position) patch = { ...patch, position };
    const changed = Object.keys(patch).filter((name) => this[name] !== patch[name]);
    if (!changed.length) return;
    Object.assign(this, patch);
    for (const listener of [...this.#listeners]) listener(new Set(changed));
  }

  /** Change the axis and stay at the same moment of the run in focus; if that has ended, of the last to end. */
  setAxis(axis) {
    if (axis === this.axis) return;
    const last = this.runs.reduce((a, b) => (b.lastPosition(this.axis) > a.lastPosition(this.axis) ? b : a));
    const run = this.position > this.runs[this.focus].lastPosition(this.axis) ? last : this.runs[this.focus];
    const move = (position) => convert(run, this.axis, axis, position);
    const loop = this.loop && this.loop.map((end) => (end === null ? null : move(end)));
    this.set({ axis, position: move(this.position), loop });
  }

  /** @param {(changed: Set<string>) => void} listener @returns {() => void} stops it */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function endOf(runs, axis) {
  return Math.max(1, ...runs.map((run) => run.lastPosition(axis)));
}

function convert(run, from, to, position) {
  const { i, t, isRunning, ended } = run.locate(from, position);
  if (to === "time") return t;
  return isRunning ? i + (t - run.start[i]) / run.duration[i] : ended;
}
