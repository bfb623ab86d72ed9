// Taking it away: a picture of this frame, a film of a range, the metrics as a table.

import { seek } from "./actions.js";
import { el } from "../core/dom.js";

const FRAMES_PER_S = 30;
const SHORTEST_MS = 1000; // of a film: a recorder that is stopped sooner keeps nothing
const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];

export class TakeAway {
  constructor(player) {
    this.player = player;
    const item = (text, title, onClick) => el("button", { type: "button", text, title, on: { click: onClick } });
    this.film = item("Film (WebM)", "Plays the loop, or everything, and keeps it as a film", () => this.toggleFilm());
    this.element = el("span", { class: "mb-takeaway" },
      item("Picture (PNG)", "This frame as a picture", () => this.picture()),
      typeof MediaRecorder === "undefined" ? null : this.film,
      player.store.comparison.csv ? item("Metrics (CSV)", "Every metric of every policy", () => this.csv()) : null);
  }

  get isFilming() {
    return Boolean(this.recorder);
  }

  async picture() {
    const { root } = this.player;
    this.player.drawNow();
    const canvas = document.createElement("canvas");
    paintPage(root, canvas, window.devicePixelRatio || 1, true);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    save(blob, `${this.#name()}.png`);
    return blob;
  }

  csv() {
    save(new Blob([this.player.store.comparison.csv], { type: "text/csv" }), `${this.#name()}.csv`);
  }

  toggleFilm() {
    if (this.recorder) this.endFilm();
    else this.#startFilm();
  }

  /** Play the loop (or all) once and record what the lanes and charts show. */
  #startFilm() {
    const { store, root } = this.player;
    const canvas = document.createElement("canvas");
    paintPage(root, canvas, 1, false);
    const stream = canvas.captureStream(FRAMES_PER_S);
    const chunks = [];
    this.recorder = new MediaRecorder(stream, { mimeType: KINDS.find((kind) => MediaRecorder.isTypeSupported(kind)) });
    this.recorder.ondataavailable = ({ data }) => chunks.push(data);
    const [from, to] = store.loop?.[1] != null ? store.loop : [0, store.end];
    let latest = from;
    const stop = store.subscribe((changed) => {
      if (changed.has("position")) {
        if (store.position < latest) this.endFilm(); // the loop began again
        latest = store.position;
      }
      if (changed.has("isPlaying") && !store.isPlaying) this.endFilm();
    });
    const timer = setInterval(() => paintPage(root, canvas, 1, false), 1000 / FRAMES_PER_S);
    const began = performance.now();
    this.endFilm = () => {
      this.endFilm = () => {};
      stop();
      setTimeout(() => this.recorder.stop(), Math.max(0, began + SHORTEST_MS - performance.now()));
    };
    this.recorder.onstop = () => {
      clearInterval(timer);
      for (const track of stream.getTracks()) track.stop();
      this.recorder = null;
      this.film.textContent = "Film (WebM)";
      store.set({ isPlaying: false });
      save(new Blob(chunks, { type: "video/webm" }), `${this.#name()}.webm`);
    };
    this.film.textContent = "Stop filming";
    seek(store, from);
    this.recorder.start();
    store.set({ isPlaying: true });
    if (to <= from) this.endFilm();
  }

  #name() {
    const { comparison } = this.player.store;
    return `minibatch-${comparison.runs[0].scenario}`.replace(/[^\w.-]+/g, "-");
  }
}

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Paint what the player shows on a canvas: its canvases and its words where they stand; `isWhole`: the cards too. */
function paintPage(root, canvas, ratio, isWhole) {
  const frame = root.getBoundingClientRect();
  const style = getComputedStyle(root);
  const parts = [...root.querySelectorAll(".mb-provenance, .mb-clocks, .mb-lane, .mb-axis, .mb-legend, .mb-right, .mbw-card, .mbw-story")]
    .filter((part) => (isWhole || !part.matches(".mbw-card, .mbw-story")) && part.getClientRects().length);
  const bottom = Math.max(...parts.map((part) => part.getBoundingClientRect().bottom)) - frame.top + 16;
  // Films need even sizes.
  const [width, height] = [frame.width, bottom].map((size) => 2 * Math.ceil((size * ratio) / 2));
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, -frame.left * ratio, -frame.top * ratio);
  context.fillStyle = style.getPropertyValue("--surface");
  context.fillRect(frame.left, frame.top, frame.width, bottom);
  for (const part of parts) {
    paintBoxes(context, part, root.player.patterns);
    const canvases = part.matches("canvas") ? [part] : part.querySelectorAll("canvas");
    for (const inner of canvases) paintCanvas(context, inner);
    paintDrawings(context, part);
    paintWords(context, part);
  }
}

/** The grounds and borders of the elements that have one. */
function paintBoxes(context, part, patterns) {
  for (const element of [part, ...part.querySelectorAll("i, .mb-key b, .mb-badge, .mb-chart-playhead")]) {
    const { backgroundColor, borderTopWidth, borderTopColor, opacity, visibility } = getComputedStyle(element);
    const { left, top, width, height } = element.getBoundingClientRect();
    if (visibility === "hidden" || !width || !height) continue;
    context.globalAlpha = Number(opacity);
    context.fillStyle = backgroundColor;
    context.fillRect(left, top, width, height);
    const kind = /\bmb-key-(\w+)/.exec(element.className)?.[1];
    if (patterns[kind]) {
      context.fillStyle = patterns[kind];
      context.fillRect(left, top, width, height);
    }
    context.strokeStyle = borderTopColor;
    context.lineWidth = parseFloat(borderTopWidth);
    if (parseFloat(borderTopWidth)) context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
  }
  context.globalAlpha = 1;
}

/** The drawings of a legend: paths of small SVGs. */
function paintDrawings(context, part) {
  for (const svg of part.querySelectorAll("svg")) {
    const { left, top, width, height } = svg.getBoundingClientRect();
    const { width: across, height: down } = svg.viewBox.baseVal;
    if (!width || !across) continue;
    context.save();
    context.translate(left, top);
    context.scale(width / across, height / down);
    for (const shape of svg.querySelectorAll("path")) {
      context.fillStyle = getComputedStyle(shape).fill;
      context.fill(new Path2D(shape.getAttribute("d")));
    }
    context.restore();
  }
}

/** A canvas at its place, as far as its style lets it be seen. */
function paintCanvas(context, inner) {
  const { left, top, width, height } = inner.getBoundingClientRect();
  if (!width || !height || !inner.width) return;
  const hiddenRight = Number(/inset\(0(?:px)? ([\d.]+)px/.exec(inner.style.clipPath)?.[1] ?? 0);
  context.save();
  context.beginPath();
  context.rect(left, top, width - hiddenRight, height);
  context.clip();
  context.drawImage(inner, left, top, width, height);
  context.restore();
}

/** Every word at its place, in its own type and colour. */
function paintWords(context, part) {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("select, pre, [hidden], details:not([open]) > :not(summary), .mb-hidden")) continue;
    const { fontStyle, fontWeight, fontSize, fontFamily, color, opacity, visibility } = getComputedStyle(parent);
    if (visibility === "hidden") continue;
    context.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`; // the shorthand is empty with tabular figures
    context.fillStyle = color;
    context.globalAlpha = Number(opacity);
    context.textBaseline = "alphabetic";
    for (const { index, 0: word } of node.data.matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const box = range.getBoundingClientRect();
      const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = context.measureText(word);
      context.fillText(word, box.left, box.top + (box.height - up - down) / 2 + up);
    }
    context.globalAlpha = 1;
  }
}
