// A chart, the same as a table, and, once it has been seen through, that it lies.

import { el } from "../player/core/dom.js";
import { chartsConfig } from "../player/charts/look.js";
import { safeHtml } from "./lesson_parts.js";
import { chartLocale } from "./numbers.js";

export function chartBlock(block, context) {
  const { words } = context;
  const plot = el("div", { class: "mbl-chart-plot", "aria-hidden": "true" });
  const badge = el("p", { class: "mbl-lies", hidden: true }, el("span", { text: words("lies") }));
  const title = safeHtml("h3", "mbl-chart-title", block.title);
  const caption = safeHtml("figcaption", "mbl-caption", block.caption_html);
  const element = el("figure", { class: "mbl-figure-box mbl-chart" }, title, badge, plot, caption, chartTable(block, words));
  const drawing = new ChartDrawing(plot, block.spec, context);
  const expose = () => { badge.hidden = !block.lies || context.hides("answers"); };
  return { element, expose, retheme: () => drawing.draw(), rescale: () => drawing.draw(), beforePrint: () => drawing.draw(true), destroy: () => drawing.destroy() };
}

/** One Vega view, drawn when it comes near the window and anew when the page's colours change. */
class ChartDrawing {
  constructor(plot, spec, context) {
    Object.assign(this, { plot, spec, context, view: null, isNear: false });
    this.observer = new IntersectionObserver((entries) => {
      this.isNear = entries.at(-1).isIntersecting;
      if (this.isNear && !this.view) this.draw();
    }, { rootMargin: "400px" });
    this.observer.observe(plot);
  }

  /** @param {boolean} [isWanted] draw it wherever it stands */
  async draw(isWanted = this.isNear) {
    const { vegaEmbed } = this.context.options;
    if (!vegaEmbed || !isWanted) {
      this.destroyView();
      return;
    }
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const theme = this.context.theme();
    const height = Number.isFinite(this.spec.height) ? { height: this.spec.height * theme.scale } : {};
    const spec = { ...this.spec, ...height, config: this.#config(theme) };
    try {
      const result = await vegaEmbed(this.plot, spec, { actions: false, renderer: "svg", ast: true, tooltip: false });
      if (turn !== this.turn || this.isGone) result.finalize();
      else this.view = result;
    } catch (error) {
      console.error(error);
    }
  }

  #config(theme) {
    const config = lessonChartConfig(theme);
    const legend = { ...config.legend, ...legendRoom(this.spec, this.plot.clientWidth, theme.scale) };
    return { ...config, legend, locale: chartLocale(this.context.marks) };
  }

  destroyView() {
    this.view?.finalize();
    this.view = null;
    if (this.plot.isConnected) this.plot.replaceChildren();
  }

  destroy() {
    this.isGone = true;
    this.observer.disconnect();
    this.destroyView();
  }
}

function lessonChartConfig(theme) {
  const config = chartsConfig(theme);
  const { ink, muted, scale } = theme;
  return {
    ...config,
    axisY: { ...config.axisY, titleX: 0, titleY: -12 * scale, titleAlign: "left", titleAngle: 0, titleBaseline: "bottom", titleAnchor: "end" },
    legend: { labelColor: ink, titleColor: muted, labelFontSize: 12 * scale, orient: "top", direction: "vertical", offset: 32 * scale, symbolStrokeWidth: 2 * scale, rowPadding: 3 * scale, titleFontSize: 12 * scale },
    mark: { color: theme.accent },
    line: { strokeWidth: 2 * scale },
    point: { size: 60 * scale },
    range: { category: [theme.accent, ink, muted, muted] },
  };
}

/** How many names of series stand side by side in a legend: Vega would let them run out of the chart. */
function legendRoom(spec, width, scale) {
  const names = [...new Set(spec.data.values.map(({ series }) => series))];
  const widest = (48 + 7 * Math.max(...names.map((name) => name.length))) * scale;
  return { columns: Math.max(1, Math.min(names.length, Math.floor(width / widest))), labelLimit: Math.max(80, width - 60 * scale) };
}

/** The chart's values as a table: its text mirror. */
function chartTable({ table }, words) {
  if (!table) return null;
  const head = el("tr", {}, ...table.columns.map((name) => el("th", { scope: "col", text: name || words("series") })));
  const rows = table.rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", { text: String(cell) }))));
  return el("details", { class: "mbl-mirror" }, el("summary", { text: words("as_table") }),
    el("div", { class: "mbl-wide", tabindex: 0, role: "group", "aria-label": words("as_table") }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))));
}
