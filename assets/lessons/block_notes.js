// What the presenter alone reads.

import { el } from "../player/core/dom.js";
import { safeHtml } from "./lesson_parts.js";

export function notesBlock(block, { words }) {
  return { element: el("aside", { class: "mbl-notes", "aria-label": words("notes") }, el("p", { class: "mbl-kicker", text: words("notes") }), safeHtml("div", "mbl-text", block.html)) };
}
