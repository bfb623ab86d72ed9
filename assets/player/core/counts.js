// What a run's iterations add up to: tokens, slots, stalls, latencies.

import { cumulative, runningPercentile } from "./arrays.js";
import { isDone } from "./codes.js";
import { DECODE, PREFILL, STALLED } from "./phases.js";

/**
 * The counted columns of a `Run`, as its description names them.
 * @param {import("./run.js").Run} run its iterations, entries and reasons are read
 */
export function countsOf(run) {
  const columns = {};
  for (const name of ["prefillTokens", "decodeTokens", "paddingTokens", "busySlots", "stalledSlots", "heldSlots"]) {
    columns[name] = new Float64Array(run.n);
  }
  const written = new Float64Array(run.n);
  const stalled = new Float64Array(run.n);
  const { entries } = run;
  for (let row = 0; row < entries.iteration.length; row++) {
    const i = entries.iteration[row];
    columns.heldSlots[i]++;
    columns.paddingTokens[i] += entries.padding[row];
    written[i] += entries.generated[row];
    if (entries.phase[row] === PREFILL) {
      columns.prefillTokens[i] += entries.tokens[row];
      columns.busySlots[i]++;
    } else if (entries.phase[row] === DECODE) {
      columns.decodeTokens[i] += entries.tokens[row];
      columns.busySlots[i]++;
      stalled[i] += run.stretch[i];
    } else if (entries.phase[row] === STALLED) {
      columns.stalledSlots[i]++;
      stalled[i] += run.duration[i];
    }
  }
  const finished = new Float64Array(run.n);
  for (const { code, iteration } of run.reasons) if (isDone(code)) finished[iteration - 1]++;
  return {
    ...columns,
    written: cumulative(written),
    stalled: cumulative(stalled),
    finished: cumulative(finished),
    ...latencies(run),
  };
}

/** p95 of TTFT, and of all gaps between steps in which a request wrote, among what each iteration has ended, or NaN. */
function latencies({ requests, tokenIterations, end, n }) {
  const ttft = [];
  const itl = [];
  for (const { id, arrival } of requests) {
    tokenIterations[id].forEach((i, k, all) => {
      if (k === 0) ttft.push({ i, value: end[i] - arrival });
      else if (i > all[k - 1]) itl.push({ i, value: end[i] - end[all[k - 1]] });
    });
  }
  return { ttftP95: runningPercentile(ttft, n, 0.95), itlP95: runningPercentile(itl, n, 0.95) };
}
