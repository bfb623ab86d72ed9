// The points of the roofline: where they lie, and painting them.

const NEAR = 12; // CSS pixels within which the pointer finds a point
const CELLS_A_DECADE = 160; // Vega draws points of one kind that fall into one cell once

/** Rows for Vega: one for all points of a kind that no eye tells apart. `limits` iterations of each run. */
export function pointRows(runs, limits) {
  const seen = new Set();
  const rows = [];
  runs.forEach((run, lane) => {
    for (let i = 0; i < limits[lane]; i++) {
      const intensity = run.intensity(i);
      const gflops = run.flopsPerSecond(i) / 1e9;
      if (!isPoint(intensity, gflops)) continue;
      const kind = kindOfPoint(run, i);
      const cell = [kind, ...[intensity, gflops].map((value) => Math.round(Math.log10(value) * CELLS_A_DECADE))].join();
      if (seen.has(cell)) continue;
      seen.add(cell);
      rows.push({ intensity, gflops, kind });
    }
  });
  return rows;
}

/** [lowest, highest] of intensity in FLOP/byte and of GFLOP/s over all points; null without any. */
export function pointLimits(runs) {
  const limits = { intensity: [Infinity, 0], gflops: [Infinity, 0] };
  const widen = (range, value) => {
    range[0] = Math.min(range[0], value);
    range[1] = Math.max(range[1], value);
  };
  for (const run of runs) {
    for (let i = 0; i < run.n; i++) {
      const intensity = run.intensity(i);
      const gflops = run.flopsPerSecond(i) / 1e9;
      if (!isPoint(intensity, gflops)) continue;
      widen(limits.intensity, intensity);
      widen(limits.gflops, gflops);
    }
  }
  return limits.gflops[1] ? limits : null;
}

/** The pixels of every run's points: (n,) `xs` and `ys` a lane, NaN where an iteration computed nothing. */
export class PointMap {
  constructor(runs, limits, plot) {
    this.lanes = runs.map((run, lane) => {
      const xs = new Float32Array(run.n).fill(NaN);
      const ys = new Float32Array(run.n).fill(NaN);
      const kinds = new Array(run.n);
      for (let i = 0; i < limits[lane]; i++) {
        const intensity = run.intensity(i);
        const gflops = run.flopsPerSecond(i) / 1e9;
        if (!isPoint(intensity, gflops)) continue;
        xs[i] = plot.x(intensity);
        ys[i] = plot.y(gflops);
        kinds[i] = kindOfPoint(run, i);
      }
      return { xs, ys, kinds };
    });
  }

  /** Where a point lies in CSS pixels; null if there is none. */
  at(lane, i) {
    const points = this.lanes[lane];
    return points && points.xs[i] >= 0 ? { x: points.xs[i], y: points.ys[i], kind: points.kinds[i] } : null;
  }

  /** The point nearest to a pixel; of several at the same place one of lane `preferred`. Null if none is near. */
  nearest(x, y, preferred) {
    let best = null;
    let least = NEAR * NEAR;
    const order = [preferred, ...this.lanes.keys()];
    for (const lane of order) {
      const { xs, ys } = this.lanes[lane];
      for (let i = 0; i < xs.length; i++) {
        const distance = (xs[i] - x) ** 2 + (ys[i] - y) ** 2;
        if (distance < least) {
          least = distance;
          best = { lane, iteration: i };
        }
      }
    }
    return best;
  }
}

/**
 * Points left behind by the playhead, added as it moves. At most one of a kind and shade is painted at
 * each half pixel, so that thousands stay cheap and what was added step by step looks like what was
 * painted at once.
 */
export class PointTrail {
  constructor(surface, map, theme) {
    Object.assign(this, { surface, map, theme });
    this.size = 2 * Math.ceil(surface.width) + 2;
    this.painted = new Uint8Array(this.size * (2 * Math.ceil(surface.height) + 2));
  }

  /** Have nothing painted. `focus` is the lane whose points stand out. */
  restart(focus) {
    this.focus = focus;
    this.until = this.map.lanes.map(() => 0);
    this.painted.fill(0);
    this.surface.clear();
  }

  /** Paint every lane's points before iteration `ends[lane]`; starts again if any of them lies behind. */
  advance(ends, focus) {
    if (!this.until || focus !== this.focus || ends.some((end, lane) => end < this.until[lane])) this.restart(focus);
    for (let lane = 0; lane < ends.length; lane++) if (lane !== focus) this.#paint(lane, ends[lane]);
    this.#paint(focus, ends[focus]);
  }

  #paint(lane, end) {
    const { context } = this.surface;
    const { xs, ys, kinds } = this.map.lanes[lane];
    const { theme } = this;
    const isFocus = lane === this.focus;
    context.globalAlpha = isFocus ? 0.6 : 0.34;
    // Below the focus, whichever came first.
    context.globalCompositeOperation = isFocus ? "source-over" : "destination-over";
    context.fillStyle = isFocus ? theme.accent : theme.muted;
    for (let i = this.until[lane]; i < end; i++) {
      if (!(xs[i] >= 0)) continue;
      const bit = (isFocus ? 1 : 8) * (kinds[i] === "decode" ? 1 : kinds[i] === "prefill" ? 2 : 4);
      const x = Math.round(xs[i] * 2);
      const y = Math.round(ys[i] * 2);
      const cell = y * this.size + x;
      if (this.painted[cell] & bit) continue;
      this.painted[cell] |= bit;
      tracePoint(context, kinds[i], x / 2, y / 2, 2.8 * theme.scale);
      context.fill();
    }
    context.globalAlpha = 1;
    context.globalCompositeOperation = "source-over";
    this.until[lane] = Math.max(this.until[lane], end);
  }
}

/** The outline of a point as a path: shapes as in minibatch/ui/player/charts.py, about `radius` in size. */
export function tracePoint(context, kind, x, y, radius) {
  context.beginPath();
  if (kind === "prefill") {
    context.moveTo(x, y - radius * 1.15);
    context.lineTo(x + radius * 1.1, y + radius * 0.85);
    context.lineTo(x - radius * 1.1, y + radius * 0.85);
    context.closePath();
  } else if (kind === "mixed") {
    context.rect(x - radius * 0.88, y - radius * 0.88, radius * 1.76, radius * 1.76);
  } else context.arc(x, y, radius, 0, 2 * Math.PI);
}

function isPoint(intensity, gflops) {
  return intensity > 0 && gflops > 0 && intensity < Infinity && gflops < Infinity;
}

/** An iteration that computes padding alone counts as decode: it has that shape of work. */
function kindOfPoint(run, i) {
  const kind = run.kindOf(i);
  return kind === "idle" ? "decode" : kind;
}
