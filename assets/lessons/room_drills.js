// Numbers drills: one number after the other, graded by a factor.

import { button, el, setText } from "../player/core/dom.js";
import { marksOf, readNumber } from "./numbers.js";
import { moveRoomCard } from "./room_cards.js";
import { roomHtml, roomWord } from "./whiteboard.js";

/** Whether a number is the answer of a drill, within its factor. */
export function roomDrillIsRight(drill, number) {
  const most = drill.tolerance * (1 + 1e-9);
  return number > 0 && number / drill.answer <= most && drill.answer / number <= most;
}

/** The view of the drills. */
export class RoomDrills {
  constructor(doc) {
    this.word = (key, values) => roomWord(doc.strings, key, values);
    this.marks = marksOf(doc.strings);
    this.drills = doc.drills;
    this.asked = this.right = this.streak = 0;
    const topics = [...new Set(doc.drills.map(({ topic }) => topic))];
    const all = el("option", { value: "", text: this.word("room_all_topics") });
    this.topic = el("select", { on: { change: () => this.#choose() } }, all, ...topics.map((topic) => el("option", { value: topic, text: topic })));
    this.tally = el("span", { class: "mbr-muted" });
    this.card = el("div", { class: "mbr-card" });
    const bar = el("div", { class: "mbr-bar" }, el("label", {}, el("span", { text: this.word("room_topic") }), this.topic), this.tally);
    this.element = el("div", { class: "mbr-drills" }, el("p", { text: this.word("drills_about") }), bar, this.card);
    this.#choose();
  }

  show() {}

  #choose() {
    this.queue = this.drills.filter(({ topic }) => !this.topic.value || topic === this.topic.value);
    for (let k = this.queue.length - 1; k > 0; k--) {
      const other = Math.floor(Math.random() * (k + 1));
      [this.queue[k], this.queue[other]] = [this.queue[other], this.queue[k]];
    }
    this.at = 0;
    this.#ask();
  }

  #ask(hasFocus = false) {
    const drill = this.queue[this.at % this.queue.length];
    const input = el("input", { type: "text", inputmode: "decimal", autocomplete: "off", "aria-label": this.word("drills_answer", { unit: drill.unit }) });
    const result = el("div", { class: "mbr-result", role: "status", "aria-live": "polite" });
    const form = el("form", { class: "mbr-form" }, input, el("span", { text: drill.unit }), el("button", { type: "submit", class: "mbr-primary", text: this.word("drills_check") }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#grade(drill, readNumber(input.value, this.marks), form, result);
    });
    form.addEventListener("keydown", (event) => event.stopPropagation());
    this.card.replaceChildren(el("p", { class: "mbr-topic", text: drill.topic }), roomHtml("div", { class: "mbr-ask" }, drill.ask_html), form, result);
    if (hasFocus) input.focus();
  }

  #grade(drill, number, form, result) {
    if (number === null) return setText(result, this.word("drills_number"));
    const isRight = roomDrillIsRight(drill, number);
    this.asked++;
    this.right += isRight;
    this.streak = isRight ? this.streak + 1 : 0;
    moveRoomCard(`drill:${drill.id}`, isRight);
    for (const control of form.elements) control.disabled = true;
    const verdict = this.word(isRight ? "drills_right" : "drills_wrong", { answer: drill.answer_words });
    const within = this.word("drills_within", { percent: Math.round((drill.tolerance - 1) * 100) });
    const next = button({ label: this.word("drills_next"), class: "mbr-primary", onClick: () => { this.at++; this.#ask(true); } });
    result.replaceChildren(el("p", { class: isRight ? "mbr-good" : "mbr-bad", text: verdict }), roomHtml("div", { class: "mbr-answer" }, drill.explain_html),
      el("p", { class: "mbr-muted", text: within }), el("div", { class: "mbr-buttons" }, next));
    setText(this.tally, this.word("drills_tally", { right: this.right, asked: this.asked, streak: this.streak }));
    next.focus();
  }
}
