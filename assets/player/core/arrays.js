// Small numeric helpers over typed arrays.

/** Running sums. */
export function cumulative(values) {
  const sums = new Float64Array(values.length);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sums[i] = sum += values[i];
  return sums;
}

/**
 * Rows of a table by the number in one of its columns (below `count`), in their order.
 * `group(slot, 8).of(3)` are the rows of slot 3.
 */
export function group(keys, count) {
  const offsets = new Int32Array(count + 1);
  for (let row = 0; row < keys.length; row++) offsets[keys[row] + 1]++;
  for (let key = 0; key < count; key++) offsets[key + 1] += offsets[key];
  const next = offsets.slice(0, count);
  const rows = new Int32Array(keys.length);
  for (let row = 0; row < keys.length; row++) rows[next[keys[row]]++] = row;
  return {
    rows,
    offsets,
    of(key) {
      return key < 0 || key >= count ? this.rows.subarray(0, 0) : this.rows.subarray(offsets[key], offsets[key + 1]);
    },
  };
}

/** The rows of a group, those of every key by the value that `rank` gives them. */
export function sortedBy(grouped, rank) {
  const rows = new Int32Array(grouped.rows.length);
  for (let key = 0; key + 1 < grouped.offsets.length; key++) {
    rows.set([...grouped.of(key)].sort((a, b) => rank(a) - rank(b)), grouped.offsets[key]);
  }
  return rows;
}

/**
 * The percentile of all samples up to and with each iteration, interpolated linearly as numpy does.
 * @param {{i: number, value: number}[]} samples
 * @returns {Float64Array} (n,) NaN until there is a sample
 */
export function runningPercentile(samples, n, share) {
  const ranked = samples.map((sample) => sample.value).sort((a, b) => a - b);
  const place = new Map();
  const rankOf = (value) => {
    const rank = place.get(value) ?? lowerBound(ranked, value);
    place.set(value, rank + 1);
    return rank;
  };
  const inOrder = [...samples].sort((a, b) => a.i - b.i);
  const tree = new CountTree(ranked.length);
  const out = new Float64Array(n).fill(NaN);
  let next = 0;
  for (let i = 0; i < n; i++) {
    for (; next < inOrder.length && inOrder[next].i <= i; next++) tree.add(rankOf(inOrder[next].value));
    if (!next) continue;
    const at = share * (next - 1);
    const low = ranked[tree.nth(Math.floor(at))];
    const high = ranked[tree.nth(Math.ceil(at))];
    out[i] = low + (high - low) * (at - Math.floor(at));
  }
  return out;
}

function lowerBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Counts by rank, and the rank of the nth: a Fenwick tree. */
class CountTree {
  constructor(size) {
    this.counts = new Int32Array(size + 1);
    this.top = 1;
    while (this.top * 2 <= size) this.top *= 2;
  }

  add(rank) {
    for (let node = rank + 1; node < this.counts.length; node += node & -node) this.counts[node]++;
  }

  /** Rank of the nth sample, n from 0. */
  nth(n) {
    let node = 0;
    for (let step = this.top; step > 0; step >>= 1) {
      if (node + step < this.counts.length && this.counts[node + step] <= n) {
        node += step;
        n -= this.counts[node];
      }
    }
    return node;
  }
}
