// A policy's own code.

import { el } from "../player/core/dom.js";
import { safeHtml } from "./lesson_parts.js";

export function sourceBlock(block, { words }) {
  // Numbers are drawn by the style sheet, so that copying takes the code alone.
  const lines = block.code.replace(/\n$/, "").split("\n").map((line) => el("span", { class: "mbl-line", text: `${line}\n` }));
  const frame = el("div", { class: "mbl-code", tabindex: 0, role: "region", "aria-label": words("source_of", { file: block.file }) }, el("pre", { lang: "en", translate: "no" }, el("code", {}, ...lines)));
  requestAnimationFrame(() => beginAt(frame, lines.find((line) => /^class /.test(line.textContent))));
  const caption = el("figcaption", { class: "mbl-caption" }, el("span", { class: "mbl-file", text: block.file }), safeHtml("span", "", block.caption_html));
  return { element: el("figure", { class: "mbl-figure-box mbl-source" }, caption, frame) };
}

/** Scroll to a line: what a policy imports is not what a lesson is about. */
function beginAt(frame, line) {
  if (line) frame.scrollTop += line.getBoundingClientRect().top - frame.getBoundingClientRect().top;
}
