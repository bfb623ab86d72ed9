// Numbers as people read them, in the same words as minibatch/analysis/formats.py.

export const NOTHING = "–";

// Kept, because `toLocaleString` makes one anew at every call.
const WHOLE = new Intl.NumberFormat("en-US");
const decimals = new Map();

/** At most three significant figures, without an exponent; a dash for what is not a number. */
export function threeFigures(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(3));
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded))));
  return withDecimals(digits).format(rounded);
}

function withDecimals(digits) {
  if (!decimals.has(digits)) {
    const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    decimals.set(digits, format);
  }
  return decimals.get(digits);
}

/** A share from 0 to 1 in whole per cent, with one decimal below ten. */
export function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return NOTHING;
  const value = share * 100;
  return value >= 9.95 || value === 0 ? value.toFixed(0) : value.toFixed(1);
}

/** Nanoseconds in the unit that suits them: 0.840 ms, 61.5 ms, 1.46 s. */
export function duration(ns) {
  if (!Number.isFinite(ns)) return NOTHING;
  return ns < 1e9 ? `${threeFigures(ns / 1e6)} ms` : `${threeFigures(ns / 1e9)} s`;
}

/** A time on the clock, with as many decimals as tell steps apart: 0.790 s. */
export function clock(ns) {
  return `${(ns / 1e9).toFixed(3)} s`;
}

export function count(value) {
  return WHOLE.format(value);
}

/** 1 request, 32 requests. */
export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Bytes in decimal units: 15.8 MB. */
export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let power = 0;
  while (number >= 1000 && power < units.length - 1) {
    number /= 1000;
    power++;
  }
  return `${threeFigures(number)} ${units[power]}`;
}

/** "a", "a and b", "a, b and c"; more than `most` are counted. */
export function list(words, most = 6) {
  if (words.length > most) words = [...words.slice(0, most - 1), `${words.length - most + 1} more`];
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}
