// Questions about the next step, from any recording: always the same ones for the same run.

import { threeFigures } from "../core/format.js";
import { momentsAt, scatter } from "./moments.js";

const MOST_QUESTIONS = 20;
const FEWEST_QUESTIONS = 14; // in a run that is long enough for them

// A guess of a duration counts fully within 10 % and not at all beyond a factor of 2; it is right within 25 %.
const FULL_MARKS = -Math.log(0.9);
const NO_MARKS = Math.log(2);
const RIGHT_WITHIN = 0.25;

/**
 * @typedef {object} Question
 * @property {string} id
 * @property {"slot" | "token" | "duration" | "preemption"} kind
 * @property {number} iteration the step about to run; the prompt and the options tell nothing of it
 * @property {string} prompt
 * @property {{value: string, label: string}[] | null} options null: the answer is a number
 * @property {string | null} unit of the number
 * @property {string | number} answer a value of `options`, or the number
 * @property {() => string} explanation
 */

/**
 * What to ask about a run: one question from each of 14 to 20 stretches of equal length, so that kinds
 * and answers take turns. A stretch where only the duration could be asked once more is passed over.
 * @returns {Question[]} by iteration
 */
export function questionsOf(run) {
  const moments = [];
  for (let i = 1; i < run.n; i++) moments.push(...momentsAt(run, i));
  const count = Math.min(MOST_QUESTIONS, Math.max(FEWEST_QUESTIONS, Math.round(run.n / 25)), Math.ceil(run.n / 3));
  return chosenMoments(moments, run.n, count).map(asQuestion);
}

function asQuestion({ kind, iteration, ask }) {
  return { id: `${kind}-${iteration}`, kind, iteration, unit: kind === "duration" ? "ms" : null, ...ask() };
}

/** One moment of each stretch: of the kind and sort asked least so far, the rarest of these, the weightiest. */
function chosenMoments(moments, n, count) {
  const total = new Map();
  const asked = new Map();
  const add = (counts, name) => counts.set(name, (counts.get(name) ?? 0) + 1);
  const sortOf = ({ kind, sort }) => `${kind} ${sort}`;
  for (const moment of moments) add(total, sortOf(moment));
  const rank = (moment) => [
    (asked.get(moment.kind) ?? 0) + (asked.get(sortOf(moment)) ?? 0),
    total.get(sortOf(moment)),
    -moment.weight,
    scatter(moment.iteration, 3),
  ];
  const chosen = [];
  let next = 0;
  for (let stretch = 1; stretch <= count; stretch++) {
    const offered = [];
    while (next < moments.length && moments[next].iteration * count < stretch * n) offered.push(moments[next++]);
    const open = offered.filter(({ kind }) => kind !== "duration" || (asked.get("duration") ?? 0) < count / 2);
    if (!open.length) continue;
    const ranked = open.map((moment) => ({ moment, key: rank(moment) }));
    const { moment } = ranked.reduce((a, b) => (isBefore(b.key, a.key) ? b : a));
    chosen.push(moment);
    add(asked, moment.kind);
    add(asked, sortOf(moment));
  }
  return chosen;
}

function isBefore(a, b) {
  const place = a.findIndex((value, k) => value !== b[k]);
  return place >= 0 && a[place] < b[place];
}

/**
 * How good an answer is.
 * @param {Question} question
 * @param {string | number} given a value of its options, or a number in its unit
 * @returns {{right: boolean, credit: number, answerLabel: string}} credit from 0 to 1
 */
export function grade(question, given) {
  const { options, unit, answer } = question;
  if (options) {
    const right = given === answer;
    return { right, credit: right ? 1 : 0, answerLabel: options.find(({ value }) => value === answer).label };
  }
  const answerLabel = `${threeFigures(answer)} ${unit}`;
  const guess = Number(given);
  if (!(guess > 0) || !Number.isFinite(guess)) return { right: false, credit: 0, answerLabel };
  const off = Math.abs(Math.log(guess / answer));
  const credit = Math.min(1, Math.max(0, (NO_MARKS - off) / (NO_MARKS - FULL_MARKS)));
  return { right: Math.abs(guess / answer - 1) <= RIGHT_WITHIN, credit, answerLabel };
}
