// What the panel of predictions shows: a question as a form, and how the answer came out.

import { el } from "../core/dom.js";
import { percent, threeFigures } from "../core/format.js";

const CLAIMS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.99];
const MIN_FOR_TABLE = 5; // answers before calibration says anything
let lastForm = 0; // radio buttons of two players on one page are not to know of each other

/** How sure one can be of an answer: from chance upwards. @returns {number[]} */
export function claimsFor(question) {
  if (!question.options) return [0.1, 0.3, ...CLAIMS];
  const chance = Math.round(100 / question.options.length) / 100;
  return chance < 0.5 ? [chance, ...CLAIMS] : CLAIMS;
}

/**
 * A question as a form.
 * @param {string} where which run and step
 * @param {(given: string | number, confidence: number) => void} onCommit
 * @param {() => void} onSkip
 */
export function questionForm(question, where, onCommit, onSkip) {
  const name = `mbp-${++lastForm}`;
  const missing = el("p", { class: "mbp-missing", role: "alert" });
  const form = el(
    "form",
    { class: "mbp-question", novalidate: true, autocomplete: "off" },
    el("p", { class: "mbp-where", text: where }),
    answerField(question, `${name}-answer`),
    choice("How sure are you?", "mbp-sure", `${name}-sure`, claimsFor(question).map(claimOption)),
    missing,
    el(
      "p",
      { class: "mbp-buttons" },
      el("button", { type: "submit", class: "mbp-primary", text: "Commit" }),
      el("button", { type: "button", class: "mbp-quiet", text: "Skip", on: { click: onSkip } }),
    ),
  );
  const chosen = (suffix) => form.querySelector(`input[name="${name}-${suffix}"]:checked`)?.value;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = question.options ? chosen("answer") : numberIn(form.querySelector(".mbp-number").value);
    const sure = chosen("sure");
    const wanted = question.options ? "Choose an answer." : "Enter a number above 0, and below a million.";
    if (given === undefined || given >= 1e6) complain(wanted, ".mbp-answer input");
    else if (sure === undefined) complain("Say how sure you are.", ".mbp-sure input");
    else onCommit(given, Number(sure));
  });
  function complain(text, selector) {
    missing.textContent = text;
    form.querySelector(selector).focus();
  }
  return form;
}

function answerField(question, name) {
  if (question.options) return choice(question.prompt, "mbp-answer", name, question.options);
  const attributes = { class: "mbp-number", type: "text", inputmode: "decimal", name, "aria-label": question.unit };
  return el(
    "fieldset",
    { class: "mbp-answer" },
    el("legend", { text: question.prompt }),
    el("label", { class: "mbp-measure" }, el("input", attributes), el("span", { text: question.unit })),
  );
}

function choice(legend, className, name, options) {
  const radios = options.map(({ value, label }) =>
    el("label", {}, el("input", { type: "radio", name, value }), el("span", { text: label })),
  );
  const box = el("div", { class: "mbp-options" }, ...radios);
  return el("fieldset", { class: className }, el("legend", { text: legend }), box);
}

function claimOption(share, place) {
  return { value: share, label: `${percent(share)} %${place === 0 && share < 0.5 ? " (a guess)" : ""}` };
}

/** A number above 0 with a point or a comma; undefined where it is none. */
function numberIn(text) {
  const value = Number(text.trim().replace(",", "."));
  return text.trim() && value > 0 && Number.isFinite(value) ? value : undefined;
}

/**
 * How an answer came out.
 * @param {object} outcome question, given, confidence, and `grade`'s right, credit, answerLabel
 * @param {import("./score.js").Score} score
 */
export function resultCard({ question, given, confidence, right, credit, answerLabel }, score, onGoOn, onClear) {
  const { options, unit } = question;
  const yours = options ? options.find(({ value }) => value === given).label : `${threeFigures(given)} ${unit}`;
  const goOn = el("button", { type: "button", class: "mbp-primary", text: "Go on", on: { click: onGoOn } });
  const partly = !right && credit > 0 ? ` ${percent(credit)} % of the marks for being near.` : "";
  return el(
    "div",
    { class: "mbp-outcome" },
    el("p", { class: "mbp-where", text: question.prompt }),
    el(
      "p",
      { class: "mbp-answered" },
      el("strong", { class: right ? "mbp-right" : "mbp-wrong", text: right ? "Right: " : "Wrong: " }),
      el("span", { text: `${answerLabel}.${right && options ? "" : ` You said ${yours}.`}${partly}` }),
    ),
    el("p", { class: "mbp-explanation", text: question.explanation() }),
    calibrationNote(score, confidence),
    el("p", { class: "mbp-buttons" }, goOn),
    calibrationTable(score, onClear),
  );
}

function calibrationNote(score, confidence) {
  const bin = score.calibrationAt(confidence);
  if (!bin) return null;
  const said = `you said ${percent(bin.claimed)} %`;
  const text =
    bin.count === 1
      ? `This is the first time that ${said}.`
      : `When ${said}, you were right ${percent(bin.observed)} % of ${bin.count} times.`;
  return el("p", { class: "mbp-calibration", text });
}

function calibrationTable(score, onClear) {
  const { asked, brier, calibration } = score.summary();
  if (asked < MIN_FOR_TABLE) return null;
  const cells = (tag, texts) => el("tr", {}, ...texts.map((text) => el(tag, { text, scope: tag === "th" && "col" })));
  const rows = calibration.map(({ claimed, observed, count }) =>
    cells("td", [`${percent(claimed)} %`, `${percent(observed)} %`, String(count)]),
  );
  return el(
    "details",
    { class: "mbp-table" },
    el("summary", { text: `How sure you were, and how often right, in ${asked} answers` }),
    el("table", {}, el("thead", {}, cells("th", ["you said", "you were right", "answers"])), el("tbody", {}, ...rows)),
    el("p", { text: `Brier score ${threeFigures(brier)}: 0 is perfect, 0.25 is what always saying 50 % gives.` }),
    el("button", { type: "button", class: "mbp-quiet", text: "Forget my answers", on: { click: onClear } }),
  );
}
