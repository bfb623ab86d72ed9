// What the blocks of a lesson share: words, HTML that Python made safe, and chance that repeats itself.

import { el } from "../player/core/dom.js";

/** A function that gives an interface string, its {names} filled in; a missing one shows its key. */
export function wordsOf(strings) {
  return (key, values = {}) => (strings?.[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** An element that holds HTML made by minibatch/learning, where nothing of the author's is left as HTML. */
export function safeHtml(tag, className, html) {
  const element = el(tag, { class: className });
  element.innerHTML = html ?? "";
  for (const table of element.querySelectorAll("table")) {
    const frame = el("div", { class: "mbl-wide", tabindex: 0, role: "group", "aria-label": table.querySelector("th")?.textContent || null });
    table.replaceWith(frame);
    frame.append(table);
  }
  return element;
}

/** The order of `count` things, shuffled: the same for the same seed, on every machine. */
export function shuffledOrder(count, seed) {
  let state = hashOf(seed);
  const order = Array.from({ length: count }, (_, k) => k);
  for (let k = count - 1; k > 0; k--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (k + 1));
    [order[k], order[other]] = [order[other], order[k]];
  }
  return order;
}

/** FNV-1a of a text. */
export function hashOf(text) {
  let hash = 2166136261;
  for (const letter of text) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
  return hash;
}

/** How far `guess` is from `answer`, as a factor of at least 1; Infinity where signs differ. */
export function factorBetween(guess, answer) {
  if (guess === answer) return 1;
  const ratio = guess / answer;
  return ratio > 0 && Number.isFinite(ratio) ? Math.max(ratio, 1 / ratio) : Infinity;
}

/** Bytes from base64. */
export function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}
