// The charts in words, for screen readers.

import { bytes, count, duration, percent, plural, threeFigures } from "../core/format.js";

/** FLOPs in decimal units: 80.6 MFLOP. */
export function flopsInWords(number) {
  const units = ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"];
  let power = 0;
  while (number >= 999.5 && power < units.length - 1) {
    number /= 1000;
    power++;
  }
  return `${threeFigures(number)} ${units[power]}`;
}

/** Bytes that an iteration moves, by what they are. @returns {{name: string, bytes: number, share: number}[]} */
export function byteSplit(run, i) {
  const total = run.bytesOf(i);
  const parts = [["weights", run.bytesWeights[i]], ["KV", run.bytesKv[i]], ["activations", run.bytesActivations[i]]];
  return parts.map(([name, value]) => ({ name, bytes: value, share: total ? value / total : 0 }));
}

/** The ridge of a run's device in FLOP/byte; NaN where its ceilings aren't known. */
export function ridgeOf(run) {
  return run.ceilings ? run.ceilings.flops_per_s / run.ceilings.bytes_per_s : NaN;
}

/** Which ceiling an iteration is under: "memory-bound", "compute-bound", or "" where that isn't known. */
export function boundOf(run, i) {
  const ridge = ridgeOf(run);
  const intensity = run.intensity(i);
  if (!Number.isFinite(ridge) || !Number.isFinite(intensity)) return "";
  return intensity < ridge ? "memory-bound" : "compute-bound";
}

/** ns of an iteration in which a request that could decode gets nothing. */
export function stalledPart(run, i) {
  if (run.stalledSlots[i]) return run.duration[i];
  return run.decodeTokens[i] ? Math.min(run.stretch[i], run.duration[i]) : 0;
}

/** Tokens that a run has generated at a place of `Run.locate`. */
export function writtenAt(run, place) {
  return place.ended > 0 ? run.written[place.ended - 1] : 0;
}

/** "decode of 7 tokens", "prefill of 57 tokens", "decode of 7 tokens and prefill of 57". */
export function workOf(run, i) {
  const decode = run.decodeTokens[i];
  const prefill = run.prefillTokens[i];
  if (decode && prefill) return `decode of ${plural(decode, "token")} and prefill of ${count(prefill)}`;
  if (!decode && !prefill) return "no token of a request";
  return decode ? `decode of ${plural(decode, "token")}` : `prefill of ${plural(prefill, "token")}`;
}

/** The iteration at `place` on the roofline. @param {object} place of `Run.locate` */
export function describeRoofline(run, place) {
  const { i } = place;
  if (i < 0) return `${run.label} has not begun.`;
  const parts = byteSplit(run, i).map(({ name, share }) => `${percent(share)} % ${name}`);
  const reached = run.executor[i] > 0 ? `, ${flopsInWords(run.flopsPerSecond(i))}/s ${run.clockAt(i)}` : "";
  return (
    `${run.label}, step ${i}, ${workOf(run, i)}: ${threeFigures(run.intensity(i))} FLOP/byte${reached}` +
    `${ridgeWords(run, i)}; it moves ${bytes(run.bytesOf(i))}: ${parts.join(", ")}.${endWords(place)}`
  );
}

/** Tokens that every run has generated. @param {object[]} places of `Run.locate`, one a run */
export function describeTokens(runs, places) {
  const each = runs.map((run, lane) => {
    const total = run.n ? run.written[run.n - 1] : 0;
    const done = places[lane].isDone ? ", done" : "";
    return `${run.label} ${count(writtenAt(run, places[lane]))} of ${plural(total, "token")}${done}`;
  });
  return `Generated so far: ${each.join("; ")}.`;
}

/** How long the iteration at `place` takes, and which requests it stalls. */
export function describeDurations(run, place) {
  const { i } = place;
  if (i < 0) return `${run.label} has not begun.`;
  const took = `${run.label}, step ${i} takes ${duration(run.duration[i])}, ${run.clockAt(i)}`;
  return `${took}${stallWords(run, i)}.${endWords(place)}`;
}

function ridgeWords(run, i) {
  const bound = boundOf(run, i);
  if (!bound) return "";
  const side = bound === "memory-bound" ? "left" : "right";
  return `; ${side} of the ridge at ${threeFigures(ridgeOf(run))} FLOP/byte, so ${bound}`;
}

function stallWords(run, i) {
  const slots = run.stalledSlots[i];
  if (slots) return `; ${plural(slots, "slot")} ${slots === 1 ? "stalls" : "stall"} for all of it`;
  const part = stalledPart(run, i);
  return part ? `; ${duration(part)} of it are others' prefill, for which its decodes wait` : "; no request stalls";
}

function endWords({ isDone }) {
  return isDone ? " The run has ended." : "";
}
