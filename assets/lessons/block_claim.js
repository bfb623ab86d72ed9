// A figure of the registry, with where it comes from.

import { el } from "../player/core/dom.js";

export function claimBlock(block, { words }) {
  const isLink = /^https:\/\//.test(block.source);
  const source = isLink ? el("a", { href: block.source, rel: "noreferrer", text: block.source.replace(/^https:\/\//, "") }) : el("span", { lang: "en", text: block.source });
  const facts = el("p", { class: "mbl-caption" }, `${words("source")} `, source);
  const standing = el("p", { class: "mbl-caption", text: [block.standing, words("claim_checked", { date: block.checked })].filter(Boolean).join(", ") });
  return { element: el("div", { class: "mbl-claim" }, el("p", { class: "mbl-claim-words", text: block.words }), el("p", { lang: "en", text: block.of }), facts, standing) };
}
