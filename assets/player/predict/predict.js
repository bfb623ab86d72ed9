// The player asks what comes next: it stops before a step, takes an answer, and shows what was recorded.

import { el, setText } from "../core/dom.js";
import { plural } from "../core/format.js";
import { questionForm, resultCard } from "./prediction_cards.js";
import { grade, questionsOf } from "./questions.js";
import { Score, browserStorage } from "./score.js";

const WILL_STOP = "The player stops where there is something to predict.";
const NOTHING_MORE = "Nothing more to predict in this run from here on.";

/**
 * The panel of predictions about the run in focus. Off until its switch is set.
 *
 * While a question is open, `store.hidden` is {lane, iteration}: of that lane nothing from that
 * iteration on may be seen. A move forward while playing asks the first question that it crosses; a seek
 * stops the player, and passes questions without asking them.
 */
export class Predict {
  #questions = new WeakMap(); // by run
  #answered = new Set();
  #skipped = null; // the question that the playhead still stands at
  #passed = null; // the key of the one skipped last, which is not asked next
  #open = null; // {run, lane, question}
  #position;
  #wasPlaying;
  #isOwnChange = false;
  #id; // of the recordings

  /** @param {import("../core/store.js").Store} store @param {Storage | null} storage where the score is kept */
  constructor(store, storage = browserStorage()) {
    this.store = store;
    this.score = new Score(storage);
    this.isOn = false;
    this.#position = store.position;
    this.#wasPlaying = store.isPlaying;
    this.#id = store.comparison.options.id;
    this.#build();
    this.#showTally();
    this.unsubscribe = store.subscribe((changed) => this.#onChange(changed));
    this.update();
  }

  /** Ask the next question at or after the playhead that has no answer yet, and go there. */
  askNext() {
    this.#close();
    const next = this.#next(({ key }) => !this.#answered.has(key) && key !== this.#passed);
    if (next) this.#ask(next);
    else this.#showIdle(NOTHING_MORE);
  }

  /** Switch predictions on or off. */
  toggle(isOn = !this.isOn) {
    this.isOn = isOn;
    this.switch.setAttribute("aria-checked", String(isOn));
    if (!isOn) this.#close();
    this.#position = this.store.position;
    this.update();
  }

  /** Draw what depends on the playhead; cheap where nothing has changed. */
  update() {
    const isIdle = !this.#open && !this.result.hasChildNodes();
    const next = isIdle && this.isOn ? this.#next(() => true) : null;
    const isAnswered = next !== null && this.#answered.has(next.key);
    this.again.hidden = !isAnswered;
    if (!isIdle) this.#showIdle("");
    else if (isAnswered) this.#showIdle(`You have answered the question at step ${next.question.iteration}.`);
    else if (this.isOn) this.#showIdle(next ? WILL_STOP : NOTHING_MORE);
    else if (this.store.isPlaying) this.#showIdle("");
  }

  destroy() {
    this.#close();
    this.unsubscribe();
    this.element.remove();
  }

  // -- the panel ------------------------------------------------------------------------------------

  #build() {
    const onSwitch = { click: () => this.toggle() };
    const attributes = { type: "button", class: "mbp-switch", role: "switch", "aria-checked": "false" };
    const track = el("span", { class: "mbp-track", "aria-hidden": "true" });
    this.switch = el("button", { ...attributes, on: onSwitch }, track, el("span", { text: "Predict" }));
    this.tally = el("span", { class: "mbp-tally" });
    this.idle = el("span", { class: "mbp-idle" });
    const quiet = (text, className, onClick) =>
      el("button", { type: "button", class: `mbp-quiet ${className}`, text, on: { click: onClick } });
    this.again = quiet("Ask again", "mbp-again", () => this.#askAgain());
    this.again.hidden = true;
    const next = quiet("Predict the next step", "mbp-next", () => this.askNext());
    this.asking = el("div", { class: "mbp-asking" });
    this.result = el("div", { class: "mbp-result", role: "status", "aria-live": "polite", tabindex: "-1" });
    const bar = el("div", { class: "mbp-bar" }, this.switch, this.tally, this.idle, this.again, next);
    this.element = el("section", { class: "mbp-predict", "aria-label": "Predict", tabindex: "-1" });
    this.element.append(bar, this.asking, this.result);
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
  }

  #onKey(event) {
    // Keys that answer are not to move the playhead as well.
    event.stopPropagation();
    if (event.key === "Escape" && this.#open) this.#skip();
  }

  #showTally() {
    const { asked, right } = this.score.summary();
    setText(this.tally, asked ? `${right} of ${plural(asked, "answer")} right` : "");
  }

