// What the lanes and charts show, in words: for screen readers, and for the numbers.

import { counters } from "../lanes/counters.js";
import { el } from "../core/dom.js";
import { clock, count, duration, list, percent, plural, threeFigures } from "../core/format.js";
import { DECODE, PADDING, PREFILL, STALLED } from "../core/phases.js";
import { explainPlace } from "../why/why.js";
import { ranges, requestNames } from "../why/why_words.js";

const WORDS_REFRESH_MS = 1000; // while playing

/** What a lane shows at a place of `Run.locate`. @returns {string[]} sentences */
export function describeLane(run, place) {
  const now = counters(run, place);
  return [
    momentSentence(run, place, now),
    slotSentence(run, place, now),
    counterSentence(run, now),
    ...kvSentences(run, place, now),
    queueSentence(run, place),
  ];
}

function momentSentence(run, place, { busy }) {
  const { i, t, isRunning, ended } = place;
  const took = (ns, how) => `${duration(ns)} ${how}`;
  const slots = `${count(busy)} of ${plural(run.slots, "slot")} busy`;
  if (isRunning) return `Step ${count(i)}, ${took(run.duration[i], run.clockAt(i))}: ${slots}.`;
  if (ended >= run.n) return `The recording ends after ${plural(run.n, "step")} and ${took(run.endTime, run.clocks)}.`;
  return `Nothing runs at ${clock(t)} ${run.clocks}.`;
}

