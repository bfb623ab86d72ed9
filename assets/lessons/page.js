// Lessons in a page of the static site, opened from a server or from disk.

import { openLesson } from "./lesson.js";

/** @param {HTMLElement} host @param {string} text the document as JSON */
export function openLessonPage(host, text) {
  const doc = JSON.parse(text);
  host.replaceChildren();
  return openLesson(host, doc, { vegaEmbed, link: siteLink(doc), parameters: new URLSearchParams(window.location.search) });
}

/** Where pages of the site stand: lessons and their list in each language, the others by kind in `doc.links`. */
function siteLink(doc) {
  return (kind, id, language) => {
    if (kind !== "lesson" && kind !== "index") return doc.links[kind] ?? null;
    return `${kind === "lesson" ? id : "index"}${language === "en" ? "" : `.${language}`}.html`;
  };
}