  #showIdle(text) {
    setText(this.idle, text);
  }

  // -- when to ask ----------------------------------------------------------------------------------

  #onChange(changed) {
    const from = this.#position;
    const wasPlaying = this.#wasPlaying;
    const { store } = this;
    this.#position = store.position;
    this.#wasPlaying = store.isPlaying;
    if (this.#isOwnChange) return;
    if (changed.has("comparison")) this.#forgetOthers();
    const isTaken = this.#open && !store.hidden;
    if (changed.has("focus") || isTaken) this.#close();
    if (changed.has("axis") || changed.has("focus")) return;
    if (this.#open && changed.has("isPlaying") && store.isPlaying) this.#skip({ isPlaying: true });
    if (!changed.has("position")) return;
    this.#close();
    const isJump = !wasPlaying || !store.isPlaying || store.position < from;
    if (isJump) this.#skipped = null;
    else if (this.isOn) this.#cross(from);
  }

  /** A run in progress grows and stays the same; any other recording starts with no answers. */
  #forgetOthers() {
    const { id } = this.store.comparison.options;
    if (id !== undefined && id === this.#id) return;
    this.#id = id;
    this.#answered.clear();
    this.#close();
  }

  #cross(from) {
    const position = ({ run, question }) => run.position(this.store.axis, question.iteration);
    const crossed = this.#all().find(
      (each) => position(each) >= from && !this.#answered.has(each.key) && each.key !== this.#skipped,
    );
    if (crossed && position(crossed) <= this.store.position) this.#ask(crossed);
  }

  /** The questions of the run in focus: {key, run, lane, question}. */
  #all() {
    const lane = this.store.focus;
    const run = this.store.runs[lane];
    if (!run) return [];
    if (!this.#questions.has(run)) {
      const asked = questionsOf(run).map((question) => ({ key: `${lane} ${question.id}`, run, lane, question }));
      this.#questions.set(run, asked);
    }
    return this.#questions.get(run);
  }

  #next(test) {
    const { axis, position } = this.store;
    const isAhead = ({ run, question }) => run.position(axis, question.iteration) >= position;
    return this.#all().find((each) => isAhead(each) && test(each)) ?? null;
  }

  #askAgain() {
    const next = this.#next(() => true);
    if (!next) return;
    this.#answered.delete(next.key);
    this.#ask(next);
  }

  // -- a question, from asking to going on ------------------------------------------------------------

  #ask(asked) {
    const { run, lane, question } = asked;
    this.result.replaceChildren();
    this.#open = asked;
    this.#skipped = null;
    const position = run.position(this.store.axis, question.iteration);
    const hidden = { lane, iteration: question.iteration };
    this.#set({ isPlaying: false, isFollowing: false, position, hidden });
    const where = `${run.label}, before step ${question.iteration}`;
    const commit = (given, confidence) => this.#commit(given, confidence);
    this.asking.replaceChildren(questionForm(question, where, commit, () => this.#skip()));
    this.update();
    this.asking.querySelector("input").focus();
  }

  #commit(given, confidence) {
    const { key, question } = this.#open;
    const graded = grade(question, given);
    const { right, credit } = graded;
    this.score.record({ kind: question.kind, confidence, right, credit, when: Date.now() });
    this.#showTally();
    this.#answered.add(key);
    this.#open = null;
    this.asking.replaceChildren();
    this.#set({ hidden: null });
    const outcome = { question, given, confidence, ...graded };
    this.result.replaceChildren(resultCard(outcome, this.score, () => this.#goOn(), () => this.#forget()));
    this.update();
    this.result.focus();
  }

  #goOn() {
    this.#close();
    this.update();
    this.#set({ isPlaying: true });
  }

  #forget() {
    this.score.clear();
    this.#showTally();
    this.#close();
    this.update();
  }

  #skip(patch = {}) {
    this.#skipped = this.#passed = this.#open.key;
    this.#close();
    this.update();
    this.#set(patch);
  }

  #close() {
    const wasOpen = this.#open !== null;
    const isFocused = this.element.getRootNode().activeElement?.closest(".mbp-asking, .mbp-result");
    this.#open = null;
    this.asking.replaceChildren();
    this.result.replaceChildren();
    // The panel itself, where the keys of the player work and Tab goes on from here.
    if (isFocused) this.element.focus({ preventScroll: true });
    if (wasOpen) this.#set({ hidden: null });
  }

  /** Change the store without taking it for the learner's doing. */
  #set(patch) {
    const before = this.#isOwnChange;
    this.#isOwnChange = true;
    try {
      this.store.set(patch);
    } finally {
      this.#isOwnChange = before;
    }
  }
}
