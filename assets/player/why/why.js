// What the scheduler decided and why, in plain words, from the reasons and numbers of a recording.

import { clock, count, plural } from "../core/format.js";
import { factsOf } from "./why_facts.js";
import { isOrAre, requestNames, timed } from "./why_words.js";

const WHY_SENTENCES = 3;

/**
 * @typedef {object} Explanation
 * @property {string} headline
 * @property {string[]} sentences at most three
 * @property {string[]} codes of the reasons that decided, most important first; and "decode" and "padding"
 */

/** What was decided in iteration `i`; -1 is before the first, `run.n` after the last. @returns {Explanation} */
export function explain(run, i) {
  if (i < 0) return explainGap(run, { i: -1, t: 0 });
  if (i >= run.n) return explainEnd(run);
  const facts = factsOf(run, i);
  const { headline } = facts[0];
  const sentences = new Set(facts.map(({ sentence }) => sentence));
  sentences.delete(headline);
  return {
    headline,
    sentences: [...sentences].slice(0, WHY_SENTENCES),
    codes: [...new Set(facts.slice(0, WHY_SENTENCES).flatMap(({ codes }) => codes))],
  };
}

/**
 * What is decided at a place of `Run.locate`: in an iteration, between two, or after the last.
 * @param {boolean} isLive the run goes on beyond what is recorded so far
 * @returns {Explanation}
 */
export function explainPlace(run, place, isLive = false) {
  const { i, t, ended, isRunning } = place;
  if (isRunning) return explain(run, i);
  if (ended >= run.n) return isLive && !run.complete ? explain(run, run.n - 1) : explainEnd(run);
  // While a question about the next step is open, that step counts as not begun.
  return i >= 0 && run.start[i + 1] <= t ? explain(run, i) : explainGap(run, place);
}

/** Why nothing runs between two iterations, or before the first. @returns {Explanation} */
export function explainGap(run, place) {
  if (place.i + 1 >= run.n) return explainEnd(run);
  const { i, t } = place;
  const waiting = run.waitingAt(i, t);
  const noted = run.reasonsAt(i + 1);
  const hasCome = ({ request }) => run.requests[request].arrival <= t;
  const rejected = noted.filter((reason) => reason.code.startsWith("rejected_") && hasCome(reason));
  const rejections = rejected.slice(-1).map((reason) => `${run.sentence(reason)}.`);
  const next = run.requests.find(({ arrival }) => arrival > t && arrival < Infinity);
  if (!waiting.length) {
    const coming = next ? `r${next.id} arrives at ${clock(next.arrival)} ${run.clocks}.` : "No more requests arrive.";
    const codes = rejected.slice(-1).map(({ code }) => code);
    return { headline: "Idle: the queue is empty.", sentences: [...rejections, coming], codes };
  }
  const wait = noted.find(({ code }) => code === "waits_window");
  if (wait) {
    const sentences = [...windowWords(run, place, waiting, wait), ...rejections];
    return { headline: "The window is open.", sentences, codes: ["waits_window"] };
  }
  const who = `${requestNames(waiting.map(({ request }) => request))} ${isOrAre(waiting, "waits", "wait")}.`;
  if (run.start[i + 1] <= t) return { headline: "Nothing has run yet.", sentences: [who, ...rejections], codes: [] };
  const until = `Nothing runs until ${clock(run.start[i + 1])} ${run.clocks}.`;
  return { headline: who, sentences: [until, ...rejections], codes: [] };
}

function windowWords(run, { t }, waiting, { numbers }) {
  const oldest = Math.min(...waiting.map(({ request }) => run.requests[request].arrival));
  const close = oldest + numbers.max_wait_ms * 1e6;
  const waited = timed(run, Math.max(0, t - oldest));
  return [
    `${waiting.length} of ${plural(numbers.slots, "request")} ${isOrAre(waiting)} here, the oldest for ${waited}.`,
    `The window closes when all ${count(numbers.slots)} are here, or at ${clock(close)} ${run.clocks}.`,
  ];
}

function explainEnd(run) {
  const done = run.n ? run.finished[run.n - 1] : 0;
  const rejected = run.requests.filter(({ finish }) => finish === "rejected").map(({ id }) => id);
  const total = run.requests.length - rejected.length;
  const took = timed(run, run.endTime);
  if (!run.complete) {
    const headline = run.n ? "The run was cancelled here." : "Nothing has run yet.";
    return { headline, sentences: [`${count(done)} of ${plural(total, "request")} finished in ${took}.`], codes: [] };
  }
  const sentences = [];
  if (run.n) sentences.push(`It generated ${plural(run.written[run.n - 1], "token")} in ${plural(run.n, "step")}.`);
  if (rejected.length) sentences.push(`${requestNames(rejected)} ${isOrAre(rejected, "was", "were")} rejected.`);
  return { headline: `Done: ${plural(done, "request")} in ${took}.`, sentences, codes: [] };
}

/** The policy that chose iteration `i`: a run that was forked may have had another one before. */
export function policyAt(run, i) {
  let policy = run.policy;
  for (let fork = run.fork; fork && i < fork.iteration; fork = fork.earlier) {
    if (fork.knob === "policy") policy = fork.before;
  }
  return policy;
}

/** A line for each run but the one in focus: what it does at the playhead. */
export function sameMoment(runs, places, focus, isLive = false) {
  const lines = [];
  runs.forEach((run, k) => {
    if (k !== focus) lines.push(`${run.label}: ${explainPlace(run, places[k], isLive).headline}`);
  });
  return lines;
}