/** slots 0–3 and 5 decode r1, r4, r7, r9 and r12; slot 4 prefills r15, 57 of 412 tokens; slot 7 idle while 3 wait */
function slotSentence(run, { i, isRunning }, { waiting }) {
  if (!isRunning) return `All ${plural(run.slots, "slot")} idle.`;
  const { slot, request, phase } = run.entries;
  const rows = [...run.rowsAt(i)];
  const parts = [];
  const say = (wanted, one, several) => {
    const some = rows.filter((row) => phase[row] === wanted);
    if (!some.length) return;
    const who = requestNames(some.map((row) => request[row]), 64);
    parts.push(`${slotNames(some.map((row) => slot[row]))} ${some.length === 1 ? one : several} ${who}`);
  };
  say(DECODE, "decodes", "decode");
  for (const row of rows) if (phase[row] === PREFILL) parts.push(prefillWords(run, row));
  say(STALLED, "gets no token for", "get no token for");
  say(PADDING, "padded for", "padded for");
  const held = new Set(rows.map((row) => slot[row]));
  const idle = Array.from({ length: run.slots }, (_, k) => k).filter((k) => !held.has(k));
  const others = waiting ? ` while ${count(waiting)} ${waiting === 1 ? "waits" : "wait"}` : "";
  if (idle.length) parts.push(`${slotNames(idle)} idle${others}`);
  const text = parts.join("; ");
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function slotNames(numbers) {
  return `slot${numbers.length === 1 ? "" : "s"} ${ranges(numbers)}`;
}

function prefillWords(run, row) {
  const { slot, request, tokens, start, iteration, padding } = run.entries;
  const isChunk = (reason) => reason.code === "chunk" && reason.request === request[row];
  const chunk = run.reasonsAt(iteration[row]).find(isChunk);
  const end = chunk ? chunk.numbers.end : start[row] + tokens[row];
  const padded = padding[row] ? ` and ${count(padding[row])} of padding` : "";
  const of = end > tokens[row] ? `${count(tokens[row])} of ${plural(end, "token")}` : `all ${plural(end, "token")}`;
  return `slot ${slot[row]} prefills r${request[row]}, ${of}${padded}`;
}

function counterSentence(run, now) {
  const { tokensPerSecond, done, total, utilization, ttftP95, itlP95, stalled } = now;
  const latency = (name, ns) => (Number.isFinite(ns) ? [`${name} p95 ${duration(ns)}`] : []);
  const numbers = [
    ...(Number.isFinite(tokensPerSecond) ? [`${threeFigures(tokensPerSecond)} tokens/s`] : []),
    `${count(done)} of ${plural(total, "request")} done`,
    ...(Number.isFinite(utilization) ? [`${percent(utilization)} % of the slots' time used`] : []),
    ...latency("TTFT", ttftP95),
    ...latency("ITL", itlP95),
    `slots stalled for ${duration(stalled)} in all`,
  ];
  return `So far, ${run.clocks}: ${numbers.join(", ")}.`;
}

/** Blocks by request, how full each one's last block is, and what a contiguous layout holds for nothing. */
function kvSentences(run, { i, isRunning }, { held, kv }) {
  const said = [`KV: ${count(held)} of ${plural(run.numBlocks, "block")} held, ${percent(kv)} %.`];
  if (!isRunning || !held) return said;
  const owners = new Map();
  for (const owner of run.ownersAt(i)) if (owner >= 0) owners.set(owner, (owners.get(owner) ?? 0) + 1);
  const each = [...owners].sort(([a], [b]) => a - b).map(([request, blocks]) => kvWords(run, i, request, blocks));
  said.push(`${list(each.map(({ words }) => words), 32)}.`);
  if (!run.isPaged) {
    const unused = each.reduce((sum, { room }) => sum + room, 0);
    said.push(`Reserved and not used: room for ${plural(unused, "token")}.`);
  }
  return said;
}

function kvWords(run, i, request, blocks) {
  const tokens = run.computedTokens(request, i);
  const room = blocks * run.blockSize - tokens;
  const last = run.isPaged ? run.blockSize - room : 0;
  const fill = `the last with ${count(last)} of ${plural(run.blockSize, "token")}`;
  const what = run.isPaged ? `, ${fill}` : ` for ${plural(tokens, "token")}`;
  return { room, words: `r${request} holds ${plural(blocks, "block")}${what}` };
}

function queueSentence(run, { i, t }) {
  const queue = run.waitingAt(i, t);
  if (!queue.length) return "The queue is empty.";
  const names = queue.map(({ request, isSwapped, isPreempted }) =>
    `r${request}${isSwapped ? " (in host memory)" : isPreempted ? " (preempted)" : ""}`);
  return `The queue, first come first: ${list(names, 32)}.`;
}

/** A section "In words" with a paragraph for each lane and its charts. */
export class Mirror {
  /**
   * @param {import("../core/store.js").Store} store
   * @param {(run: object, place: object, runs: object[], places: object[]) => string[]} describeCharts
   */
  constructor(store, describeCharts) {
    this.store = store;
    this.describeCharts = describeCharts;
    this.body = el("div", { class: "mbw-words" });
    const summary = el("summary", { text: "In words" });
    this.element = el("details", { class: "mbw-mirror", on: { toggle: () => this.#show() } }, summary, this.body);
  }

  /** @param {object[]} places of `Run.locate`, one a run */
  update(places) {
    this.places = places;
    if (!this.element.open) return;
    const key = places.map(({ i, t, isRunning }) => `${i} ${isRunning} ${t}`).join(" ");
    if (key === this.key && this.store.runs === this.runs) return;
    const now = performance.now();
    if (this.store.isPlaying && now - this.shown < WORDS_REFRESH_MS) return;
    Object.assign(this, { key, runs: this.store.runs, shown: now });
    this.#show();
  }

  destroy() {
    this.element.remove();
  }

  #show() {
    if (!this.element.open || !this.places) return;
    const { runs, comparison } = this.store;
    const isLive = Boolean(comparison.options?.live);
    const sections = runs.map((run, k) => {
      const place = this.places[k];
      const { headline } = explainPlace(run, place, isLive);
      const charts = this.describeCharts(run, place, runs, this.places);
      const paragraphs = [[headline, ...describeLane(run, place)].join(" "), ...charts];
      return el("section", {}, el("h3", { text: run.label }), ...paragraphs.map((text) => el("p", { text })));
    });
    this.body.replaceChildren(...sections);
  }
}
