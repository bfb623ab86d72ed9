// A page of lessons: one of them, the list of all, or the interview room.

import { el } from "../player/core/dom.js";
import { createPlayer } from "../player/shell/player.js";
import { chartBlock } from "./block_chart.js";
import { claimBlock } from "./block_claim.js";
import { exploreBlock } from "./block_explore.js";
import { notesBlock } from "./block_notes.js";
import { playerBlock } from "./block_player.js";
import { predictBlock } from "./block_predict.js";
import { quizBlock } from "./block_quiz.js";
import { sourceBlock } from "./block_source.js";
import { textBlock } from "./block_text.js";
import { createIndex } from "./index.js";
import { lessonFoot, lessonHead } from "./lesson_frame.js";
import { hashOf, wordsOf } from "./lesson_parts.js";
import { lessonTheme, themeLesson, watchTheme } from "./lesson_theme.js";
import { marksOf } from "./numbers.js";
import { Present } from "./present.js";
import { changeProgress, keepAnswer, readProgress } from "./progress.js";
import { createRoom } from "./room.js";

const BLOCKS = {
  text: textBlock, player: playerBlock, chart: chartBlock, explore: exploreBlock, predict: predictBlock,
  quiz: quizBlock, source: sourceBlock, claim: claimBlock, notes: notesBlock,
};
const ASKING = ["explore", "predict", "quiz"];
const PRESENT_TYPE = 1.6;
const PRINT_EVENTS = ["beforeprint", "afterprint"];

/**
 * Show a document of minibatch/ui/lessons/document.py inside `host`.
 * @param {HTMLElement|ShadowRoot} host
 * @param {object} doc of kind "lesson", "index" or "room"
 * @param {object} options
 * @param {Function} [options.vegaEmbed] without it there are no charts
 * @param {Function} [options.createPlayer] in place of the player's own
 * @param {(kind: string, id: string, language: string) => string} [options.link] where a "lesson", the "index" or the "room" stands
 * @param {URLSearchParams|object} [options.parameters] present=1, block=KEY, hide=explore,answers,links,…
 * @returns {{root: HTMLElement, layout: () => void, destroy: () => void}}
 */
export function openLesson(host, doc, options = {}) {
  if (doc.kind === "lesson") return new LessonPage(host, doc, options);
  const root = el("div", { class: `mbl-lesson mbl-page-${doc.kind}`, lang: doc.language });
  host.append(root);
  themeLesson(root);
  const make = doc.kind === "room" ? createRoom : createIndex;
  const page = make(root, doc, { createPlayer, ...options });
  const layout = () => {
    if (themeLesson(root)) page?.layout?.();
  };
  const stop = watchTheme(layout);
  const destroy = () => {
    stop();
    page?.destroy?.();
    root.remove();
  };
  return { root, layout, destroy };
}

/** One lesson on a page. */
class LessonPage {
  constructor(host, doc, options) {
    Object.assign(this, { doc, options });
    this.parameters = new URLSearchParams(options.parameters ?? "");
    this.hidden = new Set((this.parameters.get("hide") ?? "").split(",").map((name) => name.trim()).filter(Boolean));
    this.words = wordsOf(doc.strings);
    this.answers = readProgress().lessons[doc.id] ?? {};
    this.hasAutoplay = true;
    this.root = el("article", { class: "mbl-lesson", lang: doc.language });
    this.root.lesson = this; // for whoever embeds the page
    host.append(this.root);
    themeLesson(this.root);
    this.#build();
    this.stopWatching = watchTheme(() => this.layout());
    this.onKey = (event) => this.#guardKeys(event);
    window.addEventListener("keydown", this.onKey, true);
    this.onPrint = (event) => this.#print(event.type === "beforeprint");
    for (const name of PRINT_EVENTS) window.addEventListener(name, this.onPrint);
    const key = this.parameters.get("block");
    if (this.parameters.get("present") === "1") this.present.enter(key);
    else if (key !== null) this.#goTo(key);
  }

