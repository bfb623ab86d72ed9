// One recorded run, indexed so that any view finds what it needs at any time. Read only.

import { group, sortedBy } from "./arrays.js";
import { isArrival, isDone } from "./codes.js";
import { countsOf } from "./counts.js";
import { STALLED } from "./phases.js";
import { Replay } from "./replay.js";

/**
 * A run of one policy. Times are nanoseconds from its start, iterations and requests are numbers from 0.
 * A request that had not been sent when the run ended, or that went to other engines, arrives at Infinity.
 * One engine of several is a run of its own.
 *
 * Columns by iteration, each of length `n`: start, duration, end, executor, stretch (what others'
 * prefill adds to its decodes), flops, bytesWeights, bytesKv, bytesActivations; and, counted up to and
 * with each iteration: written (tokens), finished (requests), stalled (ns of all slots). Of one iteration
 * alone: prefillTokens, decodeTokens, paddingTokens, busySlots, stalledSlots, heldSlots, numWaiting.
 *
 * `entries` has a row for each slot held in an iteration, by slot and then by time: columns iteration,
 * slot, request, phase, start (first position computed), tokens, padding, generated (tokens written), rejected.
 */
export class Run {
  constructor(meta, columns, head) {
    Object.assign(this, meta, { columns: undefined });
    this.words = head.words;
    this.blockSize = meta.config.block_size;
    this.isPaged = meta.config.kv_layout !== "contiguous";
    this.requests = head.requests[meta.requests].map(([arrival, promptTokens, maxTokens, prompt], id) => ({
      id, arrival: arrival ?? Infinity, promptTokens, maxTokens, prompt, pieces: head.texts[meta.texts][id], finish: meta.finish[id],
      aborted: meta.aborted[id],
    }));
    this.#iterations(columns);
    this.#entries(columns);
    this.#decisions(columns);
    Object.assign(this, countsOf(this));
  }

  // -- when ---------------------------------------------------------------------------------------

