// The interview room: mock interview, numbers drills, whiteboard and cards, each on a tab.

import { el } from "../player/dom.js";
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

/** The exercises, one at a time. */
class RoomWhiteboards {
  constructor(doc) {
    this.doc = doc;
    const word = (key) => roomWord(doc.strings, key);
    const choices = doc.exercises.map(({ title, policy }, k) => el("option", { value: k, text: `${k + 1}. ${title} (${policy})` }));
    this.select = el("select", { on: { change: () => this.#open() } }, ...choices);
    this.place = el("div", { class: "mbr-card" });
    const bar = el("div", { class: "mbr-bar" }, el("label", {}, el("span", { text: word("whiteboard_exercise") }), this.select));
    this.element = el("div", {}, el("p", { text: word("whiteboard_about") }), bar, this.place);
    if (doc.exercises.length) this.#open();
  }

  show() {}

  #open() {
    this.place.replaceChildren();
    createWhiteboard(this.place, this.doc.exercises[Number(this.select.value)], { strings: this.doc.strings });
  }
}
