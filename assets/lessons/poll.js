// A show of hands, counted by the presenter before anything is told.

import { el } from "../player/core/dom.js";
import { shuffledOrder } from "./lesson_parts.js";

const MOST_HANDS = 4;

/** What to vote for, as {text, isRight}: the right option among a few others, in an order that gives nothing away. */
export function pollOptions(right, others, seed) {
  const chosen = shuffledOrder(others.length, seed).slice(0, MOST_HANDS - 1).map((k) => others[k]);
  const options = [{ text: right, isRight: true }, ...chosen.map((text) => ({ text, isRight: false }))];
  return shuffledOrder(options.length, `poll ${seed}`).map((k) => options[k]);
}

/** Counts for some options, as bars; the right one is marked once the card has told it. Nothing of it is kept. */
export function handsPoll(options, words) {
  const rows = options.map(({ text: option, isRight }) => {
    const input = el("input", { type: "number", min: 0, max: 9999, step: 1, inputmode: "numeric", "aria-label": words("hands_for", { option }), on: { input: () => draw() } });
    const fill = el("i");
    const share = el("span", { class: "mbl-share" });
    return { input, fill, share, element: el("li", { "data-right": isRight || null }, el("span", { class: "mbl-poll-text", text: option }), input, el("span", { class: "mbl-poll-bar" }, fill), share) };
  });
  const countOf = ({ input }) => Math.max(0, Math.min(9999, Math.floor(input.valueAsNumber) || 0));
  const draw = () => {
    const total = rows.reduce((sum, row) => sum + countOf(row), 0);
    for (const row of rows) {
      const share = total ? countOf(row) / total : 0;
      row.fill.style.width = `${100 * share}%`;
      row.share.textContent = total ? `${Math.round(100 * share)} %` : "";
    }
  };
  return el("div", {}, el("p", { class: "mbl-kicker", text: words("hands") }), el("ul", { class: "mbl-hands" }, ...rows.map(({ element }) => element)));
}
