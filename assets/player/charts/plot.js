// One chart: Vega draws its axes and its whole faint once, canvases above it show what is alive.

import { el, Surface } from "../core/dom.js";

const EMBED = {
  mode: "vega-lite", renderer: "canvas", actions: false, ast: true, defaultStyle: false, hover: false, tooltip: false,
};

/**
 * A figure with a chart in it. Its canvases, from below: `past` for what lies behind the playhead, `marks`
 * for labels and emphasis, `live` for what changes with every frame. They share the coordinates of
 * `x`, `y` and `frame`: CSS pixels from the chart's upper left corner.
 */
export class Plot {
  constructor(name, heading, label) {
    this.vega = el("div", { "aria-hidden": "true" });
    this.past = new Surface();
    this.marks = new Surface();
    this.live = new Surface();
    this.playhead = el("div", { class: "mb-chart-playhead", hidden: true });
    const [past, ...above] = [this.past, this.marks, this.live].map((surface) => surface.canvas);
    const layers = [this.vega, past, this.playhead, ...above];
    this.area = el("div", { class: "mb-plot", role: "img", "aria-label": label }, ...layers);
    this.key = el("span", { class: "mb-chart-key" });
    const caption = el("figcaption", {}, el("h3", { text: heading }), this.key);
    this.element = el("figure", { class: `mb-chart-${name}` }, caption, this.area);
    this.view = null;
    this.embedded = "";
  }

  get isReady() {
    return this.view !== null;
  }

  /**
   * Draw, or draw again: embeds only if the words or the look have changed, else gives the view new rows.
   * @param {object} spec of minibatch/ui/player/charts.py
   * @param {{words: object, params: object, rows: object}} inputs words in titles, values of parameters,
   *   rows of named sources
   * @param {{config: object, padding: object, height: number}} look
   */
  async draw(vegaEmbed, spec, inputs, look) {
    const width = this.area.clientWidth;
    if (!width) return;
    this.area.style.height = `${look.height}px`;
    const { left, right, top, bottom } = look.padding;
    this.frame = { left, top, width: Math.max(40, width - left - right), height: look.height - top - bottom };
    const embedded = JSON.stringify([inputs.words, look]);
    if (this.view && embedded === this.embedded) await this.#feed(inputs);
    else await this.#embed(vegaEmbed, spec, inputs, look);
    this.embedded = embedded;
    for (const surface of [this.past, this.marks, this.live]) {
      surface.resize(width, look.height);
      surface.canvas.style.width = `${width}px`;
    }
    this.#measure();
  }

  async #embed(vegaEmbed, spec, { words, params, rows }, { config, padding }) {
    const titled = JSON.stringify(spec).replace(/\{(\w+)\}/g, (_, word) => words[word]);
    const { width, height } = this.frame;
    const filled = { ...JSON.parse(titled), width, height, padding, config, datasets: rows };
    filled.params = filled.params.map((param) => ({ ...param, value: params[param.name] }));
    // Into an element of its own, so that the chart before stays until this one is drawn.
    const host = el("div");
    const { view, finalize } = await vegaEmbed(host, filled, EMBED);
    this.finalize?.();
    Object.assign(this, { view, finalize });
    this.vega.replaceChildren(host);
  }

  async #feed({ params, rows }) {
    const { view, frame } = this;
    for (const [name, value] of Object.entries(params)) view.signal(name, value);
    for (const [name, values] of Object.entries(rows)) view.data(name, values);
    await view.width(frame.width).height(frame.height).runAsync();
  }

  #measure() {
    const [left, top] = this.view.origin();
    const padding = this.view.padding();
    const x = this.view.scale("x");
    const y = this.view.scale("y");
    this.x = (value) => padding.left + left + x(value);
    this.y = (value) => padding.top + top + y(value);
    this.positionAt = (pixel) => x.invert(pixel - padding.left - left);
    const { style } = this.playhead;
    Object.assign(style, { top: `${this.frame.top}px`, height: `${this.frame.height}px` });
  }

  /** Show the part of `past` that lies left of a pixel, and the playhead there. */
  drawCurtain(pixel) {
    if (pixel === this.curtain) return;
    this.curtain = pixel;
    this.past.canvas.style.clipPath = `inset(0 ${(this.past.width - pixel).toFixed(2)}px 0 0)`;
    this.playhead.style.transform = `translateX(${pixel.toFixed(2)}px)`;
    this.playhead.hidden = false;
  }

  /** Where a pointer is, in the coordinates of the canvases. */
  pointer(event) {
    const { left, top } = this.area.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  destroy() {
    this.finalize?.();
    this.view = null;
    this.element.remove();
  }
}
