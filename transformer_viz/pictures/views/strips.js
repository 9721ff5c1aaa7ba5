// Vectors as strips of colour, with labels and numbers.

import { css, entry, inkOn } from "./colour.js";
import { fitted, PIXELS } from "./text.js";

/** @import {Pen} from "./pen.js" */
/** @import {Vector} from "./row.js" */
/** @import {Look} from "./theme.js" */

/** @typedef {{pen: Pen, look: Look, strips: Strip[]}} Paper What is drawn on, and the strips that are on it. */

/**
 * A vector that is drawn.
 *
 * @typedef {object} Strip
 * @property {string} label
 * @property {Vector} vector
 * @property {number} x
 * @property {number} y
 * @property {number} width
 */

/** @typedef {{align?: CanvasTextAlign, colour?: string, bold?: boolean, room?: number, pixels?: number}} Style */

/**
 * One vector of a chain.
 *
 * @typedef {object} Link
 * @property {string} label
 * @property {Vector} vector
 * @property {string} [by] What makes this vector of the one before it.
 * @property {number} [largest] Value at the end of the colours.
 * @property {[begin: number, end: number]} [marked] Part to frame, as shares of the width.
 * @property {number} [share] Its width, as a multiple of that of the others; by default 1.
 */

const HIGH = 18;
const LABEL = 20; // height of a label
const LINE = 58; // from one line of a chain to the next
const LEAST = 110; // width that a strip needs to be readable
const OPERATOR = 68; // least pixels between two strips, for `by`
const SMALL = 11; // pixels of the numbers of a vector
const BETWEEN = 2; // pixels between two numbers side by side
const WIDEST = "−.000"; // a number that has to have room in its cell, so that all strips of a size have numbers or none
const LEAST_NUMBER = 0.0005; // smaller ones stand in their cells as 0
const FIRST = 3; // numbers that are written of a vector whose cells have no room for them, and its last one

/**
 * Return the largest absolute value of all numbers in some vectors.
 *
 * @param {...Vector} vectors
 */
export function largestOf(...vectors) {
  let largest = 0;
  for (const vector of vectors) for (const number of vector) largest = Math.max(largest, Math.abs(number));
  return largest;
}

/**
 * Return a number with so many significant digits.
 *
 * @param {number} number
 * @param {number} digits
 */
function numberText(number, digits) {
  const text = number.toPrecision(digits);
  return (number && !text.includes("e") ? text : String(Number(text))).replace("-", "−");
}

/** Return a number as it stands in its cell, with two significant digits. @param {number} number */
const cellText = (number) =>
  Math.abs(number) < LEAST_NUMBER ? "0" : numberText(number, 2).replace(/^(−?)0\./, "$1.");

/**
 * Draw a vector, a column of colour for each number, with the numbers in them if all have room; return whether they have.
 *
 * @param {Paper} paper
 * @param {Strip} strip
 * @param {number} largest Value at the end of the colours.
 */
export function drawStrip({ pen, look, strips }, strip, largest) {
  strips.push(strip);
  const { vector, x, y, width } = strip;
  const step = width / vector.length;
  const colours = Array.from(vector, (number) => look.ramps.diverging[entry(number, largest, true)]);
  colours.forEach((colour, i) => {
    pen.fillStyle = css(colour);
    pen.fillRect(x + i * step, y, step + 0.4, HIGH);
  });
  pen.font = `400 ${SMALL}px ${look.theme.font}`;
  if (pen.measureText(WIDEST).width > step - BETWEEN) return false;
  const texts = Array.from(vector, cellText);
  if (texts.some((text) => pen.measureText(text).width > step - BETWEEN)) return false;
  pen.textAlign = "center";
  texts.forEach((text, i) => {
    pen.fillStyle = inkOn(colours[i]);
    pen.fillText(text, x + (i + 0.5) * step, y + HIGH / 2 + 1);
  });
  return true;
}

/**
 * Return what a strip says of the number at a point; null: there is none.
 *
 * @param {Strip[]} strips
 * @param {number} x
 * @param {number} y
 */
