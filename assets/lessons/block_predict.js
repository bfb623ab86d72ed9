// A number said before it is shown.

import { el } from "../player/core/dom.js";
import { Card, numberEntry } from "./card.js";
import { factorBetween, safeHtml } from "./lesson_parts.js";
import { withUnit } from "./numbers.js";

const RIGHT_FACTOR = 1.25;
const CLOSE_FACTOR = 2;

export function predictBlock(block, context) {
  return numberCard(block, context, {
    kicker: context.words("predict"),
    right: "predict_right",
    html: block.reveal_html,
    grade: (factor) => (factor <= RIGHT_FACTOR ? true : factor <= CLOSE_FACTOR ? null : false),
  });
}

/** A question for a number. @param {(factor: number) => boolean|null} grade */
export function numberCard(block, context, { kicker, html, grade, right: rightKey }) {
  const { words, marks } = context;
  const entry = numberEntry(context, words("your_number"), block.unit, () => {
    const value = entry.value();
    if (value === null) card.complain(words("number_missing"));
    else card.commit(grade(factorBetween(value, block.answer)), value);
  });
  const verdict = (right, answer) => {
    const said = { said: withUnit(answer, block.unit, marks), answer: block.answer_words };
    const factor = factorBetween(answer, block.answer);
    const outcome = words(right ? rightKey : right === null ? "predict_close" : "predict_wrong", said);
    const times = withUnit(factor, "x", marks);
    if (right || !Number.isFinite(factor)) return outcome;
    return `${outcome} ${words(Math.abs(answer) < Math.abs(block.answer) ? "too_low" : "too_high", { times })}`;
  };
  const reveal = (answer) => el("div", {},
    el("p", { class: "mbl-answer" }, el("span", { text: `${words("answer")} ` }), el("strong", { text: block.answer_words })),
    answer === null ? null : logStrip(answer, block, context), safeHtml("div", "mbl-text", html));
  const restore = (answer) => {
    if (!Number.isFinite(answer)) throw new TypeError("expected a number");
    entry.show(answer);
  };
  const card = new Card(block, context, { kicker, parts: { verdict, reveal, restore, lock: entry.lock } });
  card.controls.append(entry.element);
  card.begin();
  return { element: card.element, card, poll: guessesFor(block, context) };
}

/** Where the guess lies from the answer, in factors of two to either side. */
function logStrip(answer, block, { words, marks }) {
  const distance = Math.log2(answer / block.answer);
  if (!Number.isFinite(distance)) return null;
  const span = Math.max(2, Math.ceil(Math.abs(distance)));
  const at = (octaves) => `${50 + (Math.max(-span, Math.min(span, octaves)) / span) * 48}%`;
  const tick = (octaves) => el("i", { class: "mbl-tick", style: `left:${at(octaves)}` });
  const ticks = Array.from({ length: 2 * span + 1 }, (_, k) => tick(k - span));
  const close = el("i", { class: "mbl-close-band", style: `left:${at(-1)};right:calc(100% - ${at(1)})` });
  return el("div", { class: "mbl-strip", "aria-hidden": "true" }, close, ...(span <= 12 ? ticks : []),
    el("b", { class: "mbl-strip-answer", style: "left:50%" }), el("b", { class: "mbl-strip-guess", style: `left:${at(distance)}` }),
    el("span", { style: `left:${at(distance)}`, class: distance > 0 ? "mbl-strip-left" : "mbl-strip-right", text: words("you_said", { said: withUnit(answer, block.unit, marks) }) }));
}

/** Four numbers to vote for, each twice the one before; the answer is one of them, and not always in one place. */
function guessesFor({ answer, unit, key }, context) {
  if (!(answer > 0)) return null;
  const isCount = Number.isInteger(answer);
  const most = unit === "%" && answer <= 100 ? 100 : Infinity;
  const places = [0, 1, 2, 3].filter((place) => answer * 2 ** (3 - place) <= most && !(isCount && answer < 2 ** place));
  const place = places.length ? places[context.chance({ key }, places.length)] : most === 100 ? 3 : 0;
  const round = (value) => (isCount ? Math.round(value) : Number(value.toPrecision(2)));
  return [0, 1, 2, 3].map((k) => ({
    text: context.words("about", { value: withUnit(round(answer * 2 ** (k - place)), unit, context.marks) }), isRight: k === place,
  }));
}
