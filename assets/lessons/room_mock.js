// The mock interview: a question, a clock, the ideas to tick, a model answer and the run that proves it.

import { button, el, setText } from "../player/core/dom.js";
import { moveRoomCard } from "./room_cards.js";
import { roomHtml, roomWord } from "./whiteboard.js";

const ROOM_MOCK_COUNTS = [5, 10, 20];
const ROOM_MOCK_GOOD = 0.7; // share of the ideas with which a question counts as known

/** `count` of the questions in a drawn order, no topic twice before each has had its turn. */
export function roomMockOrder(questions, count, random = Math.random) {
  const byTopic = new Map();
  for (const question of questions) byTopic.set(question.topic, [...(byTopic.get(question.topic) ?? []), question]);
  const piles = [...byTopic.values()].map((pile) => roomShuffled(pile, random));
  const order = [];
  while (piles.some((pile) => pile.length)) order.push(...roomShuffled(piles.filter((pile) => pile.length), random).map((pile) => pile.pop()));
  return order.slice(0, count);
}

function roomShuffled(items, random) {
  const drawn = [...items];
  for (let k = drawn.length - 1; k > 0; k--) {
    const other = Math.floor(random() * (k + 1));
    [drawn[k], drawn[other]] = [drawn[other], drawn[k]];
  }
  return drawn;
}

