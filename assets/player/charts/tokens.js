// Tokens written by every run, against the axis of the lanes.

import { axisTitle, clickToSeek, inUnits, linearTicks } from "./axis.js";
import { LabelPen, stackLabels } from "./labels.js";
import { chartHeights, chartPadding } from "./look.js";
import { Plot } from "./plot.js";
import { writtenAt } from "./text.js";

const DASHES = [[], [7, 3], [2, 2], [10, 3, 2, 3], [4, 4]]; // as in minibatch/ui/player/charts.py
const LINE_COLUMNS = 700; // about the pixels of an axis: finer detail is left out

/** Tokens written by every run, one line each. */
export class TokensChart {
  constructor(store) {
    this.store = store;
    this.plot = new Plot("tokens", "Tokens written", "Tokens written by each policy");
    clickToSeek(this.plot, store);
  }

  inputs(limits, clocks, theme) {
    const { runs, axis, end } = this.store;
    this.theme = theme;
    this.lines = runs.map((run, lane) => tokenLine(run, axis, limits[lane], end / LINE_COLUMNS));
    const most = Math.max(1, ...runs.map((run) => (run.n ? run.written[run.n - 1] : 0)));
    const rows = this.lines.flatMap((line, run) => line.map(([x, tokens]) => ({ run, x: inUnits(axis, x), tokens })));
    return {
      words: { axis: axisTitle(axis) },
      params: { x_domain: [0, inUnits(axis, end)], y_domain: [0, most * this.#stack()], y_ticks: linearTicks(most) },
      rows: { written: rows },
    };
  }

  place(theme) {
    const { plot } = this;
    const { axis, focus } = this.store;
    this.pixels = this.lines.map((line) => line.map(([x, tokens]) => [plot.x(inUnits(axis, x)), plot.y(tokens)]));
    const context = plot.past.clear();
    context.lineJoin = "round";
    this.pixels.forEach((line, lane) => strokeLine(context, line, lane, theme, lane === focus));
    this.#drawNames(plot.marks.clear());
    this.focus = focus;
    this.seen = null;
  }

  update(places) {
    const { axis, position, focus, runs } = this.store;
    if (focus !== this.focus) this.place(this.theme);
    const pixel = this.plot.x(inUnits(axis, position));
    this.plot.drawCurtain(pixel);
    const seen = `${pixel.toFixed(1)},${places.map((place) => place.ended).join()}`;
    if (seen === this.seen) return;
    this.seen = seen;
    const context = this.plot.live.clear();
    const { accent, ink, surface, scale } = this.theme;
    runs.forEach((run, lane) => {
      const { isDone, i } = places[lane];
      if (i < 0) return;
      const x = Math.min(pixel, this.plot.x(inUnits(axis, run.lastPosition(axis))));
      const y = isDone ? this.plot.y(writtenAt(run, places[lane])) : heightAt(this.pixels[lane], x);
      context.beginPath();
      context.arc(x, y, 3.5 * scale, 0, 2 * Math.PI);
      context.fillStyle = lane === focus ? accent : ink;
      context.strokeStyle = surface;
      context.lineWidth = 1.5 * scale;
      context.fill();
      context.stroke();
    });
  }

  /** Find rows for the policies' names over the ends of their lines; how much higher the chart must be for them. */
  #stack() {
    const { runs, axis, end } = this.store;
    const { plot, theme } = this;
    const padding = chartPadding(theme);
    const width = plot.area.clientWidth - padding.left - padding.right;
    this.pen = new LabelPen(theme);
    this.names = this.lines.flatMap((line, lane) => {
      if (!line.length) return [];
      const x = padding.left + (line[line.length - 1][0] / end) * width;
      return [{ lane, x, text: runs[lane].label, width: this.pen.width(plot.marks.context, runs[lane].label) }];
    });
    this.names.sort((a, b) => a.x - b.x);
    const places = stackLabels(this.names, padding.left, 4 * theme.scale);
    this.names.forEach((name, k) => Object.assign(name, places[k]));
    const height = chartHeights(theme).tokens - padding.top - padding.bottom;
    this.rows = 1 + Math.max(0, ...places.map(({ row }) => row));
    return height / Math.max(height / 3, height - this.rows * this.pen.height);
  }

  #drawNames(context) {
    const { theme, pen, plot } = this;
    this.boxes = this.names.map(({ left, width, row }) => {
      const top = Math.round(plot.frame.top - 4 * theme.scale) + (this.rows - 1 - row) * pen.height;
      return { left, top, width, height: pen.height };
    });
    context.fillStyle = theme.muted;
    this.names.forEach(({ lane, x }, k) => {
      const line = this.pixels[lane];
      const { top } = this.boxes[k];
      context.fillRect(x - 0.5, top + 2, 1, Math.max(0, line[line.length - 1][1] - top - 2));
    });
    this.names.forEach(({ lane, text }, k) => {
      const { left, top, height } = this.boxes[k];
      pen.write(context, text, left, top + height / 2, lane === this.store.focus ? theme.accent : theme.ink);
    });
  }
}

/** [position, tokens] wherever the line bends by more than a pixel; it is level where nothing runs. */
function tokenLine(run, axis, limit, least) {
  const line = [];
  let kept = -Infinity;
  for (let i = 0; i < limit; i++) {
    const start = run.position(axis, i);
    const end = run.endPosition(axis, i);
    const before = i ? run.written[i - 1] : 0;
    const rested = i === 0 || start - run.endPosition(axis, i - 1) > least;
    if (rested) {
      if (i) line.push([run.endPosition(axis, i - 1), before]);
      line.push([start, before]);
    }
    if (end - kept < least && i < limit - 1) continue;
    kept = end;
    line.push([end, run.written[i]]);
  }
  return line;
}

function strokeLine(context, line, lane, theme, isFocus) {
  context.strokeStyle = isFocus ? theme.accent : theme.ink;
  context.lineWidth = (isFocus ? 2.4 : 1.8) * theme.scale;
  context.setLineDash(DASHES[lane % DASHES.length]);
  context.beginPath();
  line.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
  context.setLineDash([]);
}

/** Where a line of pixels runs at `x`. */
function heightAt(line, x) {
  let low = 0;
  let high = line.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (line[middle][0] <= x) low = middle;
    else high = middle;
  }
  const [[x0, y0], [x1, y1]] = [line[low], line[high]];
  return x1 > x0 ? y0 + (y1 - y0) * Math.min(1, Math.max(0, (x - x0) / (x1 - x0))) : y1;
}
