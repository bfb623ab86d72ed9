// The ceilings of the roofline: where they run, and what is written at them.

import { threeFigures } from "../core/format.js";
import { ridgeOf, flopsInWords } from "./text.js";
import { LabelPen } from "./labels.js";

/**
 * The distinct ceilings of some runs.
 * @returns {{peak: number, bandwidth: number, ridge: number, source: string}[]} in
 *   GFLOP/s, GB/s and FLOP/byte
 */
export function ceilingsOf(runs) {
  const found = new Map();
  for (const run of runs) {
    if (!run.ceilings) continue;
    const { flops_per_s: flops, bytes_per_s: bytes, source = "" } = run.ceilings;
    found.set(`${flops} ${bytes}`, { peak: flops / 1e9, bandwidth: bytes / 1e9, ridge: ridgeOf(run), source });
  }
  return [...found.values()];
}

/** Domains that hold every point, and every ridge with room beside it. */
export function rooflineDomains(limits, ceilings) {
  const intensity = limits ? [...limits.intensity] : [1, 10];
  const gflops = limits ? [...limits.gflops] : [1, 10];
  for (const { peak, ridge } of ceilings) {
    intensity.push(ridge * 5, ridge / 3);
    gflops.push(peak * 1.7);
  }
  // On round numbers, so that a live run seldom moves its axes.
  return {
    x_domain: [stepBelow(Math.min(...intensity) / 1.1), stepAbove(Math.max(...intensity) * 1.1)],
    y_domain: [stepBelow(Math.min(...gflops) / 1.3), Math.max(...gflops) * 1.25],
  };
}

/** Ticks of a log axis: powers of ten, and 2 and 5 between them where the axis is short. */
export function logTicks([low, high]) {
  const steps = Math.log10(high / low) < 2.3 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(3)));
  }
  return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

/** Rows of the sources "roofs" and "ridges". */
export function roofRows(ceilings, { x_domain: [low, high], y_domain: [bottom] }) {
  const roofs = ceilings.flatMap(({ peak, bandwidth, ridge }, roof) => [
    { roof, intensity: low, gflops: low * bandwidth },
    { roof, intensity: ridge, gflops: peak },
    { roof, intensity: high, gflops: peak },
  ]);
  return { roofs, ridges: ceilings.map(({ peak, ridge }) => ({ intensity: ridge, gflops: bottom, top: peak })) };
}

/** Write the ceilings' numbers beside them. @returns {object[]} boxes that other labels should leave free */
export function writeRoofs(context, plot, theme, ceilings, domains) {
  const boxes = ceilings.flatMap((ceiling, k) => {
    const pen = new LabelPen(theme);
    return [writePeak(context, plot, pen, ceiling, k), ...writeSlope(context, plot, pen, ceiling, domains)];
  });
  if (ceilings.length) boxes.push(...writeRidge(context, plot, new LabelPen(theme, 12, 400), ceilings[0]));
  return boxes;
}

function writePeak(context, plot, pen, { peak, source }, k) {
  const { frame, theme = pen.theme } = plot;
  const right = frame.left + frame.width;
  const number = `${flopsInWords(peak * 1e9)}/s`;
  const long = source ? `${number}, ${source}` : number;
  const text = pen.width(context, long) < frame.width * 0.8 ? long : number;
  const width = pen.width(context, text);
  const middle = plot.y(peak) - pen.height * (0.75 + k);
  pen.write(context, text, right - width, middle, theme.ink);
  return { left: right - width, top: middle - pen.height / 2, width, height: pen.height };
}

/** Along the memory roof, above its middle. */
function writeSlope(context, plot, pen, { bandwidth, ridge, peak, source }, { x_domain: [low], y_domain: [bottom] }) {
  const from = Math.max(low, bottom / bandwidth);
  const [x0, y0, x1, y1] = [plot.x(from), plot.y(from * bandwidth), plot.x(ridge), plot.y(peak)];
  const length = Math.hypot(x1 - x0, y1 - y0);
  const number = `${threeFigures(bandwidth)} GB/s`;
  const long = source ? `${number}, ${source}` : number;
  const text = [long, number].find((words) => pen.width(context, words) < length * 0.8);
  if (!text) return [];
  const width = pen.width(context, text);
  const angle = Math.atan2(y1 - y0, x1 - x0);
  context.save();
  context.translate((x0 + x1) / 2, (y0 + y1) / 2);
  context.rotate(angle);
  pen.write(context, text, -width / 2, -pen.height * 0.7);
  context.restore();
  return slopeBoxes((x0 + x1) / 2, (y0 + y1) / 2, angle, width, pen.height);
}

/** A slanted text as a row of upright boxes. */
function slopeBoxes(x, y, angle, width, height) {
  const boxes = [];
  for (let along = -width / 2; along < width / 2; along += height) {
    const middle = along + height / 2;
    const left = x + middle * Math.cos(angle) + 0.7 * height * Math.sin(angle) - height / 2;
    const top = y + middle * Math.sin(angle) - 0.7 * height * Math.cos(angle) - height / 2;
    boxes.push({ left, top, width: height, height });
  }
  return boxes;
}

/** At the foot of the ridge: its number, and what lies on its two sides. */
function writeRidge(context, plot, pen, { ridge }) {
  const { left, top, width, height } = plot.frame;
  const gap = 6 * pen.theme.scale;
  const x = plot.x(ridge);
  const line = top + height - pen.height * 0.8;
  const texts = [
    ["memory-bound", -1, line],
    ["compute-bound", 1, line],
    [`ridge ${threeFigures(ridge)} FLOP/byte`, 1, line - pen.height],
  ];
  return texts.flatMap(([text, side, middle]) => {
    const wide = pen.width(context, text);
    const start = side > 0 ? x + gap : x - gap - wide;
    if (start < left || start + wide > left + width) return [];
    pen.write(context, text, start, middle, pen.theme.muted);
    return [{ left: start, top: middle - pen.height / 2, width: wide, height: pen.height }];
  });
}

function stepBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return power * ([7, 5, 3, 2, 1].find((step) => step * power <= value * (1 + 1e-9)) ?? 1);
}

function stepAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 3, 5, 7].find((step) => step * power >= value * (1 - 1e-9)) ?? 10);
}
