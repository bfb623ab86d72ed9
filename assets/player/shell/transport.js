// The bar of controls: play, step, jump, scrub, speed, axis, view.

import { EVENT_KINDS, SPEEDS, cycleLoop, follow, jump, loopWords, seek, speedWords, step, togglePlay } from "./actions.js";
import { Surface, button, el, icon, setText } from "../core/dom.js";
import { clock } from "../core/format.js";

const MARKS = { admission: "▸", finish: "■", stall: "‖", preemption: "✕" };

export class Transport {
  /** @param {import("./player.js").Player} player */
  constructor(player) {
    this.player = player;
    this.store = player.store;
    this.markers = new Surface({ class: "mb-markers", "aria-hidden": "true" });
    this.element = this.#build();
  }

  prepare(theme, width) {
    this.theme = theme;
    this.markers.resize(width, Math.round(12 * theme.scale));
    this.markersKey = null;
  }

  /** Bring the controls in step with the store; the words only with `isCounting`. */
  draw(places, isCounting = true) {
    const { store } = this;
    const run = store.runs[store.focus];
    const place = places[store.focus];
    if (this.shownPlaying !== store.isPlaying) {
      this.shownPlaying = store.isPlaying;
      this.play.replaceChildren(icon(store.isPlaying ? "pause" : "play"));
      const label = store.isPlaying ? "Pause (Space)" : "Play (Space)";
      this.play.setAttribute("aria-label", label);
      this.play.title = label;
    }
    this.range.value = String(store.position / store.end);
    this.range.style.setProperty("--done", `${(store.position / store.end) * 100}%`);
    this.#markers(run);
    if (isCounting) this.#words(run, place);
  }

  #words(run, place) {
    const { store } = this;
    const isAsking = store.hidden?.lane === store.focus && place.i >= store.hidden.iteration;
    const step = place.i < 0 ? "before the first step" : place.isDone ? "after the last step" : `${isAsking ? "before " : ""}step ${place.i}`;
    setText(this.time, store.axis === "time" ? clock(store.position) : `step ${Math.floor(store.position)}`);
    setText(this.of, store.axis === "time" ? `of ${clock(store.end)}` : `of ${store.end}`);
    setText(this.step, `${run.label}, ${step}`);
    if (!store.isPlaying) this.range.setAttribute("aria-valuetext", `${clock(place.t)}, ${run.label} ${step}`);
    this.speed.value = String(store.speed);
    this.axis.value = store.axis;
    this.view.value = store.view;
    setText(this.loop, loopWords(store.loop));
    this.loop.setAttribute("aria-pressed", String(Boolean(store.loop)));
    this.live.hidden = !store.comparison.options.live;
    this.live.setAttribute("aria-pressed", String(store.isFollowing));
  }

  /** What happened in the lane in focus, as marks above the scrubber; and the loop. */
  #markers(run) {
    const { store, theme, markers } = this;
    const key = [store.focus, store.axis, this.player.eventKind, store.loop, store.hidden, run.n, store.end].join(" ");
    if (key === this.markersKey) return;
    this.markersKey = key;
    const context = markers.clear();
    const x = (position) => (position / store.end) * markers.width;
    if (store.loop) {
      context.fillStyle = theme.accent;
      context.globalAlpha = 0.35;
      const to = store.loop[1] ?? store.loop[0] + store.end / 200;
      context.fillRect(x(store.loop[0]), 0, Math.max(3, x(to) - x(store.loop[0])), markers.height);
      context.globalAlpha = 1;
    }
    if (store.hidden) return;
    for (const kind of EVENT_KINDS) {
      const isChosen = kind === this.player.eventKind;
      context.fillStyle = isChosen ? theme.ink : theme.faint;
      const height = isChosen ? markers.height : markers.height / 2;
      for (const i of run.events[kind]) context.fillRect(x(run.position(store.axis, i)) - 0.6, markers.height - height, 1.2, height);
    }
  }

  #build() {
    const { store, player } = this;
    this.play = button({ label: "Play (Space)", icon: "play", onClick: () => togglePlay(store), class: "mb-play" });
    this.range = el("input", {
      type: "range", min: 0, max: 1, step: "any", value: 0, class: "mb-range", "aria-label": "Playhead",
      on: { input: () => seek(store, Number(this.range.value) * store.end) },
    });
    this.time = el("b", { class: "mb-time", text: "0.000 s" });
    this.of = el("span", { class: "mb-of" });
    this.step = el("span", { class: "mb-step" });
    const choose = (label, values, words, onChange) =>
      el("select", { "aria-label": label, title: label, on: { change: (event) => onChange(event.target.value) } },
        ...values.map((value) => el("option", { value: String(value), text: words(value) })));
    this.speed = choose("Speed: 1× shows the longest run in 30 seconds, real time as long as it really took", SPEEDS, speedWords,
      (value) => store.set({ speed: value === "real" ? value : Number(value) }));
    this.axis = choose("Axis that the lanes share", ["time", "iterations"], (value) => value, (value) => store.setAxis(value));
    this.view = choose("View", ["whole", "close"], (value) => (value === "whole" ? "whole run" : "close-up"),
      (value) => store.set({ view: value }));
    this.kind = choose("Event to jump to", EVENT_KINDS, (value) => `${MARKS[value]} ${value}`, (value) => {
      player.eventKind = value;
      this.draw(store.places);
    });
    this.loop = el("button", { type: "button", text: "Loop from here", title: "Loop a range (L)", on: { click: () => cycleLoop(store) } });
    this.live = el("button", { type: "button", class: "mb-live", text: "Follow live", title: "Follow the run in progress (F)",
      on: { click: () => follow(store) } });
    const go = (label, drawing, onClick) => button({ label, icon: drawing, onClick });
    return el("div", { class: "mb-transport", role: "group", "aria-label": "Playback" },
      el("div", { class: "mb-buttons" },
        go("To the start (Home)", "home", () => seek(store, 0)),
        go("One step back (←)", "back", () => step(store, -1)),
        this.play,
        go("One step forward (→)", "forward", () => step(store, 1)),
        go("To the end (End)", "end", () => seek(store, store.end))),
      el("div", { class: "mb-scrub" }, this.markers.canvas, this.range),
      el("div", { class: "mb-clocks" }, this.time, this.of, this.step),
      el("div", { class: "mb-choices" },
        el("span", { class: "mb-jump" },
          go("Previous event (Shift + ←)", "previous", () => jump(store, player.eventKind, -1)),
          this.kind,
          go("Next event (Shift + →)", "next", () => jump(store, player.eventKind, 1))),
        this.speed, this.axis, this.view, this.loop, this.live));
  }
}
