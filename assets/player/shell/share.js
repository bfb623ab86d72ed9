// A link that brings back what is shown now.

import { el } from "../core/dom.js";

export class Share {
  constructor(player) {
    this.player = player;
    this.button = el("button", { type: "button", text: "Link", title: "A link to this moment", on: { click: () => this.open() } });
    this.field = el("input", { type: "text", readonly: true, "aria-label": "Link" });
    this.note = el("p", { role: "status" });
    const close = el("button", { type: "button", text: "Close", on: { click: () => this.dialog.close() } });
    this.dialog = el("dialog", { class: "mb-dialog", "aria-label": "Link to this moment" },
      el("h2", { text: "Link to this moment" }), this.field, this.note, close);
  }

  /** The address of this page with what the page and the player show; null where no address brings it back. */
  link() {
    const { store } = this.player;
    const url = new URL(window.location.href);
    url.hash = "";
    const base = store.comparison.options.link;
    if (base === null) return null;
    if (base) url.search = new URLSearchParams(base).toString();
    const state = momentOf(store);
    for (const [name, value] of Object.entries(state)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    return url.href;
  }

  async open() {
    this.player.store.set({ isPlaying: false });
    const link = this.link();
    this.field.hidden = link === null;
    this.field.value = link ?? "";
    this.note.textContent = link === null ? "There is no link to this: it came from a file or from a change made here. Export it as a page instead." : "";
    this.dialog.showModal();
    if (link === null) return;
    this.field.select();
    try {
      await navigator.clipboard.writeText(this.field.value);
      this.note.textContent = "Copied.";
    } catch {
      this.note.textContent = "Copy it from here."; // no clipboard without https or a permission
    }
  }
}

/** The moment as parameters of an address; null where it is the default. `momentFrom` reads them. */
export function momentOf(store) {
  const { axis, position, focus, runs, pinned, view, speed, loop } = store;
  const at = (value) => String(axis === "time" ? Math.round(value) : Number(value.toFixed(3)));
  return {
    t: at(position),
    axis: axis === "time" ? null : axis,
    focus: runs[focus].policy,
    pin: pinned < 0 ? null : String(pinned),
    view: view === "whole" ? null : view,
    speed: speed === 1 ? null : String(speed),
    loop: loop?.[1] != null ? loop.map(at).join("-") : null,
  };
}

/** The `start` options of a player from the parameters of an address; what makes no sense is left out. */
export function momentFrom(parameters) {
  const number = (name) => {
    const text = parameters.get(name);
    return text !== null && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
  };
  const loop = parameters.get("loop")?.split("-").map(Number) ?? [];
  return {
    position: number("t"),
    axis: parameters.get("axis") ?? undefined,
    focus: parameters.get("focus") ?? undefined,
    pin: number("pin"),
    view: parameters.get("view") ?? undefined,
    speed: parameters.get("speed") === "real" ? "real" : number("speed"),
    loop: loop.length === 2 && loop.every(Number.isFinite) && loop[0] >= 0 && loop[0] < loop[1] ? loop : undefined,
  };
}
