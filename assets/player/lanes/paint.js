// Painting what slots do. Phases differ by pattern, outline and letter as well as by colour.

import { DECODE, PADDING, PREFILL, STALLED } from "../core/phases.js";
import { requestColour, requestInk } from "../core/theme.js";

/** The letter of each phase, by its number; idle slots while a request waits have W. */
export const LETTERS = ["P", "D", "X", "S"];
const LABEL_ROW = 9; // pixels of a row that holds a label
const LABEL_CELL = 22; // and of a cell

/** Fills that repeat, made once for a theme and a screen. */
export class Patterns {
  constructor(theme, ratio) {
    this.ratio = ratio;
    const shade = theme.isDark ? "rgba(255,255,255,0.5)" : "rgba(128,134,144,0.75)";
    this.prefill = this.#make(6, (context) => stripes(context, 6, 2.4, "rgba(0,0,0,0.42)", "rgba(255,255,255,0.55)"));
    this.padding = this.#make(6, (context) => crosses(context, 6, shade));
    this.waiting = this.#make(6, (context) => dot(context, 3, 3, theme.isDark ? "rgba(255,255,255,0.28)" : "rgba(60,66,76,0.3)"));
  }

  #make(size, draw) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = size * this.ratio;
    const context = canvas.getContext("2d");
    context.scale(this.ratio, this.ratio);
    draw(context);
    const pattern = context.createPattern(canvas, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / this.ratio));
    return pattern;
  }
}

function stripes(context, size, width, dark, light) {
  context.fillStyle = dark;
  context.fillRect(0, 0, size, size);
  context.strokeStyle = light;
  context.lineWidth = width;
  context.beginPath();
  for (const shift of [-size, 0, size]) {
    context.moveTo(shift, size);
    context.lineTo(shift + size, 0);
  }
  context.stroke();
}

function crosses(context, size, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 0.8;
  context.beginPath();
  context.moveTo(0, 0);
  context.lineTo(size, size);
  context.moveTo(size, 0);
  context.lineTo(0, size);
  context.stroke();
}

function dot(context, x, y, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, 0.9, 0, 7);
  context.fill();
}

/**
 * Paints one run's slots on a context whose pixel 0 is at `scale.origin`.
 * @param {object} look {theme, patterns, rowHeight}
 */
export class SlotPainter {
  constructor(run, segments, look) {
    Object.assign(this, { run, segments, ...look });
    this.inset = this.rowHeight > 5 ? 1 : 0.4;
    this.font = `600 ${Math.min(12 * this.theme.scale, (this.rowHeight - 2 * this.inset) * 0.86)}px ${this.theme.font}`;
    this.widths = new Map();
  }

  /** Make a context ready for `segment`. */
  ready(context) {
    context.font = this.font;
    context.textBaseline = "middle";
  }

  /** Everything between two positions of the axis. */
  paint(context, scale, from, to) {
    const { run, theme, rowHeight } = this;
    this.ready(context);
    const height = run.slots * rowHeight;
    const ground = Math.min(scale.x(to), scale.x(run.lastPosition(scale.axis))) - scale.x(from);
    if (ground > 0) {
      context.fillStyle = theme.lane;
      context.fillRect(scale.x(from), 0, ground, height);
      this.#crowded(context, scale, from, to, height);
      context.fillStyle = theme.surface;
      for (let slot = 1; slot < run.slots; slot++) {
        context.fillRect(scale.x(from), slot * rowHeight - this.inset, ground, 2 * this.inset);
      }
    }
    const [first, last] = this.#iterations(scale.axis, from, to);
    for (let slot = 0; slot < run.slots; slot++) {
      const rows = this.segments.bySlot.of(slot);
      for (let k = this.segments.firstFrom(rows, first); k < rows.length && this.segments.from[rows[k]] <= last; k++) {
        this.segment(context, scale, rows[k]);
      }
    }
    this.#cells(context, scale, first, last, height);
  }

  /** One segment: its fill, and its label where there is room. The context is `ready`. */
  segment(context, scale, k) {
    const { run, theme, patterns, rowHeight, inset } = this;
    const { from, to, phase, request, slot } = this.segments;
    const x = scale.x(run.position(scale.axis, from[k]));
    const width = Math.max(0.7, scale.x(run.endPosition(scale.axis, to[k])) - x);
    const y = slot[k] * rowHeight + inset;
    const height = rowHeight - 2 * inset;
    const colour = requestColour(theme, request[k]);
    if (phase[k] === PADDING) {
      this.#fill(context, patterns.padding, x, y, width, height);
    } else if (phase[k] === STALLED) {
      context.fillStyle = theme.surface;
      context.fillRect(x, y, width, height);
      context.strokeStyle = colour;
      context.lineWidth = Math.min(1.6, height / 4);
      const half = context.lineWidth / 2;
      context.strokeRect(x + half, y + half, Math.max(0.1, width - 2 * half), height - 2 * half);
    } else {
      context.fillStyle = colour;
      context.fillRect(x, y, width, height);
      if (phase[k] === PREFILL) this.#prefill(context, k, x, y, width, height);
    }
    this.#label(context, scale, k, x, y, width, height);
  }

