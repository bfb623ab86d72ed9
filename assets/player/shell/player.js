// The player: recordings animated in lockstep, and why each step happened.

import { EVENT_KINDS } from "./actions.js";
import { Axis } from "../lanes/axis.js";
import { Charts } from "../charts/charts.js";
import { describeDurations, describeRoofline, describeTokens } from "../charts/text.js";
import { el } from "../core/dom.js";
import { ForkDialog } from "./fork.js";
import { actionOf, keysDialog } from "./keys.js";
import { Lane } from "../lanes/lane.js";
import { legend } from "../lanes/legend.js";
import { Mirror } from "./mirror.js";
import { Motion } from "../core/motion.js";
import { unpack } from "../core/payload.js";
import { Predict } from "../predict/predict.js";
import { Provenance } from "./provenance.js";
import { sharedScale } from "../core/scale.js";
import { Share } from "./share.js";
import { Sight } from "../core/sight.js";
import { startOf } from "./start.js";
import { Store } from "../core/store.js";
import { Story } from "../why/story.js";
import { TakeAway } from "./takeaway.js";
import { applyTheme, readTheme } from "../core/theme.js";
import { Transport } from "./transport.js";
import { WhyCard } from "../why/why_card.js";

const NARROW = 760; // pixels: below, lanes are shown one at a time
const COUNT_MS = 120; // between two refreshes of the numbers while playing
const LIVE_CHARTS_MS = 1000; // between two redraws of the charts of a run in progress
const PRESENT_SCALE = 1.5;
const LANES_DRAWN = "minibatch lanes drawn"; // a mark in the browser's own timeline

/** The player that answers the keyboard when nothing on the page has the focus. */
let active = null;

/**
 * Show a comparison inside `host`.
 * @param {HTMLElement|ShadowRoot} host
 * @param {Uint8Array|object} bytes of minibatch/ui/player/payload.py, or what `unpack` made of them
 * @param {object} options
 * @param {Function} [options.vegaEmbed] Vega's embedder; without it there are no charts
 * @param {Storage} [options.storage] where predictions' scores are kept
 * @param {(wish: object) => void} [options.onFork] called with {policy, iteration, knob, value}
 * @param {object} [options.overrides] take the place of the payload's own options
 * @returns {Promise<Player>}
 */
export async function createPlayer(host, bytes, options = {}) {
  const comparison = bytes instanceof Uint8Array ? await unpack(bytes) : bytes;
  Object.assign(comparison.options, options.overrides);
  const player = new Player(host, comparison, options);
  player.reveal();
  await painted();
  await player.startCharts();
  return player;
}

/** Resolves when the browser has painted; soon all the same where it paints nothing, in a tab behind. */
function painted() {
  const frame = new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return Promise.race([frame, new Promise((done) => setTimeout(done, 250))]);
}

