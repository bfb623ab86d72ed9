// Cards: questions and drills that come back when they are about to be forgotten (Leitner's boxes).

import { button, el, setText } from "../player/core/dom.js";
import { changeProgress, readProgress } from "./progress.js";
import { roomHtml, roomWord } from "./whiteboard.js";

const ROOM_DAY_MS = 24 * 3600 * 1000;
/** Days after which a card of each box comes back; box 1 is the first. */
const ROOM_BOX_DAYS = [1, 2, 4, 8, 16];
const ROOM_NEW_CARDS = 10; // new cards a sitting, beside those that are due

/** What a card becomes when it was known or not: {box, due}, due in ms since 1970. */
export function roomCardAfter(card, isKnown, now = Date.now()) {
  const box = isKnown ? Math.min(ROOM_BOX_DAYS.length, (card?.box ?? 0) + 1) : 1;
  return { box, due: isKnown ? now + ROOM_BOX_DAYS[box - 1] * ROOM_DAY_MS : now };
}

/** Every question and drill as {id, topic, front, back, kind}; front and back are HTML. */
export function roomCardsOf(doc) {
  const questions = doc.questions.map((question) => {
    const ideas = question.rubric.map((idea) => `<li>${idea}</li>`).join("");
    const back = `${question.answer_html}<ul>${ideas}</ul>`;
    return { id: `question:${question.id}`, kind: "question", topic: question.topic, front: question.ask_html, back };
  });
  const drills = doc.drills.map((drill) => {
    const back = `<p><b>${roomEscape(drill.answer_words)}</b></p>${drill.explain_html}`;
    return { id: `drill:${drill.id}`, kind: "drill", topic: drill.topic, front: drill.ask_html, back };
  });
  return [...questions, ...drills];
}

/** Move a card to its next box, and remember that. */
export function moveRoomCard(id, isKnown, now = Date.now()) {
  changeProgress((progress) => {
    progress.cards[id] = roomCardAfter(progress.cards[id], isKnown, now);
  });
}

/** Cards to look at now: those due, the longest due first, then some new ones. */
export function dueRoomCards(cards, kept = {}, now = Date.now()) {
  const due = cards.filter(({ id }) => kept[id] && kept[id].due <= now).sort((a, b) => kept[a.id].due - kept[b.id].due);
  return [...due, ...cards.filter(({ id }) => !kept[id]).slice(0, ROOM_NEW_CARDS)];
}

/** The cards as tab-separated text that Anki imports: front, back, tags. */
export function roomAnkiText(cards) {
  const field = (html) => html.replace(/[\t\r\n]+/g, " ").trim();
  const tag = (topic) => topic.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  const rows = cards.map(({ front, back, kind, topic }) => [field(front), field(back), `minibatch ${kind} ${tag(topic)}`].join("\t"));
  return ["#separator:tab", "#html:true", "#tags column:3", ...rows, ""].join("\n");
}

function roomEscape(text) {
  return text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);
}

/** The view of the cards; `show()` when it comes into sight. */
export class RoomCards {
  constructor(doc) {
    this.word = (key, values) => roomWord(doc.strings, key, values);
    this.cards = roomCardsOf(doc);
    this.stats = el("p", { class: "mbr-muted" });
    this.card = el("div", { class: "mbr-card" });
    const tools = el("div", { class: "mbr-buttons" },
      button({ label: this.word("cards_anki"), onClick: () => this.#export() }), button({ label: this.word("cards_print"), onClick: () => this.#print() }));
    this.element = el("div", { class: "mbr-cards" }, el("p", { text: this.word("cards_about") }), this.stats, this.card, tools);
  }

  show() {
    const kept = readProgress().cards;
    this.queue = dueRoomCards(this.cards, kept);
    this.#next();
  }

  #next(hasFocus = false) {
    const kept = readProgress().cards;
    const boxes = ROOM_BOX_DAYS.map((_, k) => this.cards.filter(({ id }) => kept[id]?.box === k + 1).length);
    const fresh = this.cards.length - boxes.reduce((sum, count) => sum + count, 0);
    setText(this.stats, this.word("cards_stats", { due: this.queue.length, fresh, boxes: boxes.join(" · ") }));
    const card = this.queue[0];
    if (!card) {
      this.card.replaceChildren(el("p", { tabindex: "-1", text: this.word("cards_none") }));
      if (hasFocus) this.card.firstChild.focus();
      return;
    }
    const turn = button({ label: this.word("cards_turn"), class: "mbr-primary", onClick: () => this.#turn(card) });
    this.card.replaceChildren(el("p", { class: "mbr-topic", text: card.topic }), roomHtml("div", { class: "mbr-ask" }, card.front), el("div", { class: "mbr-buttons" }, turn));
    if (hasFocus) turn.focus();
  }

  #turn(card) {
    const grade = (isKnown) => {
      moveRoomCard(card.id, isKnown);
      this.queue.shift();
      if (!isKnown) this.queue.splice(3, 0, card); // it comes back in this sitting
      this.#next(true);
    };
    const known = button({ label: this.word("cards_known"), class: "mbr-primary", onClick: () => grade(true) });
    const again = button({ label: this.word("cards_again"), onClick: () => grade(false) });
    this.card.lastChild.replaceWith(roomHtml("div", { class: "mbr-answer" }, card.back), el("div", { class: "mbr-buttons" }, known, again));
    known.focus();
  }

  #export() {
    const blob = new Blob([roomAnkiText(this.cards)], { type: "text/tab-separated-values" });
    const link = el("a", { href: URL.createObjectURL(blob), download: "minibatch-interview.txt" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  /** A sheet that only the printer sees. */
  #print() {
    const sheet = el("section", { class: "mbr-sheet" }, el("h1", { text: this.word("room_title") }));
    for (const { topic, front, back } of this.cards) {
      sheet.append(el("article", {}, el("p", { class: "mbr-topic", text: topic }), roomHtml("div", { class: "mbr-ask" }, front), roomHtml("div", {}, back)));
    }
    const room = this.element.closest(".mbr-room") ?? this.element;
    room.append(sheet);
    window.addEventListener("afterprint", () => sheet.remove(), { once: true });
    window.print();
  }
}
