// What keys and buttons do to a player.

import { NOTHING_SELECTED } from "../core/store.js";

export const SPEEDS = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, "real"];
export const EVENT_KINDS = ["admission", "finish", "stall", "preemption"];

export function togglePlay(store) {
  const isAtEnd = store.position >= store.end && !store.isFollowing;
  store.set({ isPlaying: !store.isPlaying, ...(isAtEnd && !store.isPlaying ? { position: 0 } : {}) });
}

/** Move to the start of the next or the previous iteration of the lane in focus, and stop there. */
export function step(store, direction) {
  const run = store.runs[store.focus];
  const { i, isRunning } = run.locate(store.axis, store.position);
  let position;
  if (direction > 0) {
    position = run.position(store.axis, i + 1);
  } else {
    const isInside = !isRunning || store.position > run.position(store.axis, i);
    position = run.position(store.axis, Math.max(0, isInside ? i : i - 1));
  }
  seek(store, position);
}

/** Go to the next (1) or previous (-1) event of a kind in the lane in focus; says whether there is one. */
export function jump(store, kind, direction) {
  const run = store.runs[store.focus];
  const positions = run.events[kind].map((i) => run.position(store.axis, i));
  const later = direction > 0
    ? positions.find((position) => position > store.position)
    : positions.findLast((position) => position < store.position);
  if (later === undefined) return false;
  seek(store, later);
  return true;
}

/** Put the playhead somewhere and stop there; a run in progress is no longer followed. */
export function seek(store, position) {
  store.set({ position, isPlaying: false, isFollowing: false });
}

export function changeSpeed(store, direction) {
  const place = SPEEDS.indexOf(store.speed) + direction;
  store.set({ speed: SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, place))] });
}

export function speedWords(speed) {
  if (speed === "real") return "real time";
  return speed < 1 ? `1/${1 / speed}×` : `${speed}×`;
}

/** First press: loop from here. Second: to here. Third: no loop. */
export function cycleLoop(store) {
  if (!store.loop) store.set({ loop: [store.position, null] });
  else if (store.loop[1] === null && store.position > store.loop[0]) store.set({ loop: [store.loop[0], store.position] });
  else store.set({ loop: null });
}

export function loopWords(loop) {
  return !loop ? "Loop from here" : loop[1] === null ? "Loop to here" : "Loop off";
}

/** Light up the next or the previous request, as a pointer would. */
export function hoverRequest(store, direction) {
  const count = store.runs[store.focus].requests.length;
  const from = store.hover.request >= 0 ? store.hover.request : store.pinned >= 0 ? store.pinned : direction > 0 ? -1 : count;
  store.set({ hover: { ...NOTHING_SELECTED, request: (from + direction + count) % count } });
}

export function togglePin(store) {
  const { request } = store.hover;
  if (request >= 0) store.set({ pinned: request === store.pinned ? -1 : request });
  else store.set({ pinned: -1 });
}

/** Follow the head of a run in progress again. */
export function follow(store) {
  if (store.comparison.options.live) store.set({ isFollowing: true, isPlaying: true, focus: store.runs.length - 1 });
}