/** One player on a page. `replace` gives it other recordings, `destroy` takes it away. */
export class Player {
  constructor(host, comparison, options) {
    this.host = host;
    this.options = options;
    this.eventKind = EVENT_KINDS[0];
    this.store = new Store(comparison, startOf(comparison));
    this.root = el("div", { class: "mb-player", lang: "en", tabindex: 0, role: "region", "aria-label": "Player" });
    this.root.player = this; // for whoever embeds the page
    host.append(this.root);
    this.sight = new Sight();
    this.#build();
    this.motion = new Motion(this.store, (now) => this.#draw(now));
    this.store.subscribe((changed) => this.#changed(changed));
    this.#listen();
    this.layout();
  }

  /** Take other recordings; where they are the same run grown longer, the playhead stays. */
  async replace(bytes) {
    const comparison = bytes instanceof Uint8Array ? await unpack(bytes) : bytes;
    const { store } = this;
    const isSame = comparison.options.id === store.comparison.options.id;
    const wasLive = store.comparison.options.live;
    const patch = { comparison, runs: comparison.runs };
    if (!isSame) Object.assign(patch, { hidden: null, loop: null, pinned: -1, ...startOf(comparison) });
    else if (wasLive && !comparison.options.live) Object.assign(patch, { isFollowing: false });
    const again = comparison.runs.findIndex((run) => run.label === store.runs[store.focus].label);
    if (again >= 0 && !store.isFollowing && !comparison.options.start?.focus) patch.focus = again;
    else if (isSame) patch.focus = comparison.runs.length - 1;
    store.set(patch);
    this.provenance.draw();
    if (!isSame) this.reveal();
    if (this.fork) this.fork.button.hidden = !comparison.options.knobs;
    this.layout();
    const now = performance.now();
    if (isSame && comparison.options.live && now - (this.chartsDrawn ?? 0) < LIVE_CHARTS_MS) return;
    this.chartsDrawn = now;
    await this.#drawCharts();
  }

  /** Draw the charts for the first time: they wait for the lanes, which need no Vega. */
  async startCharts() {
    this.areChartsAwake = true;
    await this.#drawCharts();
  }

  destroy() {
    this.motion.destroy();
    this.resizes.disconnect();
    this.sight.destroy();
    document.removeEventListener("keydown", this.onKey, true);
    this.scheme.removeEventListener("change", this.onScheme);
    document.removeEventListener("fullscreenchange", this.onFullscreen);
    for (const view of this.views) view.destroy?.();
    this.charts?.destroy();
    this.root.remove();
    if (active === this) active = null;
  }

  /** Read the theme and the sizes anew. Called on every change of either. */
  layout() {
    const { store, root } = this;
    const width = root.clientWidth;
    if (!width) return; // in a hidden tab; the ResizeObserver calls again
    const scale = store.isPresenting ? PRESENT_SCALE : this.store.comparison.options.scale ?? 1;
    const found = readTheme(this.host instanceof ShadowRoot ? this.host.host : this.host, store.comparison.words, scale);
    const isOtherTheme = JSON.stringify(found) !== JSON.stringify(this.theme);
    if (isOtherTheme) this.theme = found;
    applyTheme(root, this.theme);
    root.classList.toggle("mb-narrow", width < NARROW);
    root.classList.toggle("mb-many", store.runs.length > 1);
    root.classList.toggle("mb-present", store.isPresenting);
    this.isNarrow = width < NARROW;
    const inner = (element) => Math.max(120, Math.floor(element.clientWidth));
    this.lanes.forEach((lane, k) => lane.focus(k === store.focus, this.isNarrow && store.runs.length > 1));
    const shown = this.lanes[this.isNarrow ? store.focus : 0].element;
    this.width = inner(shown.querySelector(".mb-lane-slots"));
    const side = inner(shown.querySelector(".mb-lane-side"));
    for (const lane of this.lanes) lane.prepare(this.theme, this.width, side, this.#laneRoom());
    this.axis.prepare(this.theme, this.width);
    if (this.isNarrow) shown.querySelector(".mb-lane-slots").append(this.axis.element);
    else this.lanesBox.after(this.axis.element);
    this.axis.element.style.marginLeft = this.isNarrow ? "0" : `${shown.querySelector(".mb-lane-slots").offsetLeft}px`;
    this.transport.prepare(this.theme, inner(this.transport.element.querySelector(".mb-scrub")));
    const room = this.charts?.element.clientWidth;
    if (isOtherTheme || room !== this.chartsWidth) this.#drawCharts();
    this.chartsWidth = room;
    this.motion.wake();
    this.counted = 0;
  }

  /** Scroll to the player, where its options ask for it. */
  reveal() {
    if (this.store.comparison.options.reveal) this.root.scrollIntoView({ block: "start" });
  }

  /** Enter or leave present mode: nothing but the player, in large type. */
  present() {
    this.store.set({ isPresenting: !this.store.isPresenting });
    if (this.store.isPresenting) this.root.requestFullscreen?.().catch(() => {}); // refused in some frames: it fills the page
    else if (document.fullscreenElement) document.exitFullscreen();
  }

  /** The fills of the lanes, by what they mean. */
  get patterns() {
    return this.lanes[0].slots.patterns;
  }

  escape() {
    if (this.store.isPresenting) this.present();
    else this.store.set({ pinned: -1 });
  }

  help() {
    this.keys.showModal();
  }

  /** Draw everything at once, in the window or not. */
  drawNow() {
    this.#draw(performance.now(), true);
  }

  // -- inside -------------------------------------------------------------------------------------

  /** Most pixels of a lane's slots: presented, all lanes must be in view at once. */
  #laneRoom() {
    const { root, lanesBox, lanes, store, theme } = this;
    if (!store.isPresenting || this.isNarrow) return Infinity;
    const around = 34 * theme.scale; // the gap and the line above the slots
    return (root.clientHeight - lanesBox.offsetTop - 30 * theme.scale) / lanes.length - around;
  }

  #build() {
    const { store, options, root } = this;
    this.provenance = new Provenance(store);
    this.transport = new Transport(this);
    this.tabs = el("div", { class: "mb-tabs", role: "group", "aria-label": "Lane" });
    this.lanesBox = el("div", { class: "mb-lanes" });
    this.axis = new Axis(store);
    this.why = new WhyCard(store);
    this.story = new Story(store);
    this.predict = new Predict(store, options.storage ?? storageOrNothing());
    this.charts = options.vegaEmbed ? new Charts(store, options.vegaEmbed, {}) : null;
    this.mirror = new Mirror(store, (run, place, runs, places) => [
      describeRoofline(run, place), describeTokens(runs, places), describeDurations(run, place),
    ]);
    this.fork = options.onFork ? new ForkDialog(this) : null;
    if (this.fork) this.fork.button.hidden = !store.comparison.options.knobs; // a run in progress offers none
    this.share = new Share(this);
    this.takeAway = new TakeAway(this);
    this.keys = keysDialog();
    this.views = [this.why, this.story, this.predict, this.mirror];
    this.fixedLegend = el("div", {});
    const tools = el("div", { class: "mb-tools" }, this.fork?.button, this.share.button, this.takeAway.element,
      el("button", { type: "button", text: "Present", title: "Present mode (P)", on: { click: () => this.present() } }),
      el("button", { type: "button", text: "Keys", title: "List of keys (?)", on: { click: () => this.help() } }));
    const left = el("div", { class: "mb-left" }, this.predict.element, this.why.element);
    const right = el("div", { class: "mb-right" }, this.charts?.element);
    root.append(this.provenance.element, this.transport.element, this.tabs, this.lanesBox, this.axis.element, this.fixedLegend,
      tools, el("div", { class: "mb-panels" }, left, right), this.story.element, this.mirror.element, this.keys,
      ...(this.fork ? [this.fork.dialog] : []), this.share.dialog);
    root.classList.toggle("mb-bare", store.comparison.options.controls === "none");
    this.#buildLanes();
    this.provenance.draw();
  }

  #buildLanes() {
    const { store } = this;
    this.laneNames = namesOf(store.runs);
    this.lanes = store.runs.map((_, index) => new Lane(store, index));
    this.lanesBox.replaceChildren(...this.lanes.map((lane) => lane.element));
    this.fixedLegend.replaceChildren(legend(store.comparison.words));
    this.tabs.replaceChildren(...store.runs.map((run, index) =>
      el("button", { type: "button", text: run.label, on: { click: () => store.set({ focus: index }) } })));
    this.#pressTab();
    this.sight.watch([...this.lanes, ...(this.charts ? [this.charts] : [])].map(({ element }) => element));
  }

