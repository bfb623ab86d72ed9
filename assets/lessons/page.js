// Lessons in a page of the static site, opened from a server or from disk.

import { openLesson } from "./lesson.js";

/** @param {HTMLElement} host @param {string} text the document as JSON */
export function openLessonPage(host, text) {
  const doc = JSON.parse(text);
  host.replaceChildren();
  return openLesson(host, doc, { vegaEmbed, link: siteLink(doc), parameters: new URLSearchParams(window.location.search) });
}

/** Where pages of the site stand: `doc.links` has them by kind, of a lesson how its file's name ends. */
function siteLink(doc) {
  return (kind, id) => {
    if (kind === "lesson") return `${id}${doc.links?.lesson ?? ".html"}`;
    if (kind === "language") return doc.language_links?.[id] ?? null;
    return doc.links?.[kind] ?? null;
  };
}