export function numberAt(strips, x, y) {
  const found = strips.find(
    (strip) => x >= strip.x && x < strip.x + strip.width && y >= strip.y && y < strip.y + HIGH,
  );
  if (!found) return null;
  const { label, vector } = found;
  const i = Math.floor(((x - found.x) / found.width) * vector.length);
  return `${label} · ${i + 1}/${vector.length}: ${numberText(vector[i], 4)}`;
}

/**
 * Write a text, cut to its room.
 *
 * @param {Paper} paper
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {Style} style
 */
export function write(
  { pen, look: { theme } },
  text,
  x,
  y,
  { align = "left", colour = theme.soft, bold = false, room = 400, pixels = PIXELS } = {},
) {
  pen.font = `${bold ? 600 : 400} ${pixels}px ${theme.font}`;
  pen.fillStyle = colour;
  pen.textAlign = align;
  pen.fillText(fitted(pen, text, room), x, y);
}

/**
 * Return the first numbers of a vector and its last one, as many as have room; "" if there is none for two.
 *
 * @param {Paper} paper
 * @param {Vector} vector
 * @param {number} room
 */
function excerpt({ pen, look }, vector, room) {
  pen.font = `400 ${SMALL}px ${look.theme.font}`;
  for (let first = Math.min(FIRST, vector.length - 2); first > 0; first--) {
    const numbers = [...vector.slice(0, first), vector[vector.length - 1]].map((number) =>
      numberText(number, 2),
    );
    const text = `[${numbers.slice(0, -1).join(", ")}, …, ${numbers[first]}]`;
    if (pen.measureText(text).width <= room) return text;
  }
  return "";
}

/**
 * Return the height of a chain of so many vectors.
 *
 * @param {number} count
 * @param {number} width
 */
export const chainHeight = (count, width) => Math.ceil(count / perLine(width)) * LINE;

/**
 * Draw a chain of vectors, in lines.
 *
 * @param {Paper} paper
 * @param {Link[]} links
 * @param {number} y
 * @param {number} width
 */
export function chain(paper, links, y, width) {
  const columns = Math.min(links.length, perLine(width));
  for (let first = 0; first < links.length; first += columns)
    drawLine(paper, links.slice(first, first + columns), y + (first / columns) * LINE, width, columns);
}

/**
 * @param {Paper} paper
 * @param {Link[]} links
 * @param {number} y
 * @param {number} width
 * @param {number} columns Vectors of a full line.
 */
function drawLine(paper, links, y, width, columns) {
  const { pen, look } = paper;
  pen.font = `400 ${PIXELS}px ${look.theme.font}`;
  const between = Math.max(
    OPERATOR,
    ...links.slice(1).map(({ by = "" }) => Math.ceil(pen.measureText(by).width) + 12),
  );
  const shares = links.reduce((sum, { share = 1 }) => sum + share, columns - links.length);
  const unit = (width - (columns - 1) * between) / shares;
  let x = 0;
  links.forEach(({ label, by = "", vector, largest, marked, share = 1 }, column) => {
    const wide = share * unit;
    if (column) {
      const style = { align: /** @type {const} */ ("center"), colour: look.theme.text, room: between - 6 };
      write(paper, by, x - between / 2, y + LABEL + HIGH / 2, style);
    }
    const room = Math.min(wide + between - 8, width - x);
    const sign = column || !by ? "" : `${by} `;
    write(paper, sign + label, x, y + LABEL / 2, { colour: look.theme.muted, room });
    const placed = { label, vector, x, y: y + LABEL, width: wide };
    if (!drawStrip(paper, placed, largest ?? largestOf(vector)))
      write(paper, excerpt(paper, vector, wide), x, y + LABEL + HIGH + 9, { pixels: SMALL });
    if (marked) {
      pen.strokeStyle = look.theme.text;
      pen.lineWidth = 1.5;
      pen.strokeRect(x + marked[0] * wide, y + LABEL - 1, (marked[1] - marked[0]) * wide, HIGH + 2);
    }
    x += wide + between;
  });
}

const perLine = (/** @type {number} */ width) =>
  Math.max(1, Math.floor((width + OPERATOR) / (LEAST + OPERATOR)));