/** Seconds as 1:05; negative ones with a sign. */
export function roomClock(seconds) {
  const whole = Math.abs(seconds);
  return `${seconds < 0 ? "−" : ""}${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** The view of the mock interview. `options.createPlayer` shows experiments. */
export class RoomMock {
  #timer = null;
  #players = [];

  constructor(doc, options = {}) {
    this.doc = doc;
    this.options = options;
    this.word = (key, values) => roomWord(doc.strings, key, values);
    this.element = el("div", { class: "mbr-mock" });
    this.#begin();
  }

  show() {}

  destroy() {
    this.#stop();
  }

  #stop() {
    clearInterval(this.#timer);
    for (const player of this.#players) player?.destroy?.();
    this.#players = [];
  }

  #begin() {
    this.#stop();
    const { questions } = this.doc;
    const topics = [...new Set(questions.map(({ topic }) => topic))];
    const topic = el("select", {}, el("option", { value: "", text: this.word("room_all_topics") }), ...topics.map((each) => el("option", { value: each, text: each })));
    const counts = [...ROOM_MOCK_COUNTS.filter((count) => count < questions.length), questions.length];
    const count = el("select", {}, ...counts.map((each) => el("option", { value: each, text: String(each) })));
    const start = button({ label: this.word("mock_start"), class: "mbr-primary", onClick: () => {
      const chosen = questions.filter((question) => !topic.value || question.topic === topic.value);
      this.order = roomMockOrder(chosen, Number(count.value));
      this.marks = [];
      this.#ask();
    } });
    const bar = el("div", { class: "mbr-bar" }, el("label", {}, el("span", { text: this.word("room_topic") }), topic), el("label", {}, el("span", { text: this.word("mock_count") }), count), start);
    this.element.replaceChildren(el("p", { text: this.word("mock_about") }), bar);
  }

  #ask() {
    this.#stop();
    const question = this.order[this.marks.length];
    const values = { number: this.marks.length + 1, count: this.order.length };
    const clock = el("span", { class: "mbr-clock", role: "timer", text: roomClock(question.seconds) });
    const began = Date.now();
    this.#timer = setInterval(() => {
      const left = question.seconds - Math.round((Date.now() - began) / 1000);
      setText(clock, roomClock(left));
      clock.classList.toggle("mbr-bad", left < 0);
    }, 500);
    const show = button({ label: this.word("mock_show"), class: "mbr-primary", onClick: () => this.#answer(question, clock, rest) });
    const rest = el("div", { class: "mbr-rest" }, el("p", { class: "mbr-muted", text: this.word("mock_aloud") }), el("div", { class: "mbr-buttons" }, show));
    const head = el("div", { class: "mbr-head" }, el("span", { class: "mbr-topic", text: `${this.word("mock_number", values)} · ${question.topic}` }), clock);
    const ask = roomHtml("div", { class: "mbr-ask", tabindex: "-1" }, question.ask_html);
    this.element.replaceChildren(el("div", { class: "mbr-card" }, head, ask, rest));
    ask.focus();
  }

  #answer(question, clock, rest) {
    clearInterval(this.#timer);
    clock.removeAttribute("role");
    const boxes = question.rubric.map(() => el("input", { type: "checkbox" }));
    const ideas = question.rubric.map((idea, k) => el("li", {}, el("label", {}, boxes[k], roomHtml("span", {}, idea))));
    const experiment = question.experiment ? this.#experiment(question.experiment) : null;
    const isLast = this.marks.length + 1 === this.order.length;
    const next = button({ label: this.word(isLast ? "mock_finish" : "mock_next"), class: "mbr-primary", onClick: () => {
      const said = boxes.filter((box) => box.checked).length;
      this.marks.push({ question, said, ideas: boxes.length });
      moveRoomCard(`question:${question.id}`, said / boxes.length >= ROOM_MOCK_GOOD);
      if (isLast) this.#finish();
      else this.#ask();
    } });
    const legend = el("p", { class: "mbr-legend", tabindex: "-1", text: this.word("mock_tick") });
    rest.replaceChildren(legend, el("ul", { class: "mbr-rubric" }, ...ideas), el("h2", { text: this.word("mock_model") }),
      roomHtml("div", { class: "mbr-answer" }, question.answer_html), experiment ?? "", el("div", { class: "mbr-buttons" }, next));
    legend.focus();
  }

  /** A button that runs the experiment; nothing where pages have no player. */
  #experiment({ title, run, caption_html }) {
    const { createPlayer, vegaEmbed } = this.options;
    const text = this.doc.runs?.[run];
    if (!createPlayer || !text) return null;
    const stage = el("div", { class: "mbr-stage" });
    const open = button({ label: this.word("mock_experiment", { title }), onClick: async () => {
      open.disabled = true;
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const place = el("div");
      stage.replaceChildren(roomHtml("p", {}, caption_html), place);
      try {
        this.#players.push(await createPlayer(place, bytes, { vegaEmbed, overrides: { autoplay: true } }));
      } catch (error) {
        stage.append(el("p", { class: "mbr-bad", text: String(error?.message ?? error) }));
      }
    } });
    return el("div", { class: "mbr-experiment" }, open, stage);
  }

  #finish() {
    this.#stop();
    const total = (rows, name) => rows.reduce((sum, row) => sum + row[name], 0);
    const topics = [...new Set(this.marks.map(({ question }) => question.topic))];
    const rows = topics.map((topic) => {
      const marks = this.marks.filter(({ question }) => question.topic === topic);
      return { topic, said: total(marks, "said"), ideas: total(marks, "ideas") };
    }).sort((a, b) => a.said / a.ideas - b.said / b.ideas);
    const head = el("tr", {}, el("th", { scope: "col", text: this.word("room_topic") }), el("th", { scope: "col", text: this.word("mock_ideas") }));
    const body = rows.map(({ topic, said, ideas }) => el("tr", {}, el("th", { scope: "row", text: topic }), el("td", { text: `${said} / ${ideas}` })));
    const words = this.word("mock_score", { said: total(this.marks, "said"), ideas: total(this.marks, "ideas"), weakest: rows[0].topic });
    const score = el("p", { class: "mbr-ask", tabindex: "-1", text: words });
    const again = button({ label: this.word("mock_again"), class: "mbr-primary", onClick: () => this.#begin() });
    this.element.replaceChildren(el("div", { class: "mbr-card" }, score, el("table", { class: "mbr-table" }, el("thead", {}, head), el("tbody", {}, ...body)),
      el("p", { class: "mbr-muted", text: this.word("mock_cards") }), el("div", { class: "mbr-buttons" }, again)));
    score.focus();
  }
}
