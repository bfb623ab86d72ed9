// The interview room: mock interview, numbers drills, whiteboard and cards, each on a tab.

import { el } from "../player/core/dom.js";
import { hashOf } from "./lesson_parts.js";
import { keepAnswer, readProgress } from "./progress.js";
import { RoomCards } from "./room_cards.js";
import { RoomDrills } from "./room_drills.js";
import { RoomMock } from "./room_mock.js";
import { createWhiteboard, roomWord } from "./whiteboard.js";

/** @typedef {{element: HTMLElement, show: () => void, destroy?: () => void}} RoomView */

/**
 * Show the room document `doc` inside `host`.
 * @param {object} options `createPlayer` and `vegaEmbed` for experiments; `tab`: mock, drills, whiteboard or cards
 * @returns {{element: HTMLElement, open: (name: string) => void, destroy: () => void}}
 */
export function createRoom(host, doc, options = {}) {
  const views = {
    mock: new RoomMock(doc, options),
    drills: new RoomDrills(doc),
    whiteboard: new RoomWhiteboards(doc),
    cards: new RoomCards(doc),
  };
  const word = (key, values) => roomWord(doc.strings, key, values);
  const names = Object.keys(views);
  const tabs = {};
  const panels = {};
  const open = (name) => {
    for (const each of names) {
      const isOpen = each === name;
      tabs[each].setAttribute("aria-selected", String(isOpen));
      tabs[each].tabIndex = isOpen ? 0 : -1;
      panels[each].hidden = !isOpen;
    }
    views[name].show();
  };
  for (const name of names) {
    const id = `mbr-${name}`;
    tabs[name] = el("button", { type: "button", role: "tab", id: `${id}-tab`, "aria-controls": id, text: word(`room_${name}`), on: { click: () => open(name) } });
    panels[name] = el("section", { role: "tabpanel", id, "aria-labelledby": `${id}-tab` }, views[name].element);
  }
  const list = el("div", { class: "mbr-tabs", role: "tablist", "aria-label": word("room_title") }, ...Object.values(tabs));
  list.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: 1, ArrowLeft: -1 };
    if (!(event.key in moves)) return;
    const at = names.findIndex((name) => tabs[name].tabIndex === 0);
    const next = names[(at + moves[event.key] + names.length) % names.length];
    open(next);
    tabs[next].focus();
    event.preventDefault();
    event.stopPropagation();
  });
  const head = el("header", {}, el("h1", { text: word("room_title") }), el("p", { class: "mbr-muted", text: word("room_about") }));
  const element = el("div", { class: "mbr-room" }, head, list, ...Object.values(panels));
  host.append(element);
  open(names.includes(options.tab) ? options.tab : "mock");
  const destroy = () => {
    for (const view of Object.values(views)) view.destroy?.();
    element.remove();
  };
  return { element, open, destroy };
}

const ROOM_PROGRESS = "interview";

/** What a finished exercise is kept under: another exercise in its place is not taken for it. */
function roomExerciseKey({ policy, slots, requests }) {
  return `whiteboard:${hashOf(JSON.stringify([policy, slots, requests])).toString(36)}`;
}

/** The exercises, one at a time. Those that are finished stay so until they are cleared. */
class RoomWhiteboards {
  constructor(doc) {
    this.doc = doc;
    const word = (key) => roomWord(doc.strings, key);
    this.choices = doc.exercises.map((_, k) => el("option", { value: k }));
    this.select = el("select", { on: { change: () => this.#open() } }, ...this.choices);
    this.place = el("div", { class: "mbr-card" });
    const bar = el("div", { class: "mbr-bar" }, el("label", {}, el("span", { text: word("whiteboard_exercise") }), this.select));
    this.element = el("div", {}, el("p", { text: word("whiteboard_about") }), bar, this.place);
    this.#name();
    if (doc.exercises.length) this.#open();
  }

  show() {}

  /** Say which exercises are finished. */
  #name() {
    const kept = readProgress().lessons[ROOM_PROGRESS] ?? {};
    this.doc.exercises.forEach((exercise, k) => {
      const sign = kept[roomExerciseKey(exercise)] ? " ✓" : "";
      this.choices[k].textContent = `${k + 1}. ${exercise.title} (${exercise.policy})${sign}`;
    });
  }

  #open() {
    this.place.replaceChildren();
    const exercise = this.doc.exercises[Number(this.select.value)];
    const key = roomExerciseKey(exercise);
    const keep = (record) => {
      keepAnswer(ROOM_PROGRESS, key, record);
      this.#name();
    };
    const board = createWhiteboard(this.place, exercise, {
      strings: this.doc.strings,
      onDone: ({ right }) => { if (right) keep({ right, answer: true, at: new Date().toISOString() }); },
      onClear: () => keep(null),
    });
    if (readProgress().lessons[ROOM_PROGRESS]?.[key]) board.finish();
  }
}
