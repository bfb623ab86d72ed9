// What stands around a lesson's blocks: its title and goals above, the way on below.

import { el } from "../player/core/dom.js";
import { safeHtml } from "./lesson_parts.js";

/** Title, goals, what to know before, and how far one is. */
export function lessonHead(context) {
  const { doc, words, link, hides } = context;
  const bar = el("i");
  const tally = el("span", { class: "mbl-tally" });
  const progress = el("p", { class: "mbl-progress" }, el("span", { class: "mbl-bar", "aria-hidden": "true" }, bar), tally);
  const before = doc.prerequisites.map((lesson) => lessonLink(lesson, link));
  const tools = el("p", { class: "mbl-tools" },
    el("button", { type: "button", text: words("present"), on: { click: () => context.enterPresent() } }),
    el("button", { type: "button", text: words("handout"), on: { click: () => context.print() } }),
    ...(hides("links") ? [] : languageLinks(context)));
  const element = el("header", { class: "mbl-head" },
    hides("links") || !link("index") ? null : el("p", { class: "mbl-up" }, el("a", { href: link("index"), text: words("all_lessons") })),
    el("h1", { text: doc.title }),
    el("p", { class: "mbl-facts" }, el("span", { text: words("minutes", { n: doc.minutes }) }),
      before.length && !hides("links") ? el("span", {}, `${words("before_this")} `, ...withCommas(before)) : null),
    doc.goals.length ? el("h2", { class: "mbl-goals-title", text: words("goals") }) : null,
    el("ul", { class: "mbl-goals" }, ...doc.goals.map((goal) => safeHtml("li", "", goal))), tools, progress);
  const show = (done, all) => {
    progress.hidden = !all;
    bar.style.width = `${all ? (100 * done) / all : 0}%`;
    tally.textContent = words("done_of", { n: done, m: all });
  };
  return { element, show };
}

/** How far one is, and the lessons before and after. */
export function lessonFoot({ doc, words, link, hides }) {
  const tally = el("p", { class: "mbl-tally" });
  const way = (lesson, key) => (lesson && link("lesson", lesson.id)
    ? el("a", { class: `mbl-way mbl-way-${key}`, href: link("lesson", lesson.id, lesson.language) }, el("span", { text: words(key) }), el("strong", { lang: lesson.language, text: lesson.title })) : null);
  const index = link("index") ? el("a", { class: "mbl-way mbl-way-index", href: link("index"), text: words("all_lessons") }) : null;
  const nav = hides("links") ? null : el("nav", { class: "mbl-ways", "aria-label": words("ways") }, way(doc.previous, "previous"), index, way(doc.next, "next"));
  const element = el("footer", { class: "mbl-foot" }, tally, nav);
  const show = (done, all) => {
    tally.hidden = !all;
    tally.textContent = done < all ? words("done_of", { n: done, m: all }) : words("all_done");
  };
  return { element, show };
}

/** A lesson's title that leads there. */
export function lessonLink({ id, title, language }, link) {
  return el("a", { href: link("lesson", id, language), lang: language, text: title });
}

/** The page in each language that it has. */
export function languageLinks({ doc, link }) {
  const languages = doc.languages ?? [];
  if (languages.length < 2) return [];
  const name = (language) => new Intl.DisplayNames([language], { type: "language" }).of(language);
  return languages.map((language) => (language === doc.language
    ? el("span", { "aria-current": "true", lang: language, text: name(language) })
    : el("a", { href: link(doc.kind, doc.id, language), hreflang: language, lang: language, text: name(language) })));
}

/** Elements with a comma between each two. */
export function withCommas(elements) {
  return elements.flatMap((element, k) => (k ? [", ", element] : [element]));
}
