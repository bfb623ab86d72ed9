// Reading the bytes that minibatch/ui/player/payload.py writes.

import { Run } from "./run.js";

const NEWLINE = 10;

/**
 * Unpack a comparison.
 * @param {Uint8Array} bytes as `pack` in payload.py made them
 * @returns {Promise<object>} the JSON head, its `runs` replaced by `Run`s, and `end`: ns of the longest run
 */
export async function unpack(bytes) {
  const { head, reader } = await inflate(bytes);
  return comparisonOf(head, head.runs.map((meta) => reader.columns(meta.columns)));
}

/** @returns {Promise<{head: object, reader: ColumnReader}>} the JSON head, and what reads the columns behind it */
export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  const split = data.indexOf(NEWLINE);
  const head = JSON.parse(new TextDecoder().decode(data.subarray(0, split)));
  return { head, reader: new ColumnReader(data, split + 1) };
}

/** The head with `Run`s, made of the columns of each. */
export function comparisonOf(head, columns) {
  const runs = head.runs.map((meta, k) => new Run(meta, columns[k], head));
  return { ...head, runs, end: Math.max(1, ...runs.map((run) => run.endTime)) };
}

class ColumnReader {
  constructor(data, offset) {
    this.data = data;
    this.offset = offset;
  }

  /** The next columns, by name. @param {Object<string, number>} lengths */
  columns(lengths) {
    return Object.fromEntries(Object.entries(lengths).map(([name, length]) => [name, this.column(length)]));
  }

  /** The next column: running sums of zigzag varints. Sums stay below 2**53, so doubles hold them exactly. */
  column(length) {
    const values = new Float64Array(length);
    let sum = 0;
    for (let row = 0; row < length; row++) {
      sum += this.varint();
      values[row] = sum;
    }
    return values;
  }

  varint() {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.data[this.offset++];
      value += (byte & 127) * scale;
      if (byte < 128) break;
      scale *= 128;
    }
    // Zigzag: even numbers are positive. Arithmetic, because bit operators stop at 32 bits.
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
