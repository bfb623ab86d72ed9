// What decided one iteration, fact by fact: each with a headline, a sentence with its numbers, and its codes.

import { count, plural } from "../core/format.js";
import { DECODE, PADDING, PREFILL, STALLED } from "../core/phases.js";
import {
  admissionFact, anyFact, arrivalFact, chunkFact, comebackFact, decodeFact, finishFact, longestPromptFact, paddingFact,
  stretchFact, windowFact,
} from "./why_work.js";
import { isOrAre, promptTokens, promptsOf, requestNames, timed } from "./why_words.js";

/** @typedef {{headline: string, sentence: string, codes: string[]}} Fact */

const WAIT_HEADLINES = {
  waits_slot: "waits for a slot",
  waits_blocks: "waits for KV blocks",
  waits_reserved: "waits for KV blocks that are not set aside",
  waits_budget: "waits: the token budget is used up",
  waits_batch: "waits for the batch to end",
  waits_window: "waits for the window to close",
  waits_preemption: "waits: memory ran out",
  waits_swapped: "waits for requests in host memory",
};

/**
 * The facts of iteration `i`, those that say most first: what a request loses, then what it waits for, then
 * what goes on as usual.
 * @returns {Fact[]}
 */
export function factsOf(run, i) {
  const step = whyStep(run, i);
  const makers = [
    preemptionFact, rejectionFact, stallFact, chunkFact, windowFact, admissionFact, comebackFact, queueFact,
    longestPromptFact, paddingFact, finishFact, decodeFact, stretchFact, arrivalFact, anyFact,
  ];
  const facts = [];
  for (const make of makers) {
    const fact = make(step, facts);
    if (fact) facts.push(fact);
  }
  return facts;
}

function whyStep(run, i) {
  const { phase, request } = run.entries;
  const rows = [...run.rowsAt(i)];
  const inPhase = (wanted) => rows.filter((row) => phase[row] === wanted);
  return {
    run,
    i,
    took: timed(run, run.duration[i], run.clockAt(i)),
    reasons: run.reasonsAt(i),
    prefills: inPhase(PREFILL),
    decodes: inPhase(DECODE),
    padded: inPhase(PADDING),
    stalled: inPhase(STALLED),
    names: (some, most) => requestNames(some.map((row) => request[row]), most),
  };
}

function preemptionFact({ run, reasons }) {
  const victims = reasons.filter(({ code }) => code.startsWith("preempted_"));
  if (!victims.length) return null;
  const rest = victims.slice(1).map(({ request }) => request);
  const more = rest.length ? `; so ${rest.length === 1 ? "does" : "do"} ${requestNames(rest, 4)}` : "";
  return {
    headline: `Memory is full: ${requestNames(victims.map(({ request }) => request))} ${isOrAre(victims)} preempted.`,
    sentence: `${run.sentence(victims[0])}${more}.`,
    codes: [victims[0].code],
  };
}

function rejectionFact({ run, reasons }) {
  const rejected = reasons.filter(({ code }) => code.startsWith("rejected_"));
  if (!rejected.length) return null;
  const rest = rejected.slice(1);
  const more = rest.length ? `; so ${isOrAre(rest)} ${requestNames(rest.map(({ request }) => request), 4)}` : "";
  return {
    headline: `${requestNames(rejected.map(({ request }) => request))} ${isOrAre(rejected)} rejected.`,
    sentence: `${run.sentence(rejected[0])}${more}.`,
    codes: [rejected[0].code],
  };
}

function stallFact(step) {
  const { run, stalled, prefills, decodes, names, took } = step;
  if (!stalled.length) return null;
  const who = names(stalled, 4);
  const get = stalled.length === 1 ? "gets" : "get";
  if (!prefills.length) {
    const sentence = `${who} ${stalled.length === 1 ? "holds a slot" : "hold slots"} and ${get} no token in this step.`;
    return { headline: `${who} ${get} no token.`, sentence, codes: ["decode"] };
  }
  const prompt = `${promptsOf(step)}${decodes.length ? "" : ` ${prefills.length === 1 ? "runs" : "run"} alone`}`;
  const losers = stalled.length === 1 ? `${who} gets` : `${plural(stalled.length, "request")} get`;
  const does = decodes.length ? `computes ${plural(decodes.length, "decode")} and` : "prefills";
  return {
    headline: decodes.length ? `${losers} no token: others use up the budget.` : `${prompt}; ${losers} no token.`,
    sentence: `${who} ${get} no token: this step ${does} ${promptTokens(run, prefills)} (${took}).`,
    codes: ["stalled_by_prefill"],
  };
}

/** Why the first of the queue is still in it. */
function queueFact({ run, i, reasons }) {
  const preempted = new Set(reasons.filter(({ code }) => code.startsWith("preempted_")).map(({ request }) => request));
  const waiting = run.waitingAt(i).filter(({ request }) => !preempted.has(request));
  if (!waiting.length) return null;
  const [{ request, isSwapped, isPreempted }] = waiting;
  const behind = waiting.length - 1;
  const more = behind ? `, and ${count(behind)} more behind it` : "";
  if (isSwapped) return hostMemoryFact(run, i, request, preempted.size > 0, more);
  const wait = run.waitOf(request, i);
  if (!wait) return null;
  const since = run.start[i] - run.requests[request].arrival;
  const sentence = run.sentence(wait) + (isPreempted || since <= 0 ? "" : `; in the queue for ${timed(run, since)}`);
  const headline = `r${request} ${WAIT_HEADLINES[wait.code] ?? "waits"}${more}.`;
  return { headline, sentence: `${sentence}.`, codes: [wait.code] };
}

/** A request whose KV lies in host memory. What keeps it there is noted only where that is a lack of blocks. */
function hostMemoryFact(run, i, request, hasPreempted, more) {
  const headline = `r${request} waits in host memory${more}.`;
  const because = (why) => ({ headline, sentence: `r${request} waits in host memory: ${why}.`, codes: ["resumed"] });
  if (hasPreempted) return because("memory ran out in this step, so no request comes back");
  if (run.heldSlots[i] >= run.slots) return because(`needs a slot, 0 of ${run.slots} free`);
  const wait = run.waitOf(request, i);
  if (wait?.code !== "waits_blocks") return because("it has not come back yet");
  return { headline, sentence: `${run.sentence(wait)}.`, codes: ["resumed", "waits_blocks"] };
}
