// A few settings to move between, until one does what was asked.

import { el } from "../player/core/dom.js";
import { PlayerPlace } from "./block_player.js";
import { Card } from "./card.js";
import { safeHtml } from "./lesson_parts.js";
import { pollOptions } from "./poll.js";

export function exploreBlock(block, context) {
  const explore = new Explore(block, context);
  return {
    element: explore.card.element,
    card: explore.card,
    poll: explore.poll(),
    rescale: (scale) => explore.place?.rescale(scale),
    destroy: () => explore.place?.destroy(),
  };
}

class Explore {
  constructor(block, context) {
    const { words } = context;
    Object.assign(this, { block, context, words, before: null });
    this.setting = block.settings.find((setting) => !setting.found) ?? block.settings[0];
    this.status = el("p", { class: "mbl-explore-status", role: "status" });
    this.table = el("table", { class: "mbl-metrics" });
    this.place = block.settings.some((setting) => setting.run) ? new PlayerPlace(context, words("player")) : null;
    this.showButton = el("button", { type: "button", class: "mbl-quiet", text: words("show_found"), on: { click: () => this.#giveUp() } });
    this.card = new Card(block, context, { kicker: words("explore"), parts: this.#parts() });
    this.card.element.classList.toggle("mbl-broad", Boolean(this.place));
    this.knobs = context.hides("explore") ? [] : block.knobs.map((knob) => this.#knob(knob));
    this.showButton.hidden = context.hides("answers") || context.hides("explore");
    const clock = el("span", { class: "mbl-badge", text: words(block.clock) });
    this.card.controls.append(el("div", { class: "mbl-knobs" }, ...this.knobs.map(({ element }) => element)),
      el("div", { class: "mbl-wide", tabindex: 0, role: "group", "aria-label": words("metrics") }, this.table),
      el("p", { class: "mbl-under" }, clock, this.status), ...(this.place ? [this.place.element] : []), this.showButton);
    this.#draw();
    this.card.begin();
  }

  #parts() {
    const { block, words } = this;
    return {
      verdict: (right) => words(right ? "found" : "shown"),
      reveal: () => safeHtml("div", "mbl-text", block.reveal_html),
      lock: (isLocked) => { this.showButton.hidden = isLocked || this.context.hides("answers"); },
      mark: (isMarked) => { if (isMarked) this.#go(this.setting.found ? this.setting : block.settings.find(({ found }) => found)); },
      restore: (index) => this.#go(block.settings[index] ?? this.setting),
    };
  }

  #knob(knob) {
    const name = `mbl-knob-${this.context.doc.id}-${this.block.key}-${knob.name}`;
    const inputs = knob.values.map((value) => {
      const input = el("input", { type: "radio", name, on: { change: () => this.#turn(knob.name, value) } });
      return { value, input, element: el("label", {}, input, el("span", { text: this.#valueWords(value) })) };
    });
    const element = el("fieldset", { class: "mbl-knob" }, el("legend", { text: knob.label }),
      el("div", { class: "mbl-segments" }, ...inputs.map((each) => each.element)));
    return { knob, inputs, element };
  }

  #turn(name, value) {
    const values = { ...this.setting.values, [name]: value };
    const next = this.block.settings.find((setting) => Object.entries(values).every(([knob, each]) => setting.values[knob] === each));
    if (!next || next === this.setting) return;
    this.#go(next);
    const isFirst = next.found && this.card.element.dataset.state !== "right";
    const isKnown = this.card.element.dataset.state !== "open";
    this.status.textContent = isFirst ? "" : this.words(next.found ? "does" : isKnown ? "does_not" : "not_yet"); // the verdict says it the first time
    if (!isFirst) return;
    this.card.commit(true, this.block.settings.indexOf(next));
    // The learner goes on moving knobs: the focus stays there.
    this.knobs.find(({ knob }) => knob.name === name)?.inputs.find((each) => each.input.checked)?.input.focus({ preventScroll: true });
  }

  #go(setting) {
    if (setting !== this.setting) this.before = this.setting;
    this.setting = setting;
    this.#draw();
  }

  #giveUp() {
    const found = this.block.settings.find((setting) => setting.found);
    this.#go(found);
    this.status.textContent = "";
    this.card.commit(false, this.block.settings.indexOf(found));
  }

  #draw() {
    const { block, setting, before, words } = this;
    for (const { knob, inputs } of this.knobs) {
      for (const { value, input } of inputs) input.checked = setting.values[knob.name] === value;
    }
    const head = ["metric", "now", "before", "change"].map((key) => el("th", { scope: "col", text: words(key) }));
    const rows = block.show.map((metric) => el("tr", {}, el("th", { scope: "row", text: metric.label }),
      el("td", { class: "mbl-now", text: this.#metricWords(setting, metric) }),
      el("td", { text: before ? this.#metricWords(before, metric) : "" }), this.#change(metric)));
    this.table.replaceChildren(el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
    if (this.place && setting.run) this.place.show(setting.run);
  }

  #metricWords(setting, { key }) {
    return setting.words?.[key] ?? (setting.metrics[key] === null ? "–" : String(setting.metrics[key]));
  }

  #change({ key, better }) {
    const { setting, before, words } = this;
    const [now, then] = [setting.metrics[key], before?.metrics[key]];
    if (now === null || now === undefined || then === null || then === undefined) return el("td", {});
    if (now === then) return el("td", { text: words("same") });
    const rises = now > then;
    const isBetter = better === (rises ? "higher" : "lower");
    const isWorse = better === (rises ? "lower" : "higher");
    const percent = then === 0 ? "" : ` ${new Intl.NumberFormat(this.context.language, { style: "percent", maximumSignificantDigits: 2 }).format(Math.abs(now / then - 1))}`;
    const spoken = el("span", { class: "mbl-spoken", text: ` ${words(rises ? "up" : "down")}${isBetter ? `, ${words("better")}` : isWorse ? `, ${words("worse")}` : ""}` });
    return el("td", { class: isBetter ? "mbl-better" : isWorse ? "mbl-worse" : null }, el("span", { "aria-hidden": "true", text: rises ? "▲" : "▼" }), percent, spoken);
  }

  /** Settings to vote for in their order, one of which does what was asked. */
  poll() {
    const { block, context } = this;
    const isOne = block.knobs.length === 1;
    const inWords = ({ values }) => Object.entries(values).map(([name, value]) => `${isOne ? "" : `${name} `}${this.#valueWords(value)}`).join(", ");
    const [found, others] = [true, false].map((isFound) => block.settings.filter((setting) => setting.found === isFound).map(inWords));
    const order = block.settings.map(inWords);
    return pollOptions(found[0], others, `${context.doc.id} ${block.key}`).sort((a, b) => order.indexOf(a.text) - order.indexOf(b.text));
  }

  #valueWords(value) {
    const label = this.block.labels[String(value)];
    if (label !== undefined) return label;
    return typeof value === "boolean" ? this.words(value ? "on" : "off") : value === null ? "–" : String(value);
  }
}
