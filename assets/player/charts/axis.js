// The axis that charts share with the lanes.

/** A position of the store in the unit of the axis: seconds, or iterations. */
export function inUnits(axis, position) {
  return axis === "time" ? position / 1e9 : position;
}

export function axisTitle(axis) {
  return axis === "time" ? "time, s" : "iterations";
}

/** Two to five ticks from 0 to `most`, on steps of 1, 2 or 5 times a power of ten. */
export function linearTicks(most) {
  const least = Math.max(1, most / 4.5);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((part) => part * power >= least) ?? 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, k) => k * step);
}

/** A click on a chart moves the playhead there. */
export function clickToSeek(plot, store) {
  plot.area.addEventListener("click", (event) => {
    if (!plot.isReady) return;
    const at = plot.positionAt(plot.pointer(event).x);
    store.set({ position: store.axis === "time" ? at * 1e9 : at, isPlaying: false });
  });
}
