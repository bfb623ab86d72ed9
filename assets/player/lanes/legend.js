// What the fills of a lane mean, drawn with the same marks.

import { el } from "../core/dom.js";

const MEANINGS = [
  ["prefill", "P", "prefill"],
  ["decode", "D", "decode"],
  ["stalled", "S", "stalled: gets no token"],
  ["padding", "X", "padding: held or computed without use"],
  ["waiting", "W", "idle, requests wait"],
  ["idle", "", "idle"],
];

export function legend() {
  const keys = MEANINGS.map(([kind, letter, words]) =>
    el("span", {}, el("i", { class: `mb-key mb-key-${kind}`, "aria-hidden": "true" }, letter ? el("b", { text: letter }) : null), words));
  return el("div", { class: "mb-legend" }, el("span", { text: "row: slot, colour: request" }), ...keys);
}
