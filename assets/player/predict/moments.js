// Moments of a run at which it is worth asking what comes next. Each looks at what a learner can know
// before a step (`sceneAt`), and takes the answer from what the recording says about that step.

import { explainDuration, explainPreemption, explainSlot, explainToken, stepWork } from "../why/explain.js";
import { list, plural, threeFigures } from "../core/format.js";
import { PADDING } from "../core/phases.js";

export const NONE = "none";
const MOST_NAMES = 4; // options beside NONE
const NOISE = 0.2; // natural logarithm of a ratio of durations

/** What is known before iteration `i` runs, from 1 on: nothing here may depend on what the step does. */
export function sceneAt(run, i) {
  const reasons = run.reasonsAt(i);
  const finished = reasons.filter(({ code }) => code.startsWith("finished_")).map(({ request }) => request);
  const running = [];
  for (const row of run.rowsAt(i - 1)) {
    const request = run.entries.request[row];
    if (run.entries.phase[row] !== PADDING && !finished.includes(request)) running.push(request);
  }
  const given = finished.reduce((sum, request) => sum + run.tableOf(request, i - 1).length, 0);
  return {
    finished,
    running,
    queue: run.waitingAt(i - 1, run.start[i]),
    arrived: reasons.filter(({ code }) => code === "queued").map(({ request }) => request),
    free: run.numBlocks - run.heldBlocks(i - 1) + given,
  };
}

/**
 * The moments of iteration `i`, at most a few. `sort` is what the answer is like: a run's questions
 * take turns between them. `weight` is how much a moment has to teach beside others of its sort.
 * @returns {{kind: string, iteration: number, sort: string, weight: number, ask: () => object}[]}
 */
export function momentsAt(run, i) {
  const scene = sceneAt(run, i);
  const moments = [slotMoment(run, i, scene), ...tokenMoments(run, i, scene)];
  moments.push(preemptionMoment(run, i, scene), durationMoment(run, i, scene));
  return moments.filter((moment) => moment !== null);
}

/** A number that looks random and is the same for the same arguments. */
export function scatter(i, salt) {
  let bits = Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d);
  bits = Math.imul(bits ^ (bits >>> 12), 0x297a2d39);
  return (bits ^ (bits >>> 15)) >>> 0;
}

// -- a slot is left ---------------------------------------------------------------------------------

function slotMoment(run, i, { finished, queue }) {
  if (!finished.length || !queue.length) return null;
  const leaver = finished[scatter(i, 1) % finished.length];
  const left = run.rowOf(leaver, i - 1);
  if (left < 0) return null;
  const slot = run.entries.slot[left];
  const row = run.rowInSlot(slot, i);
  const isHeld = row >= 0 && run.entries.phase[row] !== PADDING;
  const heir = isHeld ? run.entries.request[row] : -1;
  const waiting = queue.map(({ request }) => request);
  const offered = [heir, ...waiting.slice(0, 3), shortest(run, waiting)];
  const ask = () => ({
    prompt:
      `r${leaver} has just finished in slot ${slot}; ${list(waiting.map(named), 4)} ` +
      `${waiting.length === 1 ? "waits" : "wait, in this order"}. Which request gets slot ${slot} in the next step?`,
    options: names(i, offered, (request) => queueLabel(run, queue, request)),
    answer: isHeld ? named(heir) : NONE,
    explanation: () => explainSlot(run, i, slot, leaver, heir),
  });
  const sort = !isHeld ? NONE : heir === waiting[0] ? "first" : "later";
  return { kind: "slot", iteration: i, sort, weight: Math.min(queue.length, 4), ask };
}

function shortest(run, waiting) {
  return waiting.reduce((a, b) => (run.requests[b].promptTokens < run.requests[a].promptTokens ? b : a));
}

function queueLabel(run, queue, request) {
  const tokens = plural(run.requests[request].promptTokens, "prompt token");
  const isPreempted = queue.some((entry) => entry.request === request && entry.isPreempted);
  return `r${request}, ${tokens}${isPreempted ? ", preempted before" : ""}`;
}

// -- a prompt among decodes ----------------------------------------------------------------------------

function tokenMoments(run, i, scene) {
  const long = promptOf(run, i, scene);
  if (long === null) return [];
  const writers = scene.running.filter((request) => isWriting(run, request, i));
  if (!writers.length) return [];
  const writer = writers[scatter(i, 2) % writers.length];
  const situation = () => {
    const others = writers.length > 3 ? plural(writers.length, "request") : list(writers.map(named));
    return `r${long.request} ${long.words()}, while ${others} ${writers.length === 1 ? "decodes" : "decode"}.`;
  };
  const moment = (who, request, token) => {
    const gets = wroteIn(run, request, i);
    const ask = () => ({
      prompt: `${situation()} Does r${request} get ${token} in the next step?`,
      options: [{ value: "yes", label: "yes" }, { value: "no", label: "no" }],
      answer: gets ? "yes" : "no",
      explanation: () => explainToken(run, i, request, long.request),
    });
    return { kind: "token", iteration: i, sort: `${who} ${gets}`, weight: long.weight, ask };
  };
  return [moment("writer", writer, "a token"), moment("prompt", long.request, "its first token")];
}

