// Making elements. Text is only ever set as text: a recording may come from anywhere.

/** Numbers that change faster can't be read, and writing them costs a frame. */
export const LEGIBLE_MS = 80;

/**
 * An element. `attributes` are set as attributes, but `text` (its text), `on` (listeners by event) and
 * `class`; null and false leave an attribute out.
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set an element's text, but only if it changes: layout is not cheap. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const ICONS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z",
  home: "M3 2.5h2v11H3zM13 2.5v11L6 8z",
  back: "M8 2.5v11L1 8zM10 2.5h2.2v11H10z",
  forward: "M8 2.5v11L15 8zM3.8 2.5H6v11H3.8z",
  end: "M11 2.5h2v11h-2zM3 2.5v11L10 8z",
  previous: "M11 3v10L5.5 8z",
  next: "M5 3v10L10.5 8z",
};

/** A drawing of 16 by 16, because fonts may lack the signs of a player. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("mb-icon");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button with a text or an icon; `label` is its name and its tooltip. */
export function button({ label, text, icon: drawing, onClick, ...attributes }) {
  const content = drawing ? icon(drawing) : text ?? label;
  return el("button", { type: "button", "aria-label": label, title: label, on: { click: onClick }, ...attributes }, content);
}

/** A canvas that keeps its pixels in step with its size on the page and with the screen's density. */
export class Surface {
  constructor(attributes = {}) {
    this.canvas = el("canvas", attributes);
    this.context = this.canvas.getContext("2d");
    this.width = 0;
    this.height = 0;
    this.ratio = 0;
  }

  /** Take a size in CSS pixels; returns whether anything changed. */
  resize(width, height) {
    const ratio = window.devicePixelRatio || 1;
    if (width === this.width && height === this.height && ratio === this.ratio) return false;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    return true;
  }

  /** The context in CSS pixels, with nothing drawn. */
  clear() {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }
}
