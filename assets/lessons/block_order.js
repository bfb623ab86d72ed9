// Things to put in order, with the pointer or with buttons.

import { el } from "../player/core/dom.js";
import { Card, commitButton } from "./card.js";
import { safeHtml, shuffledOrder } from "./lesson_parts.js";
import { pollOptions } from "./poll.js";

const ORDER_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

export function orderCard(block, context, kicker) {
  const { words } = context;
  const seed = `${context.doc.id} ${block.key}`;
  const shuffled = shuffledOrder(block.items.length, seed);
  if (shuffled.every((item, place) => item === place)) shuffled.push(shuffled.shift()); // not right to begin with
  const letters = block.items.map((_, item) => ORDER_LETTERS[shuffled.indexOf(item)]);
  const list = new OrderList(block.items, letters, words);
  list.arrange(shuffled);
  const commit = commitButton(words, () => card.commit(list.order.every((item, place) => item === place), [...list.order]));
  const parts = {
    verdict: (right, answer) => {
      const fit = answer.filter((item, place) => item === place).length;
      return words(right ? "quiz_right" : "order_wrong", { n: fit, m: answer.length });
    },
    reveal: () => {
      const items = block.items.map((html) => safeHtml("li", "", html));
      return el("div", {}, el("p", { class: "mbl-answer", text: words("right_order") }), el("ol", {}, ...items), safeHtml("div", "mbl-text", block.explain_html));
    },
    lock: (isLocked) => { list.lock(isLocked); commit.hidden = isLocked; },
    restore: (answer) => {
      const isOrder = Array.isArray(answer) && answer.length === block.items.length && block.items.every((_, k) => answer.includes(k));
      if (!isOrder) throw new TypeError("expected an order");
      list.arrange(answer);
    },
    mark: (isMarked) => list.mark(isMarked),
  };
  const card = new Card(block, context, { kicker, parts });
  card.controls.append(list.element, list.status, commit);
  card.begin();
  return { element: card.element, card, poll: ordersFor(letters, seed) };
}

/** Orders to vote for, by the letters of the rows: a vote needs no long words. `letters` stand in the right order. */
function ordersFor(letters, seed) {
  const inWords = (order) => order.map((item) => letters[item]).join(" → ");
  const right = letters.join(" → ");
  const others = new Set(Array.from({ length: 12 }, (_, k) => inWords(shuffledOrder(letters.length, `${seed} ${k}`))));
  others.delete(right);
  return pollOptions(right, [...others], seed);
}

class OrderList {
  constructor(items, letters, words) {
    Object.assign(this, { letters, words });
    this.order = [];
    this.element = el("ol", { class: "mbl-order" });
    this.status = el("p", { class: "mbl-spoken", role: "status" });
    this.rows = items.map((html, item) => this.#row(html, item));
  }

  arrange(order) {
    this.order = [...order];
    // Rows that are in place stay, because what is taken out of the page loses the focus and the pointer.
    this.order.forEach((item, place) => {
      const row = this.rows[item].element;
      if (this.element.children[place] !== row) this.element.insertBefore(row, this.element.children[place] ?? null);
    });
    this.#ends();
  }

  lock(isLocked) {
    this.isLocked = isLocked;
    this.element.classList.toggle("mbl-locked", isLocked);
    this.#ends();
  }

  mark(isMarked) {
    this.order.forEach((item, place) => {
      this.rows[item].element.classList.toggle("mbl-is-right", isMarked && item === place);
      this.rows[item].element.classList.toggle("mbl-is-wrong", isMarked && item !== place);
    });
  }

  #row(html, item) {
    const text = safeHtml("span", "mbl-order-text", html);
    const name = text.textContent.trim();
    const move = (by, sign, key) => el("button", { type: "button", "aria-label": this.words(key, { item: name }), text: sign, on: { click: (event) => this.#move(item, by, event.currentTarget) } });
    const [up, down] = [move(-1, "↑", "move_up"), move(1, "↓", "move_down")];
    const element = el("li", {}, el("span", { class: "mbl-grip", "aria-hidden": "true" }), el("b", { class: "mbl-letter", text: this.letters[item] }), text, el("span", { class: "mbl-moves" }, up, down));
    element.addEventListener("pointerdown", (event) => this.#grab(event, item, element));
    return { element, up, down, name };
  }

  #move(item, by, pressed) {
    const from = this.order.indexOf(item);
    const to = from + by;
    if (this.isLocked || to < 0 || to >= this.order.length) return;
    const order = this.order.filter((other) => other !== item);
    order.splice(to, 0, item);
    this.arrange(order);
    const { up, down, name } = this.rows[item];
    (pressed.disabled ? (pressed === up ? down : up) : pressed).focus({ preventScroll: true });
    this.status.textContent = this.words("moved", { item: name, n: to + 1, m: order.length });
  }

  #grab(event, item, element) {
    if (this.isLocked || event.button !== 0 || event.target.closest("button, a")) return;
    event.preventDefault();
    element.classList.add("mbl-dragged");
    const drag = ({ clientY }) => {
      const others = this.order.filter((other) => other !== item);
      const before = others.filter((other) => middleOf(this.rows[other].element) < clientY).length;
      if (this.order.indexOf(item) === before) return;
      others.splice(before, 0, item);
      this.arrange(others);
    };
    const stop = () => {
      element.classList.remove("mbl-dragged");
      for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener);
    };
    // On the window: the row itself is moved about.
    const listeners = { pointermove: drag, pointerup: stop, pointercancel: stop };
    for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener);
  }

  #ends() {
    this.order.forEach((item, place) => {
      const { up, down } = this.rows[item];
      up.disabled = this.isLocked || place === 0;
      down.disabled = this.isLocked || place === this.order.length - 1;
    });
  }
}

function middleOf(element) {
  const { top, height } = element.getBoundingClientRect();
  return top + height / 2;
}