  /** Stripes over the part that computes the prompt, crosses over its padding. */
  #prefill(context, k, x, y, width, height) {
    const { run, segments, theme, patterns } = this;
    const row = run.rowInSlot(segments.slot[k], segments.from[k]);
    const { tokens, padding } = run.entries;
    const real = width * (tokens[row] / Math.max(1, tokens[row] + padding[row]));
    this.#fill(context, patterns.prefill, x, y, real, height);
    if (real < width) {
      context.fillStyle = theme.lane;
      context.fillRect(x + real, y, width - real, height);
      this.#fill(context, patterns.padding, x + real, y, width - real, height);
    }
  }

  #fill(context, pattern, x, y, width, height) {
    context.fillStyle = pattern;
    context.fillRect(x, y, width, height);
  }

  #label(context, scale, k, x, y, width, height) {
    if (this.rowHeight < LABEL_ROW) return;
    const { run, segments } = this;
    const name = `r${segments.request[k]}`;
    const [first, last] = [segments.from[k], segments.to[k]];
    const cell = width / (last - first + 1);
    if (cell >= LABEL_CELL) {
      const [from, to] = this.#inSight(scale);
      for (let i = Math.max(first, from); i <= Math.min(last, to); i++) {
        const left = scale.x(run.position(scale.axis, i));
        const room = scale.x(run.endPosition(scale.axis, i)) - left;
        const text = i === first ? `${name} ${LETTERS[segments.phase[k]]}` : name;
        this.#write(context, k, text, left, y, room, height, "center") ||
          this.#write(context, k, name, left, y, room, height, "center");
      }
    } else if (segments.labelled[k]) {
      this.#write(context, k, name, x, y, width, height, "left");
    }
  }

  /** The first and last iteration on a context as wide as its scale. */
  #inSight(scale) {
    if (scale !== this.sight?.scale) {
      this.sight = { scale, range: this.#iterations(scale.axis, scale.origin, scale.position(scale.width)) };
    }
    return this.sight.range;
  }

  /** Write on a segment if it fits; says whether it did. */
  #write(context, k, text, x, y, width, height, align) {
    if (!this.widths.has(text)) this.widths.set(text, context.measureText(text).width);
    const wide = this.widths.get(text);
    if (wide + 5 > width) return false;
    const { theme, segments } = this;
    const isFilled = segments.phase[k] === PREFILL || segments.phase[k] === DECODE;
    const left = align === "left" ? x + 4 : x + (width - wide) / 2;
    if (segments.phase[k] !== DECODE) {
      // Letters on a pattern need a quiet ground.
      context.fillStyle = isFilled ? requestColour(theme, segments.request[k]) : theme.surface;
      context.fillRect(left - 2, y + 1, wide + 4, height - 2);
    }
    context.fillStyle = isFilled ? requestInk(theme, segments.request[k]) : theme.ink;
    context.fillText(text, left, y + height / 2 + 0.5);
    return true;
  }

  #crowded(context, scale, from, to, height) {
    const key = scale.axis === "time" ? "time" : "iterations";
    context.fillStyle = this.patterns.waiting;
    for (const stretch of this.segments.crowded) {
      const [begins, ends] = stretch[key];
      if (ends <= from || begins >= to) continue;
      const x = scale.x(Math.max(begins, from));
      context.fillRect(x, 0, scale.x(Math.min(ends, to)) - x, height);
    }
  }

  /** Lines between iterations, where they are wide enough to be told apart; and the letter of idle slots. */
  #cells(context, scale, first, last, height) {
    const { run, theme } = this;
    for (let i = first; i <= last; i++) {
      const x = scale.x(run.position(scale.axis, i));
      const width = scale.x(run.endPosition(scale.axis, i)) - x;
      context.fillStyle = theme.surface;
      if (width > 7) context.fillRect(x - 0.4, 0, 0.8, height);
      if (width >= LABEL_CELL && this.rowHeight >= LABEL_ROW && run.numWaiting[i]) this.#idle(context, i, x, width);
    }
  }

  #idle(context, i, x, width) {
    const { run, theme, rowHeight } = this;
    const isHeld = new Set(Array.from(run.rowsAt(i), (row) => run.entries.slot[row]));
    context.font = `600 ${Math.min(12 * theme.scale, rowHeight * 0.8)}px ${theme.font}`;
    context.textBaseline = "middle";
    const left = x + (width - context.measureText("W").width) / 2;
    for (let slot = 0; slot < run.slots; slot++) {
      if (isHeld.has(slot)) continue;
      context.fillStyle = theme.lane;
      context.fillRect(left - 2, (slot + 0.5) * rowHeight - 6, 14, 12);
      context.fillStyle = theme.muted;
      context.fillText("W", left, (slot + 0.5) * rowHeight + 0.5);
    }
  }

  #iterations(axis, from, to) {
    const { run } = this;
    if (axis === "iterations") return [Math.max(0, Math.floor(from)), Math.min(run.n - 1, Math.ceil(to))];
    return [Math.max(0, run.iterationAt(from)), run.iterationAt(to)];
  }
}
