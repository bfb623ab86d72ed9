// What an iteration computes, as facts: see why_facts.js.

import { bytes, count, duration, list, plural } from "../core/format.js";
import { isOrAre, promptTokens, promptsOf, ranges, requestNames, timed } from "./why_words.js";

export function chunkFact({ run, i, reasons, prefills, decodes, took }) {
  const { request, tokens } = run.entries;
  const rows = new Map(prefills.map((row) => [request[row], row]));
  const noted = reasons.filter((reason) => reason.code === "chunk" && rows.has(reason.request));
  if (!noted.length) return null;
  const said = noted.map((reason) => chunkWords(run, reason, tokens[rows.get(reason.request)]));
  const { budget } = noted[0].numbers;
  const left = budget - run.prefillTokens[i] - run.decodeTokens[i] - run.paddingTokens[i];
  const whole = `the ${count(budget)}-token budget`;
  const rest = left > 0 ? `${count(left)} of ${whole} are left` : `${whole} is full`;
  const first = decodes.length ? `${plural(decodes.length, "decode")} first, then ` : "This step prefills ";
  const sum = run.prefillTokens[i];
  const who = noted.length === 1 ? `r${noted[0].request}` : plural(noted.length, "prompt");
  const does = noted.length === 1 ? `prefills ${plural(sum, "token")}` : `advance by ${plural(sum, "token")}`;
  return {
    headline: decodes.length ? `${writers(decodes)} while ${who} ${does}.` : `${who} ${does}.`,
    sentence: `${first}${list(said, 3)}: ${rest} (${took}).`,
    codes: decodes.length ? ["chunk", "decode"] : ["chunk"],
  };
}

/** 57 of r9's 412 prompt tokens. What a preempted request had generated is prefilled again with its prompt. */
function chunkWords(run, { request, numbers: { stop, end } }, tokens) {
  const noun = end === run.requests[request].promptTokens ? "prompt token" : "token";
  if (tokens === end) return `all of r${request}'s ${plural(end, noun)}`;
  return `${stop === end ? "the last " : ""}${count(tokens)} of r${request}'s ${plural(end, noun)}`;
}

function writers(decodes) {
  return decodes.length === 1 ? "1 request decodes" : `${decodes.length} requests decode`;
}

/** What the dynamic policy's window was waiting for when it closed. */
export function windowFact({ run, i, reasons }) {
  const waits = reasons.filter(({ code }) => code === "waits_window");
  const entered = reasons.filter(({ code }) => code === "admitted");
  if (!waits.length || !entered.length) return null;
  const { slots, max_wait_ms: most } = waits[waits.length - 1].numbers;
  const oldest = Math.min(...entered.map(({ request }) => run.requests[request].arrival));
  const isFull = entered.length >= slots;
  const waited = timed(run, run.start[i] - oldest);
  const why = isFull ? `it is full, after ${waited}` : `the oldest has waited ${waited}, ${count(most)} ms at most`;
  return {
    headline: isFull ? "The window closes: it is full." : "The window closes: its time is up.",
    sentence: `The window closes with ${entered.length} of ${plural(slots, "request")}: ${why}.`,
    codes: ["waits_window", "admitted"],
  };
}

export function admissionFact({ run, reasons, prefills, stalled, took }) {
  const entries = reasons.filter(({ code }) => code === "admitted");
  if (!entries.length) return null;
  const who = requestNames(entries.map(({ request }) => request));
  const isWhole = prefills.length > 0 && !stalled.length && !reasons.some(({ code }) => code === "chunk");
  const sum = prefills.reduce((total, row) => total + run.entries.tokens[row], 0);
  const then = isWhole ? `; this step prefills ${plural(sum, "token")} (${took})` : "";
  return {
    headline: `${who} ${entries.length === 1 ? "is" : "are"} admitted.`,
    sentence: `${entries.length === 1 ? run.sentence(entries[0]) : `${who} are admitted to ${takenSlots(entries)}`}${then}.`,
    codes: ["admitted"],
  };
}

export function comebackFact({ run, reasons }) {
  const entries = reasons.filter(({ code }) => code === "resumed");
  if (!entries.length) return null;
  const who = requestNames(entries.map(({ request }) => request));
  return {
    headline: `${who} ${entries.length === 1 ? "comes" : "come"} back from host memory.`,
    sentence: entries.length === 1 ? `${run.sentence(entries[0])}.` : `${who} come back into ${takenSlots(entries)}.`,
    codes: ["resumed"],
  };
}