/** The prompt that a question is about: the longest that just arrived, else one half done, else the queue's first. */
function promptOf(run, i, { arrived, running, queue }) {
  const tokens = (request) => run.requests[request].promptTokens;
  const length = (request) => plural(tokens(request), "prompt token");
  if (arrived.length) {
    const request = arrived.reduce((a, b) => (tokens(b) > tokens(a) ? b : a));
    return { request, words: () => `has just arrived with ${length(request)}`, weight: 4 * tokens(request) };
  }
  const isNew = (request) => run.writtenBy(request, i - 1) === 0;
  const partly = running.find(isNew);
  if (partly !== undefined) {
    const words = () => `has ${run.computedTokens(partly, i - 1)} of its ${length(partly)} prefilled`;
    return { request: partly, words, weight: 2 * tokens(partly) };
  }
  if (!queue.length || queue[0].isPreempted || !isNew(queue[0].request)) return null;
  const first = queue[0].request;
  return { request: first, words: () => `waits first in the queue with ${length(first)}`, weight: tokens(first) };
}

/** Whether a running request has its prompt behind it: what it wrote last is all that is not computed yet. */
function isWriting(run, request, i) {
  const written = run.writtenBy(request, i - 1);
  return written > 0 && run.computedTokens(request, i - 1) >= run.requests[request].promptTokens + written - 1;
}

function wroteIn(run, request, i) {
  const row = run.rowOf(request, i);
  return row >= 0 && run.entries.generated[row] > 0;
}

// -- memory runs out ----------------------------------------------------------------------------------

function preemptionMoment(run, i, { running, free }) {
  const preempted = run.reasonsAt(i).find(({ code }) => code.startsWith("preempted_"));
  const victim = preempted && running.includes(preempted.request) ? preempted.request : -1;
  // Only a layout that hands out blocks as tokens come can run out of them in the middle.
  if (running.length < 2 || (victim < 0 && (preempted || !run.isPaged || free >= running.length))) return null;
  const ask = () => {
    const order = byAdmission(run, running, i);
    const largest = [...running].sort((a, b) => run.tableOf(b, i - 1).length - run.tableOf(a, i - 1).length)[0];
    const offered = [victim, order[order.length - 1], order[0], largest, ...order.slice(1, -1).reverse()];
    return {
      prompt:
        `${free} of ${plural(run.numBlocks, "KV block")} ${free === 1 ? "is" : "are"} free and ` +
        `${plural(running.length, "request")} hold a slot. Which one is preempted first in the next step, if any?`,
      options: names(i, offered, (request) => holderLabel(run, order, request, i)),
      answer: victim >= 0 ? named(victim) : NONE,
      explanation: () => explainPreemption(run, i, free),
    };
  };
  const weight = free < running.length ? 1 - free / running.length : 0;
  return { kind: "preemption", iteration: i, sort: victim >= 0 ? "victim" : NONE, weight, ask };
}

/** Requests by when they were last admitted, the earliest first. */
function byAdmission(run, requests, i) {
  const place = new Map();
  run.reasons.forEach(({ code, request, iteration }, k) => {
    if (iteration < i && (code === "admitted" || code === "resumed")) place.set(request, k);
  });
  return [...requests].sort((a, b) => (place.get(a) ?? -1) - (place.get(b) ?? -1));
}

function holderLabel(run, order, request, i) {
  const place = order.indexOf(request) + 1;
  const ending = { 1: "st", 2: "nd", 3: "rd" }[place % 100 > 10 && place % 100 < 14 ? 0 : place % 10] ?? "th";
  return `r${request}, ${plural(run.tableOf(request, i - 1).length, "block")}, admitted ${place}${ending}`;
}

// -- time ---------------------------------------------------------------------------------------------

function durationMoment(run, i, scene) {
  if (!(run.duration[i] > 0)) return null;
  const ask = () => ({
    prompt: `How long does the next step take? ${durationHints(run, i, scene)}`,
    options: null,
    answer: run.duration[i] / 1e6,
    explanation: () => explainDuration(run, i),
  });
  const change = Math.abs(Math.log(run.duration[i] / run.duration[i - 1])) || 0;
  // Where the work stays the same a great change is noise, and can't be foreseen.
  const isNew = run.prefillTokens[i] > 0 || run.kindOf(i) !== run.kindOf(i - 1);
  const weight = isNew ? Math.min(change, 3) : change < NOISE ? 0 : -change;
  return { kind: "duration", iteration: i, sort: run.kindOf(i), weight, ask };
}

/** What a guess of a step's duration can build on: the step before it, and the queue. */
function durationHints(run, i, { running, queue }) {
  const took = `${threeFigures(run.duration[i - 1] / 1e6)} ms (${run.clockAt(i - 1)})`;
  const sentences = [`The last one, with ${stepWork(run, i - 1)}, took ${took}.`];
  const partly = running.find((request) => run.writtenBy(request, i - 1) === 0);
  const length = (request) => plural(run.requests[request].promptTokens, "prompt token");
  if (partly !== undefined) {
    sentences.push(`r${partly} has ${run.computedTokens(partly, i - 1)} of ${length(partly)} prefilled.`);
  }
  if (queue.length) {
    const first = queue[0].request;
    const others = queue.length > 1 ? `${plural(queue.length, "request")} wait, r${first} first` : `r${first} waits`;
    sentences.push(`${others} with ${length(first)}.`);
  }
  return sentences.join(" ");
}

// -- options ------------------------------------------------------------------------------------------

function named(request) {
  return `r${request}`;
}

/** Some requests and NONE as options, in an order that tells nothing. -1 stands for no request. */
function names(i, requests, label) {
  const distinct = [...new Set(requests)].filter((request) => request >= 0).slice(0, MOST_NAMES);
  const options = distinct.map((request) => ({ value: named(request), label: label(request) }));
  options.push({ value: NONE, label: "no request" });
  for (let last = options.length - 1; last > 0; last--) {
    const other = scatter(i, 10 + last) % (last + 1);
    [options[last], options[other]] = [options[other], options[last]];
  }
  return options;
}
