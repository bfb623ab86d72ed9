// The queue and the owner of each KV block at any iteration.

import { group } from "./arrays.js";

const CHECKPOINT = 64; // iterations between two remembered states

/**
 * The queue and the owners of blocks change by what the recording notes before each iteration, so a
 * state is the one before it and those notes. A state every CHECKPOINT iterations is remembered.
 *
 * held        (n + 1,) KV blocks that requests hold while each iteration runs, and after the last
 * numWaiting  (n + 1,) requests in the queue then
 * blockRows   rows of the table of blocks, by iteration
 */
export class Replay {
  #numMapped;
  #seen;
  #checkpoints = [];
  #latest;

  /** @param {import("./run.js").Run} run its blocks and reasons are read */
  constructor(run) {
    this.run = run;
    this.#numMapped = run.blocks.block.reduce((most, block) => Math.max(most, block + 1), 0);
    this.blockRows = group(Int32Array.from(run.blocks.iteration), run.n + 1);
    this.held = new Float64Array(run.n + 1);
    this.numWaiting = new Int32Array(run.n + 1);
    this.#seen = new Float64Array(run.n + 1);
    const state = this.#nothing();
    for (let i = 0; i <= run.n; i++) {
      const { change, arrived } = this.#advance(state);
      this.held[i] = (i ? this.held[i - 1] : 0) + change;
      this.#seen[i] = (i ? this.#seen[i - 1] : 0) + arrived;
      this.numWaiting[i] = state.queue.length;
      if (i % CHECKPOINT === 0) this.#checkpoints.push(copyOf(state));
    }
    this.#latest = copyOf(this.#checkpoints[0]);
  }

  /** @returns {{queue: object[], owners: Int32Array, tables: Map<number, number[]>}} while iteration `i` runs */
  stateAt(i) {
    if (i < 0) return this.#nothing();
    i = Math.min(i, this.run.n);
    const checkpoint = this.#checkpoints[Math.floor(i / CHECKPOINT)];
    if (this.#latest.i > i || this.#latest.i < checkpoint.i) this.#latest = copyOf(checkpoint);
    while (this.#latest.i < i) this.#advance(this.#latest);
    return this.#latest;
  }

  /** Requests that the scheduler has queued or rejected by iteration `i`. */
  seenAt(i) {
    return i < 0 ? 0 : this.#seen[Math.min(i, this.run.n)];
  }

  #nothing() {
    return { i: -1, queue: [], owners: new Int32Array(this.#numMapped).fill(-1), tables: new Map() };
  }

  /** Make a state the next one; returns the change of blocks held, and how many requests came. */
  #advance(state) {
    const i = ++state.i;
    let arrived = 0;
    for (const { code, request } of this.run.reasonsAt(i)) {
      const isSwapped = code === "preempted_swap";
      if (code === "queued") state.queue.push({ request, isSwapped: false, isPreempted: false });
      else if (code.startsWith("preempted_")) state.queue.unshift({ request, isSwapped, isPreempted: true });
      else if (code === "admitted" || code === "resumed") {
        state.queue = state.queue.filter((entry) => entry.request !== request);
      }
      if (code === "queued" || code.startsWith("rejected_")) arrived++;
    }
    return { change: this.#moveBlocks(state), arrived };
  }

  #moveBlocks({ i, owners, tables }) {
    let change = 0;
    for (const row of this.blockRows.of(i)) {
      const block = this.run.blocks.block[row];
      const request = this.run.blocks.request[row];
      const before = owners[block];
      if (before >= 0) tables.set(before, tables.get(before).filter((held) => held !== block));
      owners[block] = request;
      if (request >= 0) tables.set(request, [...(tables.get(request) ?? []), block]);
      change += (request >= 0 ? 1 : 0) - (before >= 0 ? 1 : 0);
    }
    return change;
  }
}

function copyOf(state) {
  const { i, queue, owners, tables } = state;
  return { i, queue: [...queue], owners: owners.slice(), tables: new Map(tables) };
}
