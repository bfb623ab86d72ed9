// What a learner has done, kept in the browser and nowhere else; a file takes it to another.

const PROGRESS_KEY = "minibatch progress";
const PROGRESS_VERSION = 1;
const MOST_PROGRESS_BYTES = 1 << 20;
const PROGRESS_NAME = /^(?!__proto__$)[\w .:-]{1,100}$/;

/** What storage would not take: it lasts as long as the page. */
let unsaved = null;

/**
 * @typedef {object} Progress
 * @property {1} version
 * @property {Object<string, Object<string, {right: boolean|null, answer: any, at: string}>>} lessons answers by lesson and block
 * @property {Object<string, string>} done when a lesson was finished, by its id
 * @property {Object<string, {box: number, due: string|number}>} cards
 */

/** @returns {Progress} what is kept; nothing, where there is none or it can't be read */
export function readProgress() {
  if (unsaved) return structuredClone(unsaved);
  try {
    return checkedProgress(window.localStorage.getItem(PROGRESS_KEY) ?? "") ?? emptyProgress();
  } catch {
    return emptyProgress(); // a sandboxed frame has no storage
  }
}

/** Let `change` alter what is kept. @param {(progress: Progress) => void} change @returns {Progress} */
export function changeProgress(change) {
  const progress = readProgress();
  change(progress);
  try {
    window.localStorage.setItem(PROGRESS_KEY, JSON.stringify(progress));
    unsaved = null;
  } catch {
    unsaved = progress;
  }
  return progress;
}

/** Keep an answer, or with null forget it. */
export function keepAnswer(lesson, key, record) {
  changeProgress((progress) => {
    const answers = (progress.lessons[lesson] ??= {});
    if (record) answers[key] = record;
    else delete answers[key];
  });
}

/** Progress as the text of a file. */
export function progressText() {
  return JSON.stringify(readProgress(), null, 1);
}

/** Add what a file holds; of two answers the later stays. @returns {boolean} whether it was such a file */
export function importProgress(text) {
  const found = checkedProgress(text);
  if (!found) return false;
  changeProgress((progress) => {
    for (const [lesson, answers] of Object.entries(found.lessons)) {
      const kept = (progress.lessons[lesson] ??= {});
      for (const [key, record] of Object.entries(answers)) {
        if (!kept[key] || kept[key].at < record.at) kept[key] = record;
      }
    }
    progress.done = { ...found.done, ...progress.done };
    for (const [id, card] of Object.entries(found.cards)) {
      if (!progress.cards[id] || progress.cards[id].due < card.due) progress.cards[id] = card;
    }
  });
  return true;
}

function emptyProgress() {
  return { version: PROGRESS_VERSION, lessons: {}, done: {}, cards: {} };
}

/** A text as progress, what does not belong left out; null if it is none. */
function checkedProgress(text) {
  if (text.length > MOST_PROGRESS_BYTES) return null;
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    return null;
  }
  if (data?.version !== PROGRESS_VERSION) return null;
  const isText = (value) => typeof value === "string" && value.length <= 40;
  const isAnswer = (record) => isPlain(record) && [true, false, null].includes(record.right) && isText(record.at);
  const isCard = (card) => isPlain(card) && Number.isInteger(card.box) && (isText(card.due) || Number.isFinite(card.due));
  const lessons = keptEntries(data.lessons, isPlain);
  for (const lesson of Object.keys(lessons)) lessons[lesson] = keptEntries(lessons[lesson], isAnswer);
  return { version: PROGRESS_VERSION, lessons, done: keptEntries(data.done, isText), cards: keptEntries(data.cards, isCard) };
}

function keptEntries(object, isFit) {
  if (!isPlain(object)) return {};
  return Object.fromEntries(Object.entries(object).filter(([name, value]) => PROGRESS_NAME.test(name) && isFit(value)));
}

function isPlain(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
