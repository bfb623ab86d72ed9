// The KV map and the waiting queue of one lane.

import { Surface } from "../core/dom.js";
import { requestColour, requestInk } from "../core/theme.js";

const MOST_CELLS = 2048; // more blocks than this share cells
const DIM = 0.22;
const QUEUE_DIM = 0.4; // their numbers must still be read

export class Blocks {
  /** @param {import("../core/store.js").Store} store @param {number} lane */
  constructor(store, lane) {
    this.store = store;
    this.lane = lane;
    this.surface = new Surface({ class: "mb-blocks" });
    this.element = this.surface.canvas;
  }

  get run() {
    return this.store.runs[this.lane];
  }

  /** Blocks that one cell stands for. */
  get blocksPerCell() {
    return Math.ceil(this.run.numBlocks / MOST_CELLS);
  }

  prepare(theme, width, height) {
    this.surface.resize(width, height);
    this.theme = theme;
    this.size = cellSize(Math.ceil(this.run.numBlocks / this.blocksPerCell), width, height);
    this.columns = Math.max(1, Math.floor(width / this.size));
    // What each cell shows, so that a frame paints only what changes.
    this.drawn = new Int32Array(Math.ceil(this.run.numBlocks / this.blocksPerCell));
    this.isBlank = true;
  }

  /** Draw the blocks while iteration `i` runs; those of `request` (or -1: all) are lit up. */
  draw(i, request) {
    const { run, blocksPerCell, drawn, isBlank } = this;
    const context = isBlank ? this.surface.clear() : this.surface.context;
    const fill = this.#fills(i);
    const owners = run.ownersAt(i);
    for (let number = 0; number < drawn.length; number++) {
      const block = number * blocksPerCell;
      const owner = blocksPerCell === 1 ? owners[block] ?? -1 : mostCommon(owners, block, blocksPerCell);
      const full = owner < 0 ? 0 : fill.get(block) ?? 1;
      const isDim = request >= 0 && owner !== request;
      const key = owner * 4096 + Math.round(full * 1000) * 2 + isDim;
      if (!isBlank && drawn[number] === key) continue;
      drawn[number] = key;
      this.#paint(context, number, owner, full, isDim);
    }
    this.isBlank = false;
  }

  /** The block at a pixel and its owner. */
  at(i, x, y) {
    const number = Math.floor(y / this.size) * this.columns + Math.floor(x / this.size);
    const block = number * this.blocksPerCell;
    if (Math.floor(x / this.size) >= this.columns || block >= this.run.numBlocks) return { block: -1, request: -1 };
    return { block, request: i < 0 ? -1 : this.run.ownersAt(i)[block] ?? -1 };
  }

  /** How full those blocks are that are not full: the last one of each request, and reserved ones. */
  #fills(i) {
    const fills = new Map();
    if (i < 0 || this.blocksPerCell > 1) return fills;
    const { run } = this;
    for (const row of run.rowsAt(i)) {
      const request = run.entries.request[row];
      const tokens = run.computedTokens(request, i);
      run.tableOf(request, i).forEach((block, k) => {
        const full = (tokens - k * run.blockSize) / run.blockSize;
        if (full < 1) fills.set(block, Math.max(0, full));
      });
    }
    return fills;
  }

  /** A cell of a block that is `full` from 0, only reserved, to 1. */
  #paint(context, number, owner, full, isDim) {
    const { theme, size, columns } = this;
    const gap = size > 5 ? 1.5 : size > 3 ? 1 : 0.5;
    const x = (number % columns) * size;
    const y = Math.floor(number / columns) * size;
    const inner = size - gap;
    context.globalAlpha = 1;
    context.clearRect(x, y, size, size);
    if (owner < 0) {
      context.globalAlpha = isDim ? 0.5 : 1;
      context.fillStyle = theme.lane;
      context.fillRect(x, y, inner, inner);
    } else {
      context.globalAlpha = isDim ? DIM : 1;
      context.fillStyle = requestColour(theme, owner);
      const tall = Math.round(inner * full * 2) / 2;
      context.fillRect(x, y + inner - tall, inner, tall);
      if (full < 1) {
        context.strokeStyle = context.fillStyle;
        context.lineWidth = Math.min(1, size / 6);
        const half = context.lineWidth / 2;
        context.strokeRect(x + half, y + half, inner - 2 * half, inner - 2 * half);
      }
    }
    context.globalAlpha = 1;
  }
}

