// Where the player begins.

import { SPEEDS } from "./actions.js";

/** Fields of the store to begin with: from the link or the page's address, else sensible ones. */
export function startOf(comparison) {
  const { start = {}, live, autoplay } = comparison.options;
  const axis = start.axis === "iterations" ? "iterations" : "time";
  const runs = comparison.runs;
  const focus = runs.findIndex((run) => run.policy === start.focus);
  const isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const pinned = Number.isInteger(start.pin) && start.pin >= 0 && start.pin < runs[0].requests.length ? start.pin : -1;
  const end = Math.max(...runs.map((run) => run.lastPosition(axis)));
  return {
    axis,
    focus: focus >= 0 ? focus : runs.length - 1,
    pinned,
    position: Math.max(0, start.position ?? 0),
    view: start.view === "close" ? "close" : "whole",
    speed: SPEEDS.includes(start.speed) ? start.speed : 1,
    loop: start.loop?.[0] < end ? [start.loop[0], Math.min(start.loop[1], end)] : null,
    isFollowing: Boolean(live),
    isPlaying: Boolean(live) || (Boolean(autoplay) && !isStill),
  };
}