  /** The latest iteration that has begun at time `t`; -1 before the first. */
  iterationAt(t) {
    let low = 0;
    let high = this.n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] <= t) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /**
   * Where the run is when the playhead stands at `position`, a time in ns or a number of iterations.
   * @returns {{i: number, t: number, ended: number, isRunning: boolean, isDone: boolean}} `i` is the
   *   iteration that runs or ran last, -1 before the first; `ended` how many have ended.
   */
  locate(axis, position) {
    if (axis === "iterations") {
      if (position >= this.n) return this.#place(this.n - 1, this.endTime);
      const i = Math.floor(position);
      return this.#place(i, this.start[i] + (position - i) * this.duration[i]);
    }
    return this.#place(this.iterationAt(position), position);
  }

  #place(i, t) {
    const isRunning = i >= 0 && t < this.end[i];
    return { i, t: Math.min(t, this.endTime), ended: isRunning ? i : i + 1, isRunning, isDone: t >= this.endTime };
  }

  /** Position of iteration `i`'s start on an axis; of the run's end for i = n. */
  position(axis, i) {
    if (axis === "iterations") return i;
    return i < this.n ? this.start[i] : this.endTime;
  }

  /** Position of iteration `i`'s end on an axis. */
  endPosition(axis, i) {
    return axis === "iterations" ? i + 1 : this.end[i];
  }

  /** The last position of the run on an axis. */
  lastPosition(axis) {
    return axis === "iterations" ? this.n : this.endTime;
  }

  /** "measured" or "modelled": the clock of iteration `i`, which a fork changes. */
  clockAt(i) {
    let { clock } = this;
    for (let { fork } = this; fork; fork = fork.earlier) if (i < fork.iteration) clock = fork.clock;
    return clock;
  }

  /** The clocks of all iterations: "measured", "modelled", or "measured, then modelled". */
  get clocks() {
    return this.n ? [...new Set([this.clockAt(0), this.clock])].join(", then ") : this.clock;
  }

  // -- what a step is -----------------------------------------------------------------------------

  /** "prefill", "decode", "mixed", or "idle" for an iteration that computes no real token. */
  kindOf(i) {
    const prefill = this.prefillTokens[i] > 0;
    const decode = this.decodeTokens[i] > 0;
    return prefill && decode ? "mixed" : prefill ? "prefill" : decode ? "decode" : "idle";
  }

  bytesOf(i) {
    return this.bytesWeights[i] + this.bytesKv[i] + this.bytesActivations[i];
  }

  intensity(i) {
    return this.flops[i] / this.bytesOf(i);
  }

  /** FLOP/s that the iteration reached, by the executor's part of its duration. */
  flopsPerSecond(i) {
    return this.flops[i] / (this.executor[i] / 1e9);
  }

  /** Rows of `entries` of iteration `i`, by slot. */
  rowsAt(i) {
    return this.byIteration.of(i);
  }

  /** Rows of `entries` of a request, by time. */
  rowsOf(request) {
    return this.byRequest.of(request);
  }

  /** The row of a request in iteration `i`, or -1. */
  rowOf(request, i) {
    for (const row of this.rowsAt(i)) if (this.entries.request[row] === request) return row;
    return -1;
  }

  /** The row of a slot in iteration `i`, or -1 where no request holds it. */
  rowInSlot(slot, i) {
    for (const row of this.rowsAt(i)) if (this.entries.slot[row] === slot) return row;
    return -1;
  }

  /** Tokens of a request whose KV is held when iteration `i` ends. */
  computedTokens(request, i) {
    const row = this.#latestRow(request, i);
    return row < 0 ? 0 : this.entries.start[row] + this.entries.tokens[row] - this.entries.rejected[row];
  }

  /** Tokens that a request has generated when iteration `i` has ended. */
  writtenBy(request, i) {
    const times = this.tokenIterations[request];
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= i) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // -- the queue, and what is held ------------------------------------------------------------------

  /**
   * The queue while iteration `i` runs, first come first; preempted requests stand at the front.
   * @param {number} [t] also those that have arrived by then and that the scheduler has not seen yet
   * @returns {{request: number, isSwapped: boolean, isPreempted: boolean}[]} its entries are not to be changed
   */
  waitingAt(i, t = -1) {
    const { queue } = this.replay.stateAt(i);
    const entries = queue.slice();
    for (let k = this.replay.seenAt(i); k < this.arrivals.length; k++) {
      const { id, arrival, finish } = this.requests[this.arrivals[k]];
      if (arrival > t) break;
      if (finish !== "rejected") entries.push({ request: id, isSwapped: false, isPreempted: false });
    }
    return entries;
  }

  /**
   * The request that owns each KV block while iteration `i` runs (of several, the first), -1 for a free one, whether
   * or not its content is still cached. Blocks after the last that any request holds are left out. Don't write to it.
   */
  ownersAt(i) {
    return this.replay.stateAt(i).owners;
  }

  /** The KV blocks of a request while iteration `i` runs, in the order of its tokens. */
  tableOf(request, i) {
    return this.replay.stateAt(i).tables.get(request) ?? [];
  }

  /** KV blocks that requests hold while iteration `i` runs. */
  heldBlocks(i) {
    return i < 0 ? 0 : this.replay.held[Math.min(i, this.n)];
  }

  // -- why ----------------------------------------------------------------------------------------

  /** The reasons that were noted before iteration `i` ran. @returns {{code, request, numbers, iteration}[]} */
  reasonsAt(i) {
    return this.reasonsByIteration.get(i) ?? [];
  }

  /** The reason that a request waits for at iteration `i`, as last noted; null if none was. */
  waitOf(request, i) {
    const waits = this.waits.get(request) ?? [];
    for (let k = waits.length - 1; k >= 0; k--) if (waits[k].iteration <= i) return waits[k];
    return null;
  }

  /** The reason of a code for a request at or before iteration `i`, latest first; null if there is none. */
  latestReason(request, codes, i) {
    const reasons = this.reasonsOfRequest.get(request) ?? [];
    for (let k = reasons.length - 1; k >= 0; k--) {
      if (reasons[k].iteration <= i && codes.includes(reasons[k].code)) return reasons[k];
    }
    return null;
  }

  /** A reason as `Reason.sentence` in decisions/reasons.py reads it. */
  sentence({ code, request, numbers }) {
    const { preemptsItself, nothingKept } = this.words;
    const special = numbers.for_request === request ? preemptsItself[code] : numbers.kept === 0 ? nothingKept[code] : undefined;
    return (special ?? this.words.templates[code]).replace(/\{(\w+)(?::([^}]*))?\}/g, (_, name, noun) => {
      if (name === "request") return request < 0 ? "" : `r${request}`;
      const value = numbers[name];
      const digits = value.toLocaleString("en-US");
      return noun ? `${digits} ${noun}${value === 1 ? "" : "s"}` : digits;
    });
  }

  // -- inside -------------------------------------------------------------------------------------

  #iterations(columns) {
    this.n = columns.duration_ns.length;
    this.duration = columns.duration_ns;
    this.executor = columns.executor_ns;
    this.stretch = columns.stretch_ns;
    this.flops = columns.flops;
    this.bytesWeights = columns.bytes_weights;
    this.bytesKv = columns.bytes_kv;
    this.bytesActivations = columns.bytes_activations;
    this.start = new Float64Array(this.n);
    this.end = new Float64Array(this.n);
    let time = 0;
    for (let i = 0; i < this.n; i++) {
      this.start[i] = time += columns.gap_ns[i];
      this.end[i] = time += this.duration[i];
    }
    this.endTime = time;
  }

  #entries(columns) {
    this.entries = {};
    for (const name of ["iteration", "slot", "request", "phase", "start", "tokens", "padding", "generated", "rejected"]) {
      this.entries[name] = Int32Array.from(columns[`entries.${name}`]);
    }
    const { slot, iteration, request, generated } = this.entries;
    const bySlot = group(slot, this.slots);
    this.rowsOfSlot = (index) => bySlot.of(index);
    this.byIteration = group(iteration, this.n);
    this.byRequest = group(request, this.requests.length);
    this.byRequest.rows = sortedBy(this.byRequest, (row) => iteration[row]);
    this.tokenIterations = this.requests.map(({ id }) =>
      Array.from(this.rowsOf(id)).flatMap((row) => Array(generated[row]).fill(iteration[row])),
    );
  }

  #decisions(columns) {
    const { codes, numbers: names } = this.words;
    this.blocks = {};
    for (const name of ["iteration", "block", "request", "event"]) this.blocks[name] = columns[`blocks.${name}`];
    this.reasons = [];
    this.reasonsByIteration = new Map();
    this.reasonsOfRequest = new Map();
    this.waits = new Map();
    let next = 0;
    columns["reasons.code"].forEach((number, row) => {
      const code = codes[number];
      const numbers = {};
      for (const name of names[code]) numbers[name] = columns["reasons.numbers"][next++];
      const reason = { code, request: columns["reasons.request"][row], numbers, iteration: columns["reasons.iteration"][row] };
      this.reasons.push(reason);
      push(this.reasonsByIteration, reason.iteration, reason);
      if (reason.request >= 0) push(this.reasonsOfRequest, reason.request, reason);
      if (code.startsWith("waits_")) push(this.waits, reason.request, reason);
    });
    this.arrivals = this.#arrivals();
    this.replay = new Replay(this);
    this.numWaiting = this.replay.numWaiting;
    this.events = this.#events();
  }

  /** Requests in the order in which the scheduler saw them, and then those that it never saw, by arrival. */
  #arrivals() {
    const seen = new Set(this.reasons.filter(({ code }) => isArrival(code)).map(({ request }) => request));
    const others = this.requests.filter(({ id }) => !seen.has(id)).sort((a, b) => a.arrival - b.arrival || a.id - b.id);
    return [...seen, ...others.map(({ id }) => id)];
  }

  /** Iterations at which something of each kind happened, in order. */
  #events() {
    const at = (test) => [...new Set(this.reasons.filter(test).map((reason) => reason.iteration))];
    const { iteration, phase } = this.entries;
    const stalls = new Set(iteration.filter((_, row) => phase[row] === STALLED));
    for (let i = 0; i < this.n; i++) if (this.stretch[i] > 0.5 * this.duration[i]) stalls.add(i);
    return {
      arrival: at(({ code }) => code === "queued"),
      admission: at(({ code }) => code === "admitted" || code === "resumed"),
      // A finish is noted when its step has ended: the step is the one before.
      finish: at(({ code }) => isDone(code)).map((i) => i - 1),
      // The first of every row of stalled iterations.
      stall: [...stalls].sort((a, b) => a - b).filter((i) => !stalls.has(i - 1)),
      preemption: at(({ code }) => code.startsWith("preempted_")),
    };
  }

  #latestRow(request, i) {
    const rows = this.rowsOf(request);
    const { iteration } = this.entries;
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (iteration[rows[middle]] <= i) low = middle + 1;
      else high = middle;
    }
    return low ? rows[low - 1] : -1;
  }
}

function push(map, key, value) {
  if (map.has(key)) map.get(key).push(value);
  else map.set(key, [value]);
}
