// The axis under the lanes: ticks of seconds or of iterations.

import { Surface } from "../core/dom.js";
import { threeFigures } from "../core/format.js";

export class Axis {
  constructor(store) {
    this.store = store;
    this.surface = new Surface({ class: "mb-axis", "aria-hidden": "true" });
    this.element = this.surface.canvas;
  }

  prepare(theme, width) {
    this.theme = theme;
    this.surface.resize(width, Math.round(22 * theme.scale));
    this.drawn = "";
  }

  draw(scale) {
    const key = `${scale.axis} ${scale.origin} ${scale.factor}`;
    if (key === this.drawn) return;
    this.drawn = key;
    const { theme, surface } = this;
    const context = surface.clear();
    if (this.store.end <= 1) return; // nothing ran
    context.font = `${12 * theme.scale}px ${theme.font}`;
    context.fillStyle = theme.muted;
    context.textBaseline = "alphabetic";
    const step = tickStep((110 * theme.scale) / scale.factor, scale.axis);
    const last = scale.position(scale.width);
    for (let at = Math.ceil(scale.origin / step) * step; at <= last + step * 1e-6; at += step) {
      const x = scale.x(at);
      context.fillRect(Math.round(x) - 0.5, 0, 1, 4);
      const text = scale.axis === "time" ? seconds(at, step) : String(Math.round(at));
      const wide = context.measureText(text).width;
      context.fillText(text, Math.min(Math.max(0, x - wide / 2), scale.width - wide), 16 * theme.scale);
    }
  }
}

/** A round step that is at least `least` long: 1, 2 or 5 times a power of ten. */
function tickStep(least, axis) {
  if (axis === "iterations") least = Math.max(1, least);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least * 0.999);
}

function seconds(ns, step) {
  if (ns === 0) return "0 s";
  const digits = Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9));
  return `${digits > 3 ? threeFigures(ns / 1e9) : (ns / 1e9).toFixed(digits)} s`;
}