  #listen() {
    this.onKey = (event) => {
      const isInside = event.composedPath().includes(this.root);
      const isFree = !document.activeElement || document.activeElement === document.body;
      if (!isInside && !(isFree && active === this)) return;
      const action = this.store.comparison.options.controls === "none" && !isInside ? null : actionOf(event);
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action(this);
    };
    // Captured, because the page around may have keys of its own.
    document.addEventListener("keydown", this.onKey, true);
    active ??= this;
    this.root.addEventListener("pointerdown", () => { active = this; });
    this.resizes = new ResizeObserver(() => this.layout());
    this.resizes.observe(this.root);
    this.scheme = window.matchMedia("(prefers-color-scheme: dark)");
    this.onScheme = () => this.layout();
    this.scheme.addEventListener("change", this.onScheme);
    this.onFullscreen = () => {
      if (!document.fullscreenElement && this.store.isPresenting && this.wasFullscreen) this.store.set({ isPresenting: false });
      this.wasFullscreen = Boolean(document.fullscreenElement);
    };
    document.addEventListener("fullscreenchange", this.onFullscreen);
  }

  #changed(changed) {
    // Before anything is laid out: a lane draws the run that stands in its place.
    if (changed.has("runs") && namesOf(this.store.runs) !== this.laneNames) this.#buildLanes();
    const isStructural = ["focus", "view", "isPresenting"].some((name) => changed.has(name));
    if (isStructural) {
      this.layout();
      if (changed.has("focus") || changed.has("isPresenting")) this.#drawCharts();
    }
    if (changed.has("axis")) this.#drawCharts();
    if (changed.has("focus")) this.#pressTab();
  }

  #drawCharts() {
    if (!this.charts || !this.areChartsAwake || !this.theme) return Promise.resolve(); // without a theme, no width yet
    this.charts.theme = this.theme;
    return this.charts.draw();
  }

  #pressTab() {
    for (const [index, tab] of [...this.tabs.children].entries()) tab.setAttribute("aria-pressed", String(index === this.store.focus));
  }

  #draw(now, isForced = false) {
    const { store, width } = this;
    if (!width) return;
    const places = store.places;
    const told = places.map((place, k) => (store.hidden?.lane === k ? beforeQuestion(store, place) : place));
    const scale = sharedScale(store, width, 34 * this.theme.scale);
    const request = store.hover.request >= 0 ? store.hover.request : store.pinned;
    const isCounting = !store.isPlaying || !this.counted || now - this.counted > COUNT_MS;
    if (isCounting) this.counted = now;
    const isWhole = isForced || !store.isPlaying || this.takeAway.isFilming;
    const isShown = ({ element }) => isWhole || this.sight.has(element);
    this.lanes.forEach((lane, k) => {
      if ((this.isNarrow && k !== store.focus) || !isShown(lane)) return;
      lane.draw(scale, places[k], request);
      if (isCounting) lane.count(told[k]);
    });
    this.axis.draw(scale);
    this.transport.draw(places, isCounting);
    this.root.classList.toggle("mb-asking", Boolean(store.hidden));
    for (const view of this.views) view.update(told);
    if (this.charts && !store.hidden && isShown(this.charts)) this.charts.update(places);
    if (!this.hasDrawn) performance.mark(LANES_DRAWN);
    this.hasDrawn = true;
  }
}

/** What tells other lanes from the same ones grown longer. */
function namesOf(runs) {
  return runs.map((run) => `${run.label}\n${run.clocks}\n${run.slots}`).join("\n");
}

/** Where a run is, told as if the step that a question is about had not begun: in the one before. */
function beforeQuestion(store, place) {
  const i = store.hidden.iteration - 1;
  return place.i > i ? { ...place, i, ended: i + 1, isRunning: i >= 0 } : place;
}

function storageOrNothing() {
  try {
    return window.localStorage;
  } catch {
    return null; // a sandboxed frame has none
  }
}
