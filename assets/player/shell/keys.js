// The keyboard, and the presentation clicker that sends the same keys.

import { changeSpeed, cycleLoop, follow, hoverRequest, jump, seek, step, togglePin, togglePlay } from "./actions.js";
import { el } from "../core/dom.js";

/** What each key does: [keys as `KeyboardEvent.key`, what the list says, action(player)]. */
const KEYS = [
  [[" ", "k"], "Space", "play or pause", ({ store }) => togglePlay(store)],
  [["ArrowRight"], "→", "one step forward", ({ store }) => step(store, 1)],
  [["ArrowLeft"], "←", "one step back", ({ store }) => step(store, -1)],
  [["Shift+ArrowRight", "PageDown"], "Shift + →, clicker", "to the next event", (player) => jump(player.store, player.eventKind, 1)],
  [["Shift+ArrowLeft", "PageUp"], "Shift + ←, clicker", "to the previous event", (player) => jump(player.store, player.eventKind, -1)],
  [["Home"], "Home", "to the start", ({ store }) => seek(store, 0)],
  [["End"], "End", "to the end", ({ store }) => seek(store, store.end)],
  [["+", "="], "+", "faster", ({ store }) => changeSpeed(store, 1)],
  [["-"], "−", "slower", ({ store }) => changeSpeed(store, -1)],
  [["1", "2", "3", "4", "5"], "1 – 5", "focus a lane", ({ store }, key) => focusLane(store, Number(key) - 1)],
  [["z"], "Z", "whole run or close-up", ({ store }) => store.set({ view: store.view === "whole" ? "close" : "whole" })],
  [["x"], "X", "time or iterations as the axis", ({ store }) => store.setAxis(store.axis === "time" ? "iterations" : "time")],
  [["l"], "L", "loop from here, to here, off", ({ store }) => cycleLoop(store)],
  [["]"], "]", "light up the next request", ({ store }) => hoverRequest(store, 1)],
  [["["], "[", "light up the previous request", ({ store }) => hoverRequest(store, -1)],
  [["Enter"], "Enter", "pin it, and open its story", ({ store }) => togglePin(store)],
  [["f"], "F", "follow a run in progress", ({ store }) => follow(store)],
  [["p"], "P", "present: nothing else, large type", (player) => player.present()],
  [["b", "."], "B, clicker", "pause", ({ store }) => store.set({ isPlaying: false })],
  [["Escape"], "Esc", "leave present mode, let go of a request", (player) => player.escape()],
  [["?"], "?", "this list", (player) => player.help()],
];

const TYPING = new Set(["text", "number", "search", "email", "url", "password", "date", "time"]);

/**
 * What a key does, or null. A key is left alone while someone types, with Ctrl, Alt or Meta, and where
 * the focused control has its own use for it.
 */
export function actionOf(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return null;
  const target = event.composedPath()[0];
  const tag = target?.tagName ?? "";
  const type = tag === "INPUT" ? target.type : "";
  if (tag === "TEXTAREA" || tag === "SELECT" || target?.isContentEditable || TYPING.has(type)) return null;
  if (type === "radio" && event.key.startsWith("Arrow")) return null;
  const isPressable = tag === "BUTTON" || tag === "A" || tag === "SUMMARY" || type === "checkbox" || type === "radio";
  if (isPressable && (event.key === " " || event.key === "Enter")) return null;
  if (target?.closest?.("dialog[open], [role=dialog], [role=listbox], [role=combobox], .mbp-question")) return null;
  const name = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
  const lower = name.length === 1 ? name.toLowerCase() : name;
  const found = KEYS.find(([keys]) => keys.includes(name) || keys.includes(lower));
  return found ? (player) => found[3](player, event.key) : null;
}

/** The list of keys, as a dialog. */
export function keysDialog() {
  const rows = KEYS.map(([, name, words]) => el("tr", {}, el("th", { scope: "row" }, el("kbd", { text: name })), el("td", { text: words })));
  const dialog = el("dialog", { class: "mb-dialog", "aria-label": "Keys" }, el("h2", { text: "Keys" }), el("table", {}, ...rows));
  dialog.append(el("button", { type: "button", text: "Close", on: { click: () => dialog.close() } }));
  return dialog;
}

function focusLane(store, lane) {
  if (lane < store.runs.length) store.set({ focus: lane });
}
