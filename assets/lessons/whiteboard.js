// A whiteboard: slots by steps, on which a learner draws what a scheduler would do.

import { el, setText } from "../player/core/dom.js";

export const WHITEBOARD_PAD = "pad"; // a slot held for a request that has finished
const WHITEBOARD_SPARE = 3; // columns beyond the solution, so that their number gives nothing away
const WHITEBOARD_KEYS = "0123456789ab"; // of the requests, in order
const WHITEBOARD_COLOURS = Array.from({ length: 8 }, (_, k) => `var(--request-${k})`); // of minibatch/ui/shared/palette.py
const WHITEBOARD_INKS = ["#FFFFFF", "#000000", "#000000", "#000000", "#000000", "#000000", "#000000", "#000000"]; // legible at the size of a cell

/** A string of the interface with its {names} filled in; the key itself where there is none. */
export function roomWord(strings, key, values = {}) {
  return (strings?.[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** An element that shows HTML which Python made safe. */
export function roomHtml(tag, attributes, html) {
  const element = el(tag, attributes);
  element.innerHTML = html ?? "";
  return element;
}

/**
 * The first step and slot at which two schedules differ, [step, slot]; null if none does. A schedule is
 * rows of cells, one a step; steps that one of them lacks are idle.
 */
export function whiteboardFault(drawn, solution) {
  for (let step = 0; step < Math.max(drawn.length, solution.length); step++) {
    const slots = (solution[step] ?? drawn[step]).length;
    for (let slot = 0; slot < slots; slot++) {
      if ((drawn[step]?.[slot] ?? "") !== (solution[step]?.[slot] ?? "")) return [step, slot];
    }
  }
  return null;
}

/**
 * Show an exercise inside `host`: {policy, slots, requests, solution, reasons}.
 * @param {object} options `onDone({right, attempts, shown})` is called at every check, and when the solution
 *   is shown, `onClear()` when the board is cleared; `strings` are the interface's words; `colours` and `inks` of requests
 * @returns {Whiteboard}
 */
export function createWhiteboard(host, exercise, options = {}) {
  return new Whiteboard(host, exercise, options);
}

class Whiteboard {
  constructor(host, exercise, { onDone = () => {}, onClear = () => {}, strings = {}, colours = WHITEBOARD_COLOURS, inks = WHITEBOARD_INKS } = {}) {
    Object.assign(this, { exercise, onDone, onClear, colours, inks, attempts: 0, isDone: false, isDrawing: false });
    this.word = (key, values) => roomWord(strings, key, values);
    this.steps = exercise.solution.length + WHITEBOARD_SPARE;
    this.drawn = Array.from({ length: this.steps }, () => Array(exercise.slots).fill(""));
    this.chosen = exercise.requests[0].id;
    this.at = [0, 0];
    this.#build();
    host.append(this.element);
  }

  /** Begin again with nothing drawn. */
  clear() {
    this.#each((step, slot) => {
      this.drawn[step][slot] = "";
      this.cells[step][slot].title = "";
    });
    this.isDone = false;
    this.#unmark();
    this.#draw();
    setText(this.said, "");
    this.onClear();
  }

  /** Show the solution, with the reason of each cell on it, as a board that is finished. */
  finish() {
    if (!this.isDone) this.#unmark();
    this.isDone = true;
    this.#each((step, slot) => {
      this.drawn[step][slot] = this.exercise.solution[step]?.[slot] ?? "";
      this.cells[step][slot].title = this.exercise.reasons[step]?.[slot] ?? "";
    });
    this.#draw();
  }

  /** Take the buttons away, where another one begins again. */
  lock() {
    this.buttons.hidden = true;
  }

  destroy() {
    this.element.remove();
  }

  #build() {
    const { exercise, word } = this;
    const rule = word(`whiteboard_rule_${exercise.policy}`);
    this.palette = el("div", { class: "mbr-palette", role: "radiogroup", "aria-label": word("whiteboard_choose") });
    const choices = [...exercise.requests.map(({ id }) => id), WHITEBOARD_PAD];
    this.choices = choices.map((id, index) => {
      const name = index < exercise.requests.length ? this.#requestWords(exercise.requests[index]) : word("whiteboard_pad");
      const key = this.#keyOf(index);
      const choice = el("button", { type: "button", role: "radio", class: "mbr-choice", "data-id": id, on: { click: () => this.#choose(id) } },
        this.#chip(id), el("span", { text: name }), el("kbd", { text: key.toUpperCase() }));
      this.palette.append(choice);
      return choice;
    });
    this.palette.addEventListener("keydown", (event) => this.#onPaletteKey(event));
    this.cells = [];
    const head = el("tr", {}, el("th", { scope: "col", text: word("whiteboard_step") }));
    for (let step = 0; step < this.steps; step++) head.append(el("th", { scope: "col", text: String(step) }));
    const rows = [];
    for (let slot = 0; slot < exercise.slots; slot++) {
      const row = el("tr", {}, el("th", { scope: "row", text: word("whiteboard_slot", { slot }) }));
      for (let step = 0; step < this.steps; step++) {
        const cell = el("td", { role: "gridcell", tabindex: "-1", "data-step": step, "data-slot": slot });
        (this.cells[step] ??= [])[slot] = cell;
        row.append(cell);
      }
      rows.push(row);
    }
    this.grid = el("table", { class: "mbr-grid", role: "grid", "aria-label": word("whiteboard_grid") }, el("thead", {}, head), el("tbody", {}, ...rows));
    this.grid.addEventListener("keydown", (event) => this.#onKey(event));
    this.grid.addEventListener("pointerdown", (event) => this.#onDown(event));
    this.grid.addEventListener("pointermove", (event) => this.#onMove(event));
    for (const name of ["pointerup", "pointercancel"]) this.grid.addEventListener(name, () => { this.isDrawing = false; });
    this.said = el("p", { class: "mbr-said", role: "status", "aria-live": "polite" });
    const act = (key, onClick, className = "") => el("button", { type: "button", class: className, text: word(key), on: { click: onClick } });
    this.buttons = el("div", { class: "mbr-buttons" },
      act("whiteboard_check", () => this.#check(), "mbr-primary"), act("whiteboard_clear", () => this.clear()), act("whiteboard_show", () => this.#show()));
    this.element = el("div", { class: "mbr-whiteboard" },
      el("p", { class: "mbr-rule", text: rule }), this.palette, el("p", { class: "mbr-hint", text: word("whiteboard_keys") }),
      el("div", { class: "mbr-scroll" }, this.grid), this.buttons, this.said);
    this.#choose(this.chosen);
    this.#draw();
  }

  #requestWords({ arrival, output }) {
    return this.word(output === 1 ? "whiteboard_request_one" : "whiteboard_request", { arrival, output });
  }

  #keyOf(index) {
    return index < this.exercise.requests.length ? WHITEBOARD_KEYS[index] : "p";
  }

  #colourOf(id) {
    const index = this.exercise.requests.findIndex((request) => request.id === id);
    return index < 0 ? null : [this.colours[index % this.colours.length], this.inks[index % this.inks.length]];
  }

  #chip(id) {
    const chip = el("b", { class: id === WHITEBOARD_PAD ? "mbr-chip mbr-pad" : "mbr-chip", text: id });
    this.#paint(chip, id);
    return chip;
  }

  #paint(element, id) {
    const [ground, ink] = this.#colourOf(id) ?? ["", ""];
    element.style.background = ground;
    element.style.color = ink;
  }

  #choose(id) {
    this.chosen = id;
    for (const choice of this.choices) {
      const isChosen = choice.dataset.id === id;
      choice.setAttribute("aria-checked", String(isChosen));
      choice.tabIndex = isChosen ? 0 : -1;
    }
  }

  // -- drawing --------------------------------------------------------------------------------------

  #each(action) {
    for (let step = 0; step < this.steps; step++) for (let slot = 0; slot < this.exercise.slots; slot++) action(step, slot);
  }

  #draw() {
    this.#each((step, slot) => {
      const cell = this.cells[step][slot];
      const id = this.drawn[step][slot];
      setText(cell, id);
      cell.classList.toggle("mbr-pad", id === WHITEBOARD_PAD);
      this.#paint(cell, id);
      cell.setAttribute("aria-label", this.word("whiteboard_cell", { step, slot, what: id || this.word("whiteboard_idle") }));
      cell.tabIndex = step === this.at[0] && slot === this.at[1] ? 0 : -1;
    });
  }

  #place(step, slot, id) {
    if (this.isDone) return;
    this.drawn[step][slot] = id;
    this.#unmark();
    this.#draw();
  }

  #unmark() {
    this.#each((step, slot) => {
      this.cells[step][slot].classList.remove("mbr-fault", "mbr-fine");
      this.cells[step][slot].removeAttribute("aria-invalid");
    });
  }

  #moveTo(step, slot) {
    this.at = [Math.min(this.steps - 1, Math.max(0, step)), Math.min(this.exercise.slots - 1, Math.max(0, slot))];
    this.#draw();
    this.cells[this.at[0]][this.at[1]].focus();
  }

  #onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const [step, slot] = this.at;
    const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const place = WHITEBOARD_KEYS.indexOf(event.key.toLowerCase());
    if (event.key in moves) {
      const [along, down] = moves[event.key];
      const id = this.drawn[step][slot];
      this.#moveTo(step + along, slot + down);
      if (event.shiftKey) this.#place(this.at[0], this.at[1], id);
    } else if (event.key === "Home") this.#moveTo(0, slot);
    else if (event.key === "End") this.#moveTo(this.steps - 1, slot);
    else if (event.key === "Backspace" || event.key === "Delete") this.#place(step, slot, "");
    else if (event.key === "Enter" || event.key === " ") this.#place(step, slot, this.chosen);
    else if (event.key.toLowerCase() === "p") this.#type(WHITEBOARD_PAD);
    else if (event.key.length === 1 && place >= 0 && place < this.exercise.requests.length) this.#type(this.exercise.requests[place].id);
    else return;
    event.preventDefault();
    event.stopPropagation(); // a player on the page has other uses for these keys
  }

  #type(id) {
    const [step, slot] = this.at;
    this.#choose(id);
    this.#place(step, slot, id);
    this.#moveTo(step + 1, slot);
  }

  #onPaletteKey(event) {
    const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (!(event.key in moves)) return;
    const index = this.choices.findIndex((choice) => choice.dataset.id === this.chosen);
    const next = this.choices[(index + moves[event.key] + this.choices.length) % this.choices.length];
    this.#choose(next.dataset.id);
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  #onDown(event) {
    const cell = event.target.closest("td");
    if (!cell || event.button > 0) return;
    const [step, slot] = [Number(cell.dataset.step), Number(cell.dataset.slot)];
    this.brush = this.drawn[step][slot] === this.chosen ? "" : this.chosen; // a second click clears
    this.isDrawing = true;
    this.#place(step, slot, this.brush);
    this.#moveTo(step, slot);
    event.preventDefault();
  }

  #onMove(event) {
    if (!this.isDrawing) return;
    if (!event.buttons) {
      this.isDrawing = false;
      return;
    }
    const cell = this.element.getRootNode().elementFromPoint(event.clientX, event.clientY)?.closest?.("td");
    if (cell && this.grid.contains(cell)) this.#place(Number(cell.dataset.step), Number(cell.dataset.slot), this.brush);
  }

  // -- grading --------------------------------------------------------------------------------------

  #check() {
    if (this.isDone) return;
    this.attempts++;
    const fault = whiteboardFault(this.drawn, this.exercise.solution);
    this.#unmark();
    const until = fault ? fault[0] : this.exercise.solution.length;
    for (let step = 0; step < until; step++) for (const cell of this.cells[step]) cell.classList.add("mbr-fine");
    this.isDone = !fault;
    if (fault) this.#explain(...fault);
    else setText(this.said, this.word(this.attempts === 1 ? "whiteboard_right_first" : "whiteboard_right", { attempts: this.attempts }));
    this.said.classList.toggle("mbr-good", !fault);
    this.onDone({ right: !fault, attempts: this.attempts, shown: false });
  }

  #explain(step, slot) {
    const cell = this.cells[step][slot];
    cell.classList.add("mbr-fault");
    cell.setAttribute("aria-invalid", "true");
    const name = (id) => id || this.word("whiteboard_idle");
    const expected = this.exercise.solution[step]?.[slot] ?? "";
    const why = this.exercise.reasons[step]?.[slot] ?? this.word("whiteboard_all_done");
    const values = { step, slot, given: name(this.drawn[step][slot]), expected: name(expected), why };
    setText(this.said, this.word("whiteboard_wrong", values));
    this.#moveTo(step, slot);
  }

  #show() {
    this.finish();
    this.said.classList.remove("mbr-good");
    setText(this.said, this.word("whiteboard_shown"));
    this.onDone({ right: false, attempts: this.attempts, shown: true });
  }
}