/** slots 2, 5 and 7: they take 17 of 40 free blocks */
function takenSlots(entries) {
  const needs = entries.reduce((total, { numbers }) => total + numbers.needs, 0);
  const slots = ranges(entries.map(({ numbers }) => numbers.slot).sort((a, b) => a - b));
  return `slots ${slots}: they take ${count(needs)} of ${plural(entries[0].numbers.free, "free block")}`;
}

export function longestPromptFact({ run, prefills }) {
  const { tokens, padding } = run.entries;
  const thrown = prefills.reduce((total, row) => total + padding[row], 0);
  if (!thrown) return null;
  const real = prefills.reduce((total, row) => total + tokens[row], 0);
  const longest = Math.max(...prefills.map((row) => tokens[row] + padding[row]));
  return {
    headline: "The prompts are padded to the longest.",
    sentence:
      `All prompts are padded to the longest, ${plural(longest, "token")}: ` +
      `${count(thrown)} of ${plural(thrown + real, "position")} are thrown away.`,
    codes: ["padding"],
  };
}

export function paddingFact({ run, i, padded, decodes, names }) {
  if (!padded.length) return null;
  const { slot, request, padding: positions } = run.entries;
  const isComputed = padded.some((row) => positions[row] > 0);
  const slots = ranges(padded.map((row) => slot[row]));
  const what = `Slot${padded.length === 1 ? "" : "s"} ${slots} ${isOrAre(padded)} ${isComputed ? "padded" : "held"}`;
  const writes = decodes.length ? `, ${names(decodes, 3)} ${isOrAre(decodes)} still generating` : "";
  let finished = `${names(padded, 4)} have finished`;
  if (padded.length === 1) {
    const reason = run.latestReason(request[padded[0]], ["finished_length", "finished_stop"], i);
    finished = `${names(padded)} finished${reason ? ` ${plural(i - reason.iteration + 1, "step")} ago` : ""}`;
  }
  return { headline: `${what}.`, sentence: `${what}: ${finished}${writes}.`, codes: ["padding"] };
}

export function finishFact({ run, i }) {
  const done = run.reasonsAt(i + 1).filter(({ code }) => code.startsWith("finished_"));
  if (!done.length) return null;
  const who = requestNames(done.map(({ request }) => request));
  const sentence = done.length === 1 ? run.sentence(done[0]) : `${who} finish with this step`;
  const headline = `${who} ${done.length === 1 ? "finishes" : "finish"} with this step.`;
  return { headline, sentence: `${sentence}.`, codes: [done[0].code] };
}

export function decodeFact({ run, i, decodes: rows, names, took }, facts) {
  if (!rows.length || facts.some(({ codes }) => codes[0] === "chunk")) return null;
  const queue = run.waitingAt(i, run.end[i] - 1).length ? "" : "; the queue is empty";
  const what = rows.length === 1 ? `${names(rows)} generates one token` : `${rows.length} requests generate one token each`;
  if (facts.length) return { headline: what, sentence: `${what} (${took})${queue}.`, codes: ["decode"] };
  const whom = rows.length === 1 ? "it" : `all ${rows.length}`;
  const weights = `reads ${bytes(run.bytesWeights[i])} of weights once for ${whom}`;
  return { headline: `${what}${queue}.`, sentence: `This step takes ${took} and ${weights}.`, codes: ["decode"] };
}

/** What others' prefill adds to this step's decodes. */
export function stretchFact({ run, i, decodes: rows }) {
  if (!rows.length || !(run.stretch[i] > 0)) return null;
  const whom = rows.length === 1 ? "the one that decodes" : `the ${rows.length} that decode`;
  const sentence = `The prompt tokens make this step ${duration(run.stretch[i])} longer for ${whom} (estimated from ${run.clockAt(i)} steps).`;
  return { headline: sentence, sentence, codes: ["chunk"] };
}

export function arrivalFact({ run, i }) {
  const came = run.requests.filter(({ arrival }) => arrival > run.start[i] && arrival < run.end[i]);
  if (!came.length) return null;
  const who = requestNames(came.map(({ id }) => id));
  const does = came.length === 1 ? "arrives" : "arrive";
  const sentence = `${who} ${does} during this step; the scheduler decides again at the next.`;
  return { headline: sentence, sentence, codes: [] };
}

/** What there is to say where nothing above holds, as under a policy that notes no reasons. */
export function anyFact(step, facts) {
  if (facts.length) return null;
  const { run, prefills, took } = step;
  if (!prefills.length) return { headline: "No request gets a token.", sentence: `It takes ${took}.`, codes: [] };
  const headline = `${promptsOf(step)} ${prefills.length === 1 ? "runs" : "run"}.`;
  return { headline, sentence: `This step prefills ${promptTokens(run, prefills)} (${took}).`, codes: ["chunk"] };
}
