// Questions with one right answer.

import { el } from "../player/core/dom.js";
import { orderCard } from "./block_order.js";
import { numberCard } from "./block_predict.js";
import { Card, commitButton } from "./card.js";
import { safeHtml, shuffledOrder } from "./lesson_parts.js";
import { pollOptions } from "./poll.js";
import { createWhiteboard, WHITEBOARD_PAD } from "./whiteboard.js";

export function quizBlock(block, context) {
  const kicker = context.words("question");
  if (block.type === "order") return orderCard(block, context, kicker);
  if (block.type === "schedule") return scheduleCard(block, context, kicker);
  if (block.type === "number") {
    const grade = (factor) => factor <= block.tolerance;
    return numberCard(block, context, { kicker, html: block.explain_html, grade, right: "number_right" });
  }
  return choiceCard(block, context, kicker);
}

function choiceCard(block, context, kicker) {
  const { words } = context;
  const isMany = block.options.filter((option) => option.right).length > 1;
  const order = shuffledOrder(block.options.length, `${context.doc.id} ${block.key}`);
  const name = `mbl-choice-${context.doc.id}-${block.key}`;
  const rows = order.map((index, place) => {
    const letter = String.fromCharCode(65 + place);
    const option = block.options[index];
    const input = el("input", { type: isMany ? "checkbox" : "radio", name });
    const sign = el("span", { class: "mbl-sign" });
    const why = el("div", { class: "mbl-why" });
    const element = el("div", { class: "mbl-option" }, el("label", {}, input, el("span", { class: "mbl-letter", text: letter }), safeHtml("span", "mbl-option-text", option.html), sign), why);
    return { index, letter, option, input, sign, why, element };
  });
  const chosen = () => rows.filter(({ input }) => input.checked).map(({ index }) => index).sort((a, b) => a - b);
  const commit = commitButton(words, () => {
    const answer = chosen();
    if (!answer.length) card.complain(words("choice_missing"));
    else card.commit(rows.every(({ option, input }) => option.right === input.checked), answer);
  });
  const mark = (isMarked) => {
    for (const { option, input, sign, why, element } of rows) {
      element.classList.toggle("mbl-is-right", isMarked && option.right);
      element.classList.toggle("mbl-is-wrong", isMarked && !option.right && input.checked);
      sign.textContent = isMarked ? (option.right ? words("sign_right") : input.checked ? words("sign_wrong") : "") : "";
      why.replaceChildren(...(isMarked && option.why_html ? [safeHtml("div", "", option.why_html)] : []));
      if (!isMarked) input.checked = false;
    }
  };
  const lock = (isLocked) => {
    commit.hidden = isLocked;
    for (const { input } of rows) input.disabled = isLocked;
  };
  const restore = (answer) => {
    if (!Array.isArray(answer)) throw new TypeError("expected a list");
    for (const { index, input } of rows) input.checked = answer.includes(index);
  };
  const parts = {
    verdict: (right) => words(right ? "quiz_right" : "quiz_wrong"),
    reveal: () => safeHtml("div", "mbl-text", block.explain_html),
    mark, lock, restore,
  };
  const card = new Card(block, context, { kicker, parts });
  const legend = el("legend", { text: words(isMany ? "choose_all" : "choose_one") });
  card.controls.append(el("fieldset", {}, legend, ...rows.map(({ element }) => element)), commit);
  card.begin();
  return { element: card.element, card, poll: rows.map(({ letter, option }) => ({ text: letter, isRight: Boolean(option.right) })) };
}

function scheduleCard(block, context, kicker) {
  const { words, doc } = context;
  const host = el("div", { class: "mbl-board" });
  let board = null;
  const draw = () => {
    host.replaceChildren();
    board = createWhiteboard(host, block.schedule, {
      strings: doc.strings,
      // Every check comes here; a schedule that is wrong may be put right.
      onDone: ({ right, shown }) => { if (right || shown) card.commit(right, true); },
    });
  };
  const parts = {
    verdict: (right) => words(right ? "quiz_right" : "quiz_wrong"),
    reveal: () => safeHtml("div", "mbl-text", block.explain_html),
    lock: (isLocked) => (isLocked ? board.lock() : draw()),
    mark: (isMarked) => { if (isMarked) board.finish(); },
    restore: () => {},
  };
  const card = new Card(block, context, { kicker, parts });
  card.element.classList.add("mbl-broad");
  card.controls.append(host);
  draw();
  card.begin();
  return { element: card.element, card, poll: cellsFor(block, context) };
}

/** What may stand in the first cell that is another than the one before it. */
function cellsFor({ schedule, key }, { words, doc }) {
  const { solution, requests } = schedule;
  const cells = solution.flatMap((row, step) => row.map((what, slot) => ({ step, slot, what })));
  const cell = cells.find(({ step, slot, what }) => step > 0 && what !== solution[step - 1][slot]) ?? cells[0];
  const inWords = (what) => words("whiteboard_cell", { ...cell, what: what === WHITEBOARD_PAD ? words("whiteboard_pad") : what || words("whiteboard_idle") });
  const others = [...requests.map(({ id }) => id), WHITEBOARD_PAD, ""].filter((what) => what !== cell.what);
  return pollOptions(inWords(cell.what), others.map(inWords), `${doc.id} ${key}`);
}
