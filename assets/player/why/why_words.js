// Words that every sentence about a step uses.

import { duration, list, plural } from "../core/format.js";

/** r4, r7 and 3 more */
export function requestNames(requests, most = 6) {
  return list(Array.from(requests, (request) => `r${request}`), most);
}

/** 18.2 ms measured */
export function timed(run, ns, how = run.clocks) {
  return `${duration(ns)} ${how}`;
}

/** r9's 412 tokens; 430 tokens of r9 and r10 */
export function promptTokens(run, rows) {
  const { tokens, request } = run.entries;
  const sum = rows.reduce((total, row) => total + tokens[row], 0);
  if (rows.length === 1) return `r${request[rows[0]]}'s ${plural(sum, "token")}`;
  return `${plural(sum, "token")} of ${requestNames(rows.map((row) => request[row]), 4)}`;
}

export function promptsOf({ prefills, names }) {
  return prefills.length === 1 ? `${names(prefills)}'s prompt` : `${prefills.length} prompts`;
}

/** The word for one, or for several. */
export function isOrAre(some, one = "is", several = "are") {
  return some.length === 1 ? one : several;
}

/** 0–3, 5 and 6 */
export function ranges(numbers) {
  const words = [];
  for (let from = 0, to = 0; from < numbers.length; from = ++to) {
    while (numbers[to + 1] === numbers[to] + 1) to++;
    if (to - from > 1) words.push(`${numbers[from]}–${numbers[to]}`);
    else words.push(...numbers.slice(from, to + 1).map(String));
  }
  return list(words, 12);
}
