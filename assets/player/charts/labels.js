// Where labels go: beside their points, inside the frame, never over one another.

/**
 * @typedef {object} Box in CSS pixels
 * @property {number} left @property {number} top @property {number} width @property {number} height
 */

const FARTHEST = 5; // how far a label may go up or down from its point, in heights of its text

/** Places around a point, best first: [side, rows], side 1 right, -1 left, 0 above or below. */
const AROUND = [[1, 0], [-1, 0], [0, -1], [0, 1]];
for (let rows = 1; rows <= FARTHEST; rows++) AROUND.push([1, -rows], [1, rows], [-1, -rows], [-1, rows]);

/**
 * Place labels one after the other, each as near to its point as the frame, the earlier labels and, if
 * possible, the obstacles allow. A label keeps the place it had before while that is free, so that it
 * moves with its point and does not jump.
 *
 * @param {{x: number, y: number, width: number, height: number, gap: number}[]} labels
 * @param {Box} frame
 * @param {Box[]} obstacles not to be covered if it can be helped
 * @param {number[]} before the choices of the last call; overwritten with those of this one
 * @returns {(Box | null)[]} null where there is no room at all
 */
export function placeLabels(labels, frame, obstacles = [], before = []) {
  const taken = [];
  return labels.map((label, k) => {
    const choice = choose(label, frame, [taken, obstacles], before[k]) ?? choose(label, frame, [taken]);
    before[k] = choice?.index;
    if (choice) taken.push(choice.box);
    return choice ? choice.box : null;
  });
}

/**
 * Rows above a chart for labels of points along it, the lowest row first: each label ends
 * `gap` before its point, like a flag, so that no pole crosses an earlier label.
 * @param {{x: number, width: number}[]} labels in CSS pixels, from left to right
 * @returns {{row: number, left: number}[]}
 */
export function stackLabels(labels, from, gap) {
  const ends = [];
  return labels.map(({ x, width }) => {
    const left = Math.max(from, x - gap - width);
    let row = 0;
    while (left < (ends[row] ?? -Infinity) + 2 * gap) row++;
    ends[row] = Math.max(x, left + width);
    return { row, left };
  });
}

/** Whether two boxes share any point. */
export function boxesMeet(a, b) {
  return a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;
}

function choose(label, frame, groups, before) {
  const fits = (box) => liesIn(box, frame) && !groups.some((boxes) => boxes.some((other) => boxesMeet(box, other)));
  for (let k = before === undefined ? 0 : -1; k < AROUND.length; k++) {
    const index = k < 0 ? before : k;
    const box = candidateBox(label, AROUND[index]);
    if (fits(box)) return { box, index };
  }
  return null;
}

function candidateBox({ x, y, width, height, gap }, [side, rows]) {
  const left = side > 0 ? x + gap : side < 0 ? x - gap - width : x - width / 2;
  const away = side ? rows * height : rows * (gap + height / 2);
  return { left, top: y + away - height / 2, width, height };
}

function liesIn(box, frame) {
  return (
    box.left >= frame.left && box.top >= frame.top &&
    box.left + box.width <= frame.left + frame.width && box.top + box.height <= frame.top + frame.height
  );
}

/** Texts on a canvas with their widths remembered, and a halo that keeps them legible over points. */
export class LabelPen {
  constructor(theme, size = 12, weight = 600) {
    this.theme = theme;
    this.size = size * theme.scale;
    this.font = `${weight} ${this.size}px ${theme.font}`;
    this.height = Math.round(this.size * 1.3);
    this.widths = new Map();
    this.stamps = new Map();
  }

  width(context, text) {
    if (!this.widths.has(text)) {
      context.font = this.font;
      this.widths.set(text, Math.ceil(context.measureText(text).width));
    }
    return this.widths.get(text);
  }

  /** A label for `placeLabels`. */
  label(context, text, x, y, gap) {
    return { text, x, y, gap, width: this.width(context, text), height: this.height };
  }

  /** Draw a text in its box, and a line to its point (x, y) if it had to go far. `isKept`: it will be drawn again. */
  draw(context, { text, x, y, gap }, box, colour = this.theme.ink, isKept = false) {
    const nearX = Math.min(Math.max(x, box.left), box.left + box.width);
    const nearY = Math.min(Math.max(y, box.top), box.top + box.height);
    if (Math.hypot(nearX - x, nearY - y) > gap + this.height) {
      context.strokeStyle = this.theme.muted;
      context.lineWidth = this.theme.scale;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(nearX, nearY);
      context.stroke();
    }
    if (isKept) this.#stamp(context, text, box, colour);
    else this.write(context, text, box.left, box.top + box.height / 2, colour);
  }

  /** Copy a picture of the text, made once: halos are slow to draw. */
  #stamp(context, text, { left, top, width, height }, colour) {
    const key = `${text} ${colour}`;
    const ratio = context.getTransform().a;
    const margin = Math.ceil(2 * this.theme.scale);
    if (!this.stamps.has(key)) {
      const canvas = document.createElement("canvas");
      canvas.width = Math.ceil((width + 2 * margin) * ratio);
      canvas.height = Math.ceil((height + 2 * margin) * ratio);
      const own = canvas.getContext("2d");
      own.scale(ratio, ratio);
      this.write(own, text, margin, margin + height / 2, colour);
      this.stamps.set(key, canvas);
    }
    const canvas = this.stamps.get(key);
    const sharp = (at) => Math.round((at - margin) * ratio) / ratio; // on whole pixels of the screen
    context.drawImage(canvas, sharp(left), sharp(top), canvas.width / ratio, canvas.height / ratio);
  }

  /** A text that begins at `left` with its middle at `y`. */
  write(context, text, left, y, colour = this.theme.ink) {
    context.font = this.font;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 3 * this.theme.scale;
    context.strokeStyle = this.theme.surface;
    context.strokeText(text, left, y);
    context.fillStyle = colour;
    context.fillText(text, left, y);
  }
}
