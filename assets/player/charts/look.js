// How the charts look: Vega's settings and the page's, from a theme.

const ROOM = 920; // CSS pixels from which the roofline has the other charts beside it

/** Vega's settings: one typeface, quiet axes, and the faint styles that minibatch/ui/player/charts.py names. */
export function chartsConfig(theme) {
  const { ink, muted, faint, scale } = theme;
  const text = 12 * scale;
  return {
    font: theme.font,
    background: "transparent",
    view: { stroke: null },
    axis: {
      labelColor: muted, titleColor: muted, gridColor: faint, domainColor: faint, tickColor: faint,
      labelFontSize: text, titleFontSize: text, titleFontWeight: "normal", gridOpacity: 0.7,
      labelPadding: 4 * scale, titlePadding: 6 * scale, tickSize: 4 * scale,
    },
    axisY: { titleX: -chartPadding(theme).left, titleY: -10 * scale, ticks: false, domain: false },
    axisX: { grid: false },
    style: {
      iteration: { color: ink, opacity: theme.isDark ? 0.2 : 0.13, size: 24 * scale * scale, strokeWidth: 0 },
      roof: { color: ink, strokeWidth: 1.6 * scale },
      ridge: { color: muted, strokeWidth: scale, strokeDash: [2 * scale, 3 * scale] },
      whole: { color: muted, opacity: 0.38, strokeWidth: 1.2 * scale },
      step: { color: muted, opacity: 0.3, binSpacing: 0, strokeWidth: 0 },
      stall: { color: stallColour(theme), opacity: 0.35, binSpacing: 0, strokeWidth: 0 },
    },
  };
}

/** Room around every plot in CSS pixels: the same for all, so that their axes stand above each other. */
export function chartPadding({ scale }) {
  return { left: 50 * scale, top: 28 * scale, right: 14 * scale, bottom: 42 * scale };
}

export function stallColour(theme) {
  return theme.phases?.stalled ?? theme.accent;
}

/** Heights in CSS pixels with the room around the plot, by chart. */
export function chartHeights({ scale }) {
  return { roofline: 348 * scale, tokens: 202 * scale, durations: 202 * scale };
}

/** The style sheet of the charts' element. */
export function chartsStyle(theme) {
  const px = (size) => `${size * theme.scale}px`;
  return `
.mb-charts { container-type: inline-size; color: ${theme.ink}; font: ${px(13)}/1.4 ${theme.font};
  font-variant-numeric: tabular-nums; }
.mb-charts-grid { display: grid; grid-template-columns: minmax(0, 1fr); gap: ${px(20)} ${px(36)}; }
.mb-charts figure { margin: 0; min-width: 0; }
.mb-charts figcaption { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 ${px(14)}; }
.mb-charts h3 { margin: 0; padding: 0; font: 600 ${px(14)}/1.5 ${theme.font}; letter-spacing: 0; color: ${theme.ink}; }
.mb-chart-key { display: inline-flex; flex-wrap: wrap; gap: 0 ${px(12)}; color: ${theme.muted}; font-size: ${px(12)}; }
.mb-chart-key span { display: inline-flex; align-items: center; gap: ${px(5)}; }
.mb-chart-key i { display: inline-block; width: ${px(10)}; height: ${px(10)}; }
.mb-chart-key svg { width: ${px(10)}; height: ${px(10)}; fill: ${theme.muted}; }
.mb-plot { position: relative; touch-action: pan-y; }
.mb-plot > * { position: absolute; left: 0; top: 0; }
.mb-plot > canvas { pointer-events: none; }
.mb-plot canvas { max-width: none; }
.mb-chart-playhead { width: ${px(1.5)}; margin-left: ${px(-0.75)}; background: ${theme.ink}; pointer-events: none; }
.mb-split { margin: ${px(10)} 0 0; contain: content; }
.mb-split-bar { display: flex; height: ${px(14)}; margin: ${px(6)} 0; background: ${theme.lane}; }
.mb-split-bar i { height: 100%; width: 0; }
.mb-split-row { display: flex; flex-wrap: wrap; gap: ${px(2)} ${px(18)}; color: ${theme.muted}; }
.mb-split-row span { white-space: nowrap; }
.mb-split-row b { color: ${theme.ink}; font-weight: 600; }
.mb-split-row i { display: inline-block; width: ${px(10)}; height: ${px(10)}; margin-right: ${px(5)}; }
@container (min-width: ${px(520)}) {
  .mb-charts-grid { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .mb-chart-roofline { grid-column: span 2; }
}
@container (min-width: ${ROOM * Math.min(theme.scale, 1.4)}px) {
  .mb-charts-grid { grid-template-columns: minmax(0, 1.2fr) minmax(0, 1fr); }
  .mb-chart-roofline { grid-column: auto; grid-row: span 2; }
}`;
}
