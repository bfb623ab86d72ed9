// The list of lessons, and what of them is done.

import { el } from "../player/core/dom.js";
import { languageLinks, lessonLink, withCommas } from "./lesson_frame.js";
import { safeHtml, wordsOf } from "./lesson_parts.js";
import { importProgress, progressText, readProgress } from "./progress.js";

/** @param {HTMLElement} host @param {object} doc @param {object} options as of `openLesson` */
export function createIndex(host, doc, options = {}) {
  const words = wordsOf(doc.strings);
  const lessons = Object.fromEntries(doc.lessons.map((lesson) => [lesson.id, lesson]));
  const link = (kind, id, language = doc.language) => options.link?.(kind, id, language) ?? null;
  const list = el("ol", { class: "mbl-list" });
  const draw = () => {
    const progress = readProgress();
    const next = doc.lessons.find(({ id }) => !progress.done[id])?.id;
    list.replaceChildren(...doc.lessons.map((lesson) => lessonRow(lesson, { words, lessons, link, progress, isNext: lesson.id === next })));
  };
  const room = link("room") ? el("p", { class: "mbl-room-link" }, el("a", { href: link("room"), text: words("room") }), ` ${words("room_link_about")}`) : null;
  const problems = (doc.problems ?? []).map((problem) => el("li", { text: problem }));
  host.append(el("header", { class: "mbl-head" }, el("h1", { text: words("lessons") }), el("p", { class: "mbl-lead", text: words("lessons_about") }),
    doc.languages.length > 1 ? el("p", { class: "mbl-tools" }, ...languageLinks({ doc, link })) : null),
    ...(problems.length ? [el("ul", { class: "mbl-problems", role: "alert" }, ...problems)] : []), list, room, progressTools(words, draw));
  draw();
  return { destroy: () => {} };
}

function lessonRow(lesson, { words, lessons, link, progress, isNext }) {
  const answers = Object.values(progress.lessons[lesson.id] ?? {});
  const state = progress.done[lesson.id] ? "done" : answers.length ? "begun" : "";
  const said = state === "done" ? words("lesson_done") : state ? words("lesson_begun", { n: answers.length }) : "";
  const before = lesson.prerequisites.map((id) => lessonLink(lessons[id] ?? { id, title: id, language: "en" }, link));
  return el("li", { class: isNext ? "mbl-next-lesson" : null, "data-state": state || null },
    el("h2", {}, lessonLink(lesson, link)),
    el("p", { class: "mbl-facts" }, el("span", { text: words("minutes", { n: lesson.minutes }) }),
      before.length ? el("span", {}, `${words("before_this")} `, ...withCommas(before)) : null, said ? el("span", { class: "mbl-done", text: said }) : null),
    el("ul", { class: "mbl-goals", lang: lesson.language }, ...lesson.goals.map((goal) => safeHtml("li", "", goal))));
}

/** Taking progress to another browser, as a file. */
function progressTools(words, onChange) {
  const status = el("p", { role: "status", class: "mbl-caption" });
  const file = el("input", { type: "file", accept: "application/json,.json", class: "mbl-spoken", tabindex: -1, "aria-label": words("import") });
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    const isTaken = chosen.size < 1 << 20 && importProgress(await chosen.text());
    status.textContent = words(isTaken ? "imported" : "not_imported");
    file.value = "";
    onChange();
  });
  const save = () => {
    const url = URL.createObjectURL(new Blob([progressText()], { type: "application/json" }));
    el("a", { href: url, download: "minibatch-progress.json" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  return el("section", { class: "mbl-keeping", "aria-label": words("progress") }, el("p", { class: "mbl-caption", text: words("progress_about") }),
    el("p", { class: "mbl-tools" }, el("button", { type: "button", text: words("export"), on: { click: save } }),
      el("button", { type: "button", text: words("import"), on: { click: () => file.click() } }), file), status);
}
