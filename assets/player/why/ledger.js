// Where a request's time went, part by part, as minibatch/analysis/ledger.py counts it.

import { DECODE, PADDING, PREFILL, STALLED } from "../core/phases.js";

/** The parts of a request's time, in the order in which views name them. */
export const PARTS = ["queue", "prefill", "decode", "stalled", "preempted"];

/**
 * What a request does from its arrival to its last token, or to the end of a run that was cut off, without
 * gaps and with neighbours of a kind joined. An iteration that others' prefill makes longer is first
 * stalled and then decode. Empty for a request that was rejected or never arrived.
 * @returns {{kind: string, from: number, to: number}[]} whole ns on the run's clock
 */
export function requestParts(run, request) {
  const { arrival, finish, aborted } = run.requests[request];
  const parts = [];
  if (finish === "rejected" || !run.n || arrival > run.start[run.n - 1]) return parts;
  let now = arrival;
  let away = "queue";
  const add = (kind, to) => {
    if (to <= now) return;
    const last = parts[parts.length - 1];
    if (last?.kind === kind) last.to = to;
    else parts.push({ kind, from: now, to });
    now = to;
  };
  const { iteration, phase } = run.entries;
  for (const row of run.rowsOf(request)) {
    if (phase[row] === PADDING) continue; // it has finished, and its slot is held
    const i = iteration[row];
    add(away, run.start[i]);
    if (phase[row] === DECODE) add("stalled", run.start[i] + run.stretch[i]);
    add({ [PREFILL]: "prefill", [DECODE]: "decode", [STALLED]: "stalled" }[phase[row]], run.end[i]);
    away = "preempted";
  }
  if (!finish) add(away, run.endTime);
  if (aborted !== null) add(away, aborted);
  return parts;
}

/** The total of each of PARTS, in ns. They sum to the request's E2E. */
export function requestLedger(run, request) {
  const totals = Object.fromEntries(PARTS.map((kind) => [kind, 0]));
  for (const { kind, from, to } of requestParts(run, request)) totals[kind] += to - from;
  return totals;
}
