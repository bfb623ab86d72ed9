// What a lesson says.

import { safeHtml } from "./lesson_parts.js";

export function textBlock(block) {
  return { element: safeHtml("div", "mbl-text", block.html) };
}
