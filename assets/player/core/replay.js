// The queue and the owner of each KV block at any iteration.

import { group } from "./arrays.js";
import { isArrival } from "./codes.js";

const ACQUIRE = 0; // events of KV blocks, as recording/schema.py numbers them; what is cached is free all the same
const RELEASE = 1;
const CHECKPOINT = 64; // iterations between two remembered states

/**
 * The queue and the owners of blocks change by what the recording notes before each iteration, so a
 * state is the one before it and those notes. A state every CHECKPOINT iterations is remembered.
 *
 * Several requests may own a block: the first of them counts as its owner, and all have it in their tables.
 *
 * held        (n + 1,) KV blocks that requests hold while each iteration runs, and after the last
 * numWaiting  (n + 1,) requests in the queue then
 * blockRows   rows of the table of blocks, by iteration
 * changes     by row of it, the change of blocks held: 1, 0 or -1
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
    this.changes = new Int8Array(run.blocks.block.length);
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
    return { i: -1, queue: [], owners: new Int32Array(this.#numMapped).fill(-1), sharers: new Map(), tables: new Map() };
  }

  /** Make a state the next one; returns the change of blocks held, and how many requests came. */
  #advance(state) {
    const i = ++state.i;
    let arrived = 0;
    for (const { code, request } of this.run.reasonsAt(i)) {
      const isSwapped = code === "preempted_swap";
      if (code === "queued") state.queue.push({ request, isSwapped: false, isPreempted: false });
      else if (code.startsWith("preempted_")) this.#queueAgain(state.queue, { request, isSwapped, isPreempted: true });
      else if (code === "admitted" || code === "resumed" || code === "aborted") {
        state.queue = state.queue.filter((entry) => entry.request !== request);
      }
      if (isArrival(code)) arrived++;
    }
    return { change: this.#moveBlocks(state), arrived };
  }

  /** A preempted request waits where the policy's rules say. */
  #queueAgain(queue, entry) {
    const { returns } = this.run;
    if (returns === "tail" && !entry.isSwapped) queue.push(entry);
    else if (returns === "arrival" && !entry.isSwapped) {
      const later = queue.findIndex(({ request }) => request > entry.request);
      queue.splice(later < 0 ? queue.length : later, 0, entry);
    } else queue.unshift(entry);
  }

  #moveBlocks({ i, owners, sharers, tables }) {
    let total = 0;
    const { block: blocks, request: requests, event: events } = this.run.blocks;
    for (const row of this.blockRows.of(i)) {
      const block = blocks[row];
      const request = requests[row];
      const wasHeld = owners[block] >= 0;
      if (events[row] === ACQUIRE) {
        tables.set(request, [...(tables.get(request) ?? []), block]);
        if (owners[block] < 0) owners[block] = request;
        else sharers.set(block, [...(sharers.get(block) ?? []), request]);
      } else if (events[row] === RELEASE) {
        tables.set(request, tables.get(request).filter((held) => held !== block));
        const others = sharers.get(block) ?? [];
        const [heir = -1, ...rest] = owners[block] === request ? others : [owners[block], ...others.filter((id) => id !== request)];
        owners[block] = heir;
        if (rest.length) sharers.set(block, rest);
        else sharers.delete(block);
      }
      this.changes[row] = (owners[block] >= 0) - wasHeld;
      total += this.changes[row];
    }
    return total;
  }
}

function copyOf(state) {
  const { i, queue, owners, sharers, tables } = state;
  return { i, queue: [...queue], owners: owners.slice(), sharers: new Map(sharers), tables: new Map(tables) };
}
