// What slots do, as runs of identical iterations: what lanes draw and light up.

import { group } from "./arrays.js";
import { DECODE } from "./phases.js";

/**
 * Segments of a run by slot and time: for iterations from[k] .. to[k] without a gap, `request` does
 * `phase` in `slot`. `crowded` are the stretches of time in which a request waits.
 */
export class Segments {
  constructor(run) {
    this.run = run;
    const parts = { slot: [], from: [], to: [], request: [], phase: [] };
    const { entries } = run;
    let last = -1;
    for (let row = 0; row < entries.slot.length; row++) {
      if (last >= 0 && this.#goesOn(parts, last, row)) {
        parts.to[last] = entries.iteration[row];
      } else {
        last++;
        for (const name of ["slot", "request", "phase"]) parts[name].push(entries[name][row]);
        parts.from.push(entries.iteration[row]);
        parts.to.push(entries.iteration[row]);
      }
    }
    for (const [name, values] of Object.entries(parts)) this[name] = Int32Array.from(values);
    this.bySlot = group(this.slot, run.slots);
    this.byRequest = group(this.request, run.requests.length);
    this.labelled = this.#labelled();
    this.crowded = crowded(run);
  }

  #goesOn(parts, last, row) {
    const { entries, start, end } = this.run;
    const i = entries.iteration[row];
    return (
      parts.slot[last] === entries.slot[row] &&
      parts.request[last] === entries.request[row] &&
      parts.phase[last] === entries.phase[row] &&
      parts.to[last] === i - 1 &&
      start[i] === end[i - 1] &&
      !(entries.phase[row] === 0 && entries.padding[row])
    );
  }

  /** For each stay of a request in a slot its longest decode: where its name is best written. */
  #labelled() {
    const marks = new Uint8Array(this.slot.length);
    const length = (k) => (k < 0 ? -1 : this.run.end[this.to[k]] - this.run.start[this.from[k]]);
    let best = -1;
    for (let k = 0; k < this.slot.length; k++) {
      const stays = k > 0 && this.slot[k - 1] === this.slot[k] && this.request[k - 1] === this.request[k];
      if (!stays) best = -1;
      if (this.phase[k] !== DECODE || length(k) <= length(best)) continue;
      if (best >= 0) marks[best] = 0;
      marks[k] = 1;
      best = k;
    }
    return marks;
  }

  /** First segment of slot rows (a view of `bySlot`) that ends at or after iteration `i`. */
  firstFrom(rows, i) {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.to[rows[middle]] < i) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Stretches in which requests wait: {from, to} in ns and in iterations. Between iterations, since one arrived. */
function crowded(run) {
  const stretches = [];
  const add = (from, to, first, last) => {
    const latest = stretches[stretches.length - 1];
    if (latest && latest.time[1] === from) {
      latest.time[1] = to;
      latest.iterations[1] = last;
    } else {
      stretches.push({ time: [from, to], iterations: [first, last] });
    }
  };
  for (let i = 0; i < run.n; i++) {
    const before = i ? run.end[i - 1] : 0;
    if (run.start[i] > before) {
      const left = i ? run.waitingAt(i - 1, run.start[i]) : run.waitingAt(-1, run.start[0]);
      const came = Math.min(...left.map(({ request }) => run.requests[request].arrival));
      const since = Math.max(before, came);
      if (since < run.start[i]) add(since, run.start[i], i, i);
    }
    if (run.numWaiting[i]) add(run.start[i], run.end[i], i, i + 1);
  }
  return stretches;
}
