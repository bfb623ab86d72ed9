// The charts beside the lanes: roofline, tokens generated, duration of each step.

import { DurationsChart } from "./durations.js";
import { chartHeights, chartPadding, chartsConfig, chartsStyle } from "./look.js";
import { RooflineChart } from "./roofline.js";
import { ByteSplit } from "./split.js";
import { TokensChart } from "./tokens.js";
import { el } from "../core/dom.js";

/**
 * Three charts that follow the playhead. Vega draws the whole of the runs once; a frame only touches
 * canvases over it.
 *
 * Call `draw` once `element` is on the page, and again whenever runs, axis, focus, `theme` or the element's
 * width change; `update` with every frame.
 */
export class Charts {
  #drawing = null;
  #isStale = false;

  /**
   * @param {Store} store its comparison holds the specs of minibatch/ui/player/charts.py as `charts`
   * @param {Function} vegaEmbed
   * @param {Theme} theme of theme.js
   */
  constructor(store, vegaEmbed, theme) {
    this.store = store;
    this.vegaEmbed = vegaEmbed;
    this.theme = theme;
    this.roofline = new RooflineChart(store);
    this.tokens = new TokensChart(store);
    this.durations = new DurationsChart(store);
    this.split = new ByteSplit(store);
    this.roofline.plot.element.append(this.split.element);
    this.named = { roofline: this.roofline, tokens: this.tokens, durations: this.durations };
    this.sheet = el("style");
    const figures = Object.values(this.named).map((chart) => chart.plot.element);
    this.element = el("div", { class: "mb-charts" }, this.sheet, el("div", { class: "mb-charts-grid" }, ...figures));
    this.isReady = false;
    this.isDestroyed = false;
  }

  /** Draw everything anew; calls that come while this goes on are one more drawing after it. */
  draw() {
    this.#isStale = true;
    this.#drawing ??= this.#drawAll().finally(() => (this.#drawing = null));
    return this.#drawing;
  }

  /** Follow the playhead; as cheap as it is often. @param {object[]} places `store.places` */
  update(places) {
    if (!this.isReady || places.length !== this.roofline.map.lanes.length) return;
    for (const chart of Object.values(this.named)) chart.update(places);
    this.split.update(places);
  }

  /** Where an iteration's point lies on the roofline, in CSS pixels from the chart's corner; null if nowhere. */
  pointAt(lane, iteration) {
    return this.roofline.pointAt(lane, iteration);
  }

  destroy() {
    this.isDestroyed = true;
    this.isReady = false;
    for (const chart of Object.values(this.named)) chart.plot.destroy();
    this.element.remove();
  }

  async #drawAll() {
    while (this.#isStale && !this.isDestroyed) {
      this.#isStale = false;
      await this.#drawOnce();
    }
  }

  async #drawOnce() {
    const { store, theme, vegaEmbed } = this;
    const style = chartsStyle(theme);
    if (this.sheet.textContent !== style) this.sheet.textContent = style;
    if (!this.element.clientWidth || !store.runs.length) return;
    const { runs, hidden } = store;
    if (runs.length !== this.roofline.map?.lanes.length) this.isReady = false;
    const limits = runs.map((run, lane) => (hidden?.lane === lane ? Math.min(run.n, hidden.iteration + 1) : run.n));
    const clocks = [...new Set(runs.map((run) => run.clocks))].join(" and ");
    const look = { config: chartsConfig(theme), padding: chartPadding(theme) };
    const heights = chartHeights(theme);
    for (const [name, chart] of Object.entries(this.named)) {
      const inputs = chart.inputs(limits, clocks, theme);
      await chart.plot.draw(vegaEmbed, store.comparison.charts[name], inputs, { ...look, height: heights[name] });
      if (this.isDestroyed) return;
      if (chart.plot.isReady) chart.place(theme);
    }
    this.split.place(theme);
    this.isReady = Object.values(this.named).every((chart) => chart.plot.isReady);
    this.update(store.places);
  }
}
