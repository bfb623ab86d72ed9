// Why a step went as it did, in the sentences that the recording holds, and in its numbers.

import { list, plural, threeFigures } from "../core/format.js";
import { PADDING, PREFILL } from "../core/phases.js";

const MOST_SENTENCES = 4;

/** Why `heir` (-1: no request) holds `slot` in iteration `i`, after `leaver` has finished there. */
export function explainSlot(run, i, slot, leaver, heir) {
  if (heir >= 0) return spoken(run, noted(run, i, heir, ["admitted", "resumed", "chunk"]));
  const row = run.rowInSlot(slot, i);
  const isKept = row >= 0 && run.entries.phase[row] === PADDING;
  const reasons = [...admissions(run, i), ...firstWait(run, i)];
  const kept = isKept ? [`Slot ${slot} stays with r${leaver}, which has finished, until the whole batch has`] : [];
  const empty = !isKept && !run.waitingAt(i).length ? ["The queue is empty"] : [];
  return spoken(run, reasons, kept, empty);
}

/** Why `request` gets a token or doesn't in iteration `i`, beside the prompt of `other`. */
export function explainToken(run, i, request, other) {
  const row = run.rowOf(request, i);
  const { phase, tokens, start, generated } = run.entries;
  const own = noted(run, i, request, ["preempted_recompute", "preempted_swap", "preempted_latest", "preempted_fewest", "admitted", "resumed", "chunk"]);
  const facts = [];
  if (row < 0) {
    if (!own.length) own.push(...waitOrFirst(run, request, i));
    facts.push(`r${request} holds no slot in this step`);
  } else if (generated[row]) {
    const prompt = `the last ${plural(tokens[row], "token")} of its prompt`;
    const computed = phase[row] === PREFILL ? prompt : tokens[row] === 1 ? "one token" : plural(tokens[row], "token");
    facts.push(`r${request} computes ${computed} and generates the next`);
  } else if (tokens[row]) {
    const done = plural(start[row] + tokens[row], "token");
    facts.push(`r${request} has ${done} prefilled when this step ends, and generates after the last`);
  } else {
    facts.push(`r${request} keeps its slot and gets no token in this step`);
  }
  const stalls = run.reasonsAt(i).filter(({ code }) => code === "stalled_by_prefill");
  const others = other === request ? [] : noted(run, i, other, ["admitted", "chunk"]);
  const waits = other === request || run.rowOf(other, i) >= 0 ? [] : waitOrFirst(run, other, i);
  return spoken(run, [...own, ...stalls, ...others, ...waits], facts);
}

/** Which request was preempted before iteration `i` and why, or why none had to be; `free` blocks were left. */
export function explainPreemption(run, i, free) {
  const preemptions = run.reasonsAt(i).filter(({ code }) => code.startsWith("preempted_"));
  if (preemptions.length) return spoken(run, preemptions);
  const taken = run.heldBlocks(i) - (run.numBlocks - free);
  const left = `${plural(free, "block")} ${free === 1 ? "was" : "were"} free`;
  const takes = taken === 0 ? "no new block" : plural(taken, "new block");
  const need = `This step takes ${takes}, and ${left}`;
  return spoken(run, firstWait(run, i), [`${need}: no request is preempted`]);
}

/** What iteration `i` computed in its time. */
export function explainDuration(run, i) {
  const took = (k) => `${threeFigures(run.duration[k] / 1e6)} ms`;
  const facts = [`This step took ${took(i)} (${run.clockAt(i)}) for ${stepWork(run, i)}`];
  facts.push(`the one before took ${took(i - 1)} for ${stepWork(run, i - 1)}`);
  const codes = ["preempted_recompute", "preempted_swap", "preempted_latest", "preempted_fewest", "stalled_by_prefill", "chunk", "admitted", "resumed"];
  const reasons = run.reasonsAt(i).filter(({ code }) => codes.includes(code));
  reasons.sort((a, b) => codes.indexOf(a.code) - codes.indexOf(b.code));
  return spoken(run, reasons, [facts.join("; ")]);
}

/** "7 decodes and 57 tokens of prefill". */
export function stepWork(run, i) {
  const parts = [];
  if (run.decodeTokens[i]) parts.push(plural(run.decodeTokens[i], "decode"));
  if (run.prefillTokens[i]) parts.push(`${plural(run.prefillTokens[i], "token")} of prefill`);
  if (run.paddingTokens[i]) parts.push(`${plural(run.paddingTokens[i], "token")} of padding`);
  return parts.length ? list(parts) : "nothing to compute";
}

/** Facts before, the reasons' sentences, facts after. Of many reasons the first few. */
function spoken(run, reasons, before = [], after = []) {
  const said = reasons.slice(0, MOST_SENTENCES).map((reason) => run.sentence(reason));
  return [...before, ...said, ...after].map((sentence) => `${sentence}.`).join(" ");
}

function noted(run, i, request, codes) {
  return run.reasonsAt(i).filter((reason) => reason.request === request && codes.includes(reason.code));
}

function admissions(run, i) {
  return run.reasonsAt(i).filter(({ code }) => code === "admitted" || code === "resumed");
}

/** Why the first of the queue that was given a reason waits in iteration `i`. */
function firstWait(run, i) {
  for (const { request } of run.waitingAt(i)) {
    const reasons = lastWait(run, request, i);
    if (reasons.length) return reasons;
  }
  return [];
}

function waitOrFirst(run, request, i) {
  const own = lastWait(run, request, i);
  return own.length ? own : firstWait(run, i);
}

function lastWait(run, request, i) {
  const reason = run.waitOf(request, i);
  return reason ? [reason] : [];
}
