// A run in progress comes in parts: see minibatch/ui/player/live_payload.py. Here they are kept and joined.

import { group } from "./arrays.js";
import { comparisonOf } from "./payload.js";

const COUNTED = ["entries.iteration", "blocks.iteration", "reasons.iteration"]; // from the part's own first iteration

/**
 * The parts of a stream. A part is read and kept once; joining them costs the length of the whole run,
 * so `isDue` asks for it the less often the longer it takes.
 *
 * num   parts that are here
 */
export class LiveParts {
  static #SHARE = 5; // at most one part in so many of the time is spent joining

  constructor(now = () => performance.now()) {
    this.now = now;
    this.stream = null;
  }

  /** Add what a message brings. @returns {boolean} whether everything before it is here */
  add({ head, reader }) {
    if (head.stream !== this.stream) Object.assign(this, { stream: head.stream, num: 0, shared: {}, sources: {}, runs: new Map(), dueAt: 0 });
    if (head.first > this.num) return false;
    if (!head.first) this.shared = head;
    Object.assign(this.sources, head.sources);
    this.latest = head;
    head.parts.forEach((part, k) => {
      const columns = reader.columns(part.columns);
      if (head.first + k < this.num) return; // sent again, because the word of it had not arrived
      this.num++;
      this.#take(part, columns);
    });
    return true;
  }

  /** Whether enough time has passed since the last joining. */
  get isDue() {
    return this.now() >= this.dueAt;
  }

  /** All of it as a comparison. */
  join() {
    const began = this.now();
    const runs = this.latest.runs.map((meta, k) => {
      const { requests, finish, aborted } = this.runs.get(meta.label);
      const known = (values) => requests.map((_, id) => values[id] ?? null);
      return { ...meta, requests: k, texts: k, finish: known(finish), aborted: known(aborted) };
    });
    const each = runs.map(({ label }) => this.runs.get(label));
    const head = {
      ...this.shared, sources: this.sources, options: this.latest.options, runs, parts: undefined,
      requests: each.map(({ requests }) => requests), texts: each.map(({ requests, texts }) => requests.map((_, id) => texts[id] ?? [])),
    };
    const comparison = comparisonOf(head, each.map((run, k) => joined(run, runs[k].slots)));
    const ended = this.now();
    this.dueAt = ended + LiveParts.#SHARE * (ended - began);
    return comparison;
  }

  #take(part, columns) {
    if (!this.runs.has(part.policy)) this.runs.set(part.policy, { requests: [], texts: [], finish: [], aborted: [], chunks: [] });
    const run = this.runs.get(part.policy);
    for (const [id, ...request] of part.requests) run.requests[id] = request;
    for (const [id, pieces] of part.pieces) (run.texts[id] ??= []).push(...pieces);
    for (const [id, reason, abortedNs] of part.finished) {
      run.finish[id] = reason;
      run.aborted[id] = abortedNs;
    }
    for (const name of COUNTED) columns[name].forEach((value, row) => { columns[name][row] = value + part.firstIteration; });
    if (columns.gap_ns.length) columns.gap_ns[0] -= part.from;
    run.chunks.push(columns);
  }
}

/** The columns of all chunks; entries again by slot and then by time. */
function joined(run, slots) {
  const columns = {};
  for (const name of Object.keys(run.chunks[0])) columns[name] = concatenated(run.chunks.map((chunk) => chunk[name]));
  run.chunks = [{ ...columns }]; // so that the next time there are few
  const { rows } = group(Int32Array.from(columns["entries.slot"]), slots);
  for (const name of Object.keys(columns)) {
    if (name.startsWith("entries.")) columns[name] = Float64Array.from(rows, (row) => columns[name][row]);
  }
  return columns;
}

function concatenated(chunks) {
  const whole = new Float64Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
