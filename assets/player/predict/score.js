// What a learner predicted and how it came out, kept in the browser.

const MOST_RECORDS = 2000;
const VERSION_OF_SCORE = 1;
/** Bounds of the bins of confidence. */
const BINS = [0, 0.15, 0.28, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1];

/** The browser's storage, or null where it may not be used: a private window, a file, a sandboxed frame. */
export function browserStorage() {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

/**
 * @typedef {object} Prediction
 * @property {string} kind of question
 * @property {number} confidence from 0 to 1: how likely the learner thought to be right
 * @property {boolean} right
 * @property {number} credit from 0 to 1
 * @property {number} when ms since 1970
 */

/** All predictions so far. Storage that fails or holds something else costs the memory of them, nothing more. */
export class Score {
  /** @param {Pick<Storage, "getItem" | "setItem" | "removeItem"> | null} storage */
  constructor(storage = browserStorage(), key = "minibatch.predictions") {
    this.storage = storage;
    this.key = key;
    this.records = [];
    this.fromJSON(this.#attempt((kept) => kept.getItem(key)));
  }

  /** @param {Prediction} prediction */
  record(prediction) {
    if (!isPrediction(prediction)) return;
    const { kind, confidence, right, credit, when } = prediction;
    this.records = [...this.records, { kind, confidence, right, credit, when }].slice(-MOST_RECORDS);
    this.#attempt((kept) => kept.setItem(this.key, JSON.stringify(this)));
  }

  /**
   * `asked` predictions, `right` of them, `credit` in all; `brier`, the mean square of confidence minus
   * outcome (0 is perfect, always saying 50 % gives 0.25), null before the first; and for every bin of
   * confidence, from <= confidence < to, what was claimed and observed in the mean.
   */
  summary() {
    const { records } = this;
    const sum = (rows, value) => rows.reduce((total, row) => total + value(row), 0);
    const calibration = [];
    for (let bin = 0; bin + 1 < BINS.length; bin++) {
      const [from, to] = [BINS[bin], BINS[bin + 1]];
      const rows = records.filter(({ confidence }) => binOf(confidence) === bin);
      if (!rows.length) continue;
      const claimed = sum(rows, ({ confidence }) => confidence) / rows.length;
      const observed = sum(rows, ({ right }) => +right) / rows.length;
      calibration.push({ from, to, claimed, observed, count: rows.length });
    }
    const squares = sum(records, ({ confidence, right }) => (confidence - +right) ** 2);
    return {
      asked: records.length,
      right: sum(records, ({ right }) => +right),
      credit: sum(records, ({ credit }) => credit),
      brier: records.length ? squares / records.length : null,
      calibration,
    };
  }

  /** The bin of `summary().calibration` that a confidence falls into, if anything does. */
  calibrationAt(confidence) {
    const from = BINS[binOf(confidence)];
    return this.summary().calibration.find((bin) => bin.from === from) ?? null;
  }

  clear() {
    this.records = [];
    this.#attempt((kept) => kept.removeItem(this.key));
  }

  toJSON() {
    return { version: VERSION_OF_SCORE, records: this.records };
  }

  /** Take what `toJSON` gave, as an object or as text; what is no prediction is left out. */
  fromJSON(saved) {
    let data = saved;
    if (typeof saved === "string") {
      try {
        data = JSON.parse(saved);
      } catch {
        data = null;
      }
    }
    const isKnown = data?.version === VERSION_OF_SCORE && Array.isArray(data.records);
    this.records = isKnown ? data.records.filter(isPrediction).slice(-MOST_RECORDS) : [];
    return this;
  }

  #attempt(use) {
    try {
      return this.storage ? use(this.storage) : null;
    } catch {
      return null;
    }
  }
}

function binOf(confidence) {
  let bin = BINS.length - 2;
  // A claim of 0.55, as a sum of decimals, may lie a hair below it.
  while (bin > 0 && confidence < BINS[bin] - 1e-9) bin--;
  return bin;
}

function isPrediction(row) {
  const isShare = (value) => Number.isFinite(value) && value >= 0 && value <= 1;
  if (typeof row !== "object" || row === null) return false;
  const { kind, confidence, right, credit, when } = row;
  if (typeof kind !== "string" || typeof right !== "boolean" || !Number.isFinite(when)) return false;
  return isShare(confidence) && isShare(credit);
}
