// The numbers of a lane at the playhead, from what has ended by then.

import { DECODE, PREFILL } from "../core/phases.js";

const busyTimes = new WeakMap();

/**
 * A run's numbers at a place (see `Run.locate`); NaN for what there is none of yet.
 *
 * tokensPerSecond  tokens written by iterations that have ended, by the time so far
 * written          those tokens
 * done, total      requests that have finished, and all that were not rejected
 * busy             slots that compute now
 * utilization      share of all slots' time so far with prefill or decode: `slot_utilization` at the end
 * ttftP95, itlP95  ns, of the tokens so far
 * stalled          ns of all slots
 * held, kv         KV blocks that somebody holds now, and as a share of the pool
 * waiting          requests that have arrived and hold no slot
 */
export function counters(run, place) {
  const { i, t, ended, isRunning } = place;
  const at = (column, none) => (ended > 0 ? column[ended - 1] : none);
  const written = at(run.written, 0);
  const held = heldNow(run, place);
  return {
    tokensPerSecond: t > 0 ? written / (t / 1e9) : NaN,
    written,
    done: at(run.finished, 0),
    total: run.requests.filter(isToDo).length,
    busy: isRunning ? run.busySlots[i] : 0,
    utilization: t > 0 ? at(busyTime(run), 0) / (run.slots * t) : NaN,
    ttftP95: at(run.ttftP95, NaN),
    itlP95: at(run.itlP95, NaN),
    stalled: at(run.stalled, 0),
    held,
    kv: held / run.numBlocks,
    waiting: run.waitingAt(i, t).length,
  };
}

/** Whether a request is or was to be finished: not one that was rejected or aborted, or that was another engine's. */
function isToDo({ arrival, finish }) {
  return finish !== "rejected" && finish !== "abort" && (arrival < Infinity || !finish);
}

/** KV blocks that belong to somebody; in a gap those of finished requests are free already. */
function heldNow(run, { i, isRunning }) {
  if (isRunning || i < 0) return run.heldBlocks(i);
  let held = run.heldBlocks(i);
  for (const row of run.replay.blockRows.of(i + 1)) held += Math.min(0, run.blocks.change[row]);
  return held;
}

/** (n,) ns of all slots with prefill or decode, up to and with each iteration, as `slot_ledger` counts them. */
function busyTime(run) {
  if (busyTimes.has(run)) return busyTimes.get(run);
  const { iteration, phase, tokens, padding } = run.entries;
  const sums = new Float64Array(run.n);
  for (let row = 0; row < iteration.length; row++) {
    const i = iteration[row];
    const time = run.duration[i];
    const positions = Math.max(1, tokens[row] + padding[row]);
    if (phase[row] === PREFILL) sums[i] += time - Math.floor((time * padding[row]) / positions);
    else if (phase[row] === DECODE) sums[i] += time - run.stretch[i];
  }
  for (let i = 1; i < run.n; i++) sums[i] += sums[i - 1];
  busyTimes.set(run, sums);
  return sums;
}