/** The largest square, in half pixels, of which `count` fit into a rectangle. */
function cellSize(count, width, height) {
  let size = Math.floor(2 * Math.sqrt((width * height) / count)) / 2 + 0.5;
  while (size > 1 && Math.floor(width / size) * Math.floor(height / size) < count) size -= 0.5;
  return Math.min(14, Math.max(1, size));
}

function mostCommon(owners, from, count) {
  const votes = new Map();
  let best = -1;
  for (let block = from; block < Math.min(from + count, owners.length); block++) {
    const owner = owners[block];
    votes.set(owner, (votes.get(owner) ?? 0) + 1);
    if (owner >= 0 && (best < 0 || votes.get(owner) > votes.get(best))) best = owner;
  }
  return best;
}

/** The queue as tokens in the colours of the requests, first come first. */
export class Queue {
  constructor(store, lane) {
    this.store = store;
    this.lane = lane;
    this.surface = new Surface({ class: "mb-queue" });
    this.element = this.surface.canvas;
  }

  prepare(theme, width) {
    this.theme = theme;
    this.size = Math.round(19 * theme.scale);
    this.surface.resize(width, this.size + 2);
    this.drawn = null;
  }

  /** @param {{request: number, isSwapped: boolean, isPreempted: boolean}[]} waiting */
  draw(waiting, request) {
    const { theme, size, surface } = this;
    const room = Math.max(1, Math.floor(surface.width / size));
    this.shown = waiting.length > room ? waiting.slice(0, room - 1) : waiting;
    const looks = this.shown.map((entry) => `${entry.request}${entry.isSwapped ? "s" : entry.isPreempted ? "p" : ""}`);
    const key = `${looks} ${waiting.length} ${request}`;
    if (key === this.drawn) return; // text is slow to draw, and a queue often stays as it is
    this.drawn = key;
    const context = surface.clear();
    context.textAlign = "center";
    context.textBaseline = "middle";
    this.shown.forEach((entry, k) => this.#token(context, entry, k * size + size / 2, request));
    if (this.shown.length < waiting.length) {
      context.fillStyle = theme.muted;
      context.font = `600 ${11 * theme.scale}px ${theme.font}`;
      context.textAlign = "left";
      context.fillText(`+${waiting.length - this.shown.length}`, this.shown.length * size + 2, size / 2 + 1);
    }
    if (!waiting.length) {
      context.fillStyle = theme.muted;
      context.font = `${11 * theme.scale}px ${theme.font}`;
      context.textAlign = "left";
      context.fillText("queue empty", 0, size / 2 + 1);
    }
  }

  at(x) {
    return this.shown?.[Math.floor(x / this.size)]?.request ?? -1;
  }

  #token(context, { request, isSwapped, isPreempted }, x, lit) {
    const { theme, size } = this;
    const radius = size / 2 - 1.5;
    context.globalAlpha = lit >= 0 && lit !== request ? QUEUE_DIM : 1;
    context.fillStyle = requestColour(theme, request);
    context.beginPath();
    // A request that lost its slot is a square: its KV lies in host memory, or is gone.
    if (isPreempted) context.rect(x - radius, size / 2 - radius, 2 * radius, 2 * radius);
    else context.arc(x, size / 2, radius, 0, 7);
    context.fill();
    if (isSwapped) {
      context.strokeStyle = theme.ink;
      context.lineWidth = 1.5;
      context.stroke();
    }
    context.fillStyle = requestInk(theme, request);
    context.font = `600 ${Math.round((request > 99 ? 8 : 10) * theme.scale)}px ${theme.font}`;
    context.fillText(String(request), x, size / 2 + 0.5);
    context.globalAlpha = 1;
  }
}
