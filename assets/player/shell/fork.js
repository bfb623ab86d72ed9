// "What if": rerun from here with one knob changed. The host runs it; the player only asks.

import { el } from "../core/dom.js";

export class ForkDialog {
  constructor(player) {
    this.player = player;
    this.button = el("button", { type: "button", class: "mb-primary", text: "What if…", title: "Change one knob and rerun from here",
      on: { click: () => this.open() } });
    this.knob = el("select", { "aria-label": "Knob", on: { change: () => this.#showKnob() } });
    this.place = el("span", {});
    this.now = el("p", { class: "mb-note" });
    this.help = el("p", { class: "mb-note" });
    const form = el("form", { method: "dialog", on: { submit: () => this.#ask() } },
      el("h2", {}, "What if… from ", this.place),
      el("label", {}, "Change ", this.knob), this.now, this.help,
      el("div", { class: "mb-dialog-buttons" },
        el("button", { type: "button", text: "Cancel", on: { click: () => this.dialog.close() } }),
        el("button", { type: "submit", class: "mb-primary", text: "Rerun from here" })));
    this.dialog = el("dialog", { class: "mb-dialog", "aria-label": "What if" }, form);
  }

  open() {
    const { store } = this.player;
    store.set({ isPlaying: false });
    const { knobs } = store.comparison.options;
    this.run = store.runs[store.focus];
    const { i } = this.run.locate(store.axis, store.position);
    this.iteration = Math.max(0, i);
    this.place.textContent = `step ${this.iteration} of ${this.run.label}`;
    this.knob.replaceChildren(...Object.keys(knobs).map((name) => el("option", { value: name, text: name })));
    this.#showKnob();
    this.dialog.showModal();
  }

  #showKnob() {
    const { kind, choices, help } = this.player.store.comparison.options.knobs[this.knob.value];
    const name = this.knob.value;
    const now = name === "policy" ? this.run.policy : this.run.config[name];
    this.now.textContent = `now ${now}`;
    this.help.textContent = help;
    this.value?.parentElement.remove();
    if (choices) {
      const others = choices.filter((choice) => String(choice) !== String(now));
      this.value = el("select", {}, ...others.map((choice) => el("option", { value: String(choice), text: String(choice) })));
    } else {
      this.value = el("input", { type: "number", step: kind === "int" ? 1 : "any", value: String(now), required: true });
    }
    this.now.before(el("label", {}, "to ", this.value));
  }

  #ask() {
    const wish = { policy: this.run.policy, iteration: this.iteration, knob: this.knob.value, value: this.value.value };
    this.player.options.onFork({ ...wish, nonce: Date.now() });
  }
}