  /** Read the theme anew. */
  layout() {
    if (!this.isPrinting && themeLesson(this.root)) for (const { retheme } of this.built) retheme?.();
  }

  destroy() {
    this.stopWatching();
    window.removeEventListener("keydown", this.onKey, true);
    for (const name of PRINT_EVENTS) window.removeEventListener(name, this.onPrint);
    this.present.destroy();
    for (const { destroy } of this.built) destroy?.();
    this.root.remove();
  }

  // -- inside -------------------------------------------------------------------------------------

  #build() {
    const { doc, words } = this;
    const context = {
      doc, words,
      options: this.options,
      answers: this.answers,
      language: doc.language,
      marks: marksOf(doc.strings),
      hides: (name) => this.hidden.has(name),
      keep: (block, record) => this.#keep(block, record),
      chance: (block, count) => hashOf(`${doc.id} ${block.key}`) % count,
      theme: () => lessonTheme(this.root, this.present?.isOn ? PRESENT_TYPE : 1),
      scale: () => (this.present?.isOn ? PRESENT_TYPE : 1),
      takeAutoplay: () => {
        const had = this.hasAutoplay;
        this.hasAutoplay = false;
        return had;
      },
      link: (kind, id, language = doc.language) => this.options.link?.(kind, id, language) ?? null,
      enterPresent: () => this.present.enter(),
      print: () => window.print(),
    };
    this.built = doc.blocks.filter((block) => BLOCKS[block.kind] && (block.kind === "explore" || !this.hidden.has(block.kind)))
      .map((block) => ({ block, ...BLOCKS[block.kind](block, context) }));
    for (const { block, element } of this.built) {
      element.classList.add("mbl-block");
      element.dataset.block = block.key;
    }
    this.head = lessonHead(context);
    this.foot = lessonFoot(context);
    this.root.append(this.head.element, ...this.built.map(({ element }) => element), this.foot.element);
    this.present = new Present(this.root, this.head.element, this.built, { words, hides: context.hides, onChange: () => this.#rescale() });
    this.root.append(this.present.bar);
    this.#changed();
  }

  /** On paper every chart is drawn, those that were never near the window too, and in the colours of a light page. */
  #print(isPrinting) {
    this.isPrinting = isPrinting;
    if (!isPrinting) return this.layout();
    this.root.dataset.theme = "light";
    for (const { beforePrint } of this.built) beforePrint?.();
  }

  #keep(block, record) {
    if (record) this.answers[block.key] = record;
    else delete this.answers[block.key];
    keepAnswer(this.doc.id, block.key, record);
    this.#changed();
  }

  /** Bring up to date what depends on the answers. */
  #changed() {
    const asking = this.built.filter(({ block }) => ASKING.includes(block.kind));
    const done = asking.filter(({ block }) => this.answers[block.key]).length;
    this.head.show(done, asking.length);
    this.foot.show(done, asking.length);
    this.built.forEach(({ block, expose }, k) => {
      if (!expose || !block.lies) return;
      const next = this.built.slice(k + 1).find((each) => ASKING.includes(each.block.kind));
      if (next && this.answers[next.block.key]) expose();
    });
    const isNew = done === asking.length && done > 0 && !readProgress().done[this.doc.id];
    if (isNew) changeProgress((progress) => { progress.done[this.doc.id] = new Date().toISOString(); });
  }

  #rescale() {
    const scale = this.present.isOn ? PRESENT_TYPE : 1;
    this.root.style.setProperty("--scale", scale);
    // After the blocks of this moment are shown: what is hidden has no width.
    requestAnimationFrame(() => { for (const { rescale } of this.built) rescale?.(scale); });
  }

  #goTo(key) {
    const found = this.built.find(({ block }) => block.key === key);
    if (found) requestAnimationFrame(() => found.element.scrollIntoView({ block: "start" }));
  }

  /** With nothing focused, keys are the page's: Space scrolls it, and does not start a player further down. */
  #guardKeys(event) {
    if (event.composedPath()[0] === document.body && this.root.querySelector(".mb-player")) event.stopPropagation();
  }
}
