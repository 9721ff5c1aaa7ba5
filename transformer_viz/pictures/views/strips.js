// Vectors as strips of colour, with labels.

import { css, entry } from "./colour.js";
import { fitted, PIXELS } from "./text.js";

/** @import {Pen} from "./pen.js" */
/** @import {Vector} from "./row.js" */
/** @import {Look} from "./theme.js" */

/** @typedef {{align?: CanvasTextAlign, colour?: string, bold?: boolean, room?: number}} Style */

/**
 * One vector of a chain.
 *
 * @typedef {object} Link
 * @property {string} label
 * @property {Vector} vector
 * @property {string} [by] What makes this vector of the one before it.
 * @property {number} [largest] Value at the end of the colours.
 * @property {[begin: number, end: number]} [marked] Part to frame, as shares of the width.
 */

const HIGH = 18;
const LABEL = 20; // height of a label
const LINE = 58; // from one line of a chain to the next
const LEAST = 110; // width that a strip needs to be readable
const OPERATOR = 68; // pixels between two strips, for `by`

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
 * Draw a vector, a column of colour for each number.
 *
 * @param {Pen} pen
 * @param {Look} look
 * @param {Vector} numbers
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} largest Value at the end of the colours.
 */
export function strip(pen, look, numbers, x, y, width, largest) {
  const step = width / numbers.length;
  numbers.forEach((number, i) => {
    pen.fillStyle = css(look.ramps.diverging[entry(number, largest, true)]);
    pen.fillRect(x + i * step, y, step + 0.4, HIGH);
  });
}

/**
 * Write a text, cut to its room.
 *
 * @param {Pen} pen
 * @param {Look} look
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {Style} style
 */
export function write(
  pen,
  { theme },
  text,
  x,
  y,
  { align = "left", colour = theme.soft, bold = false, room = 400 } = {},
) {
  pen.font = `${bold ? 600 : 400} ${PIXELS}px ${theme.font}`;
  pen.fillStyle = colour;
  pen.textAlign = align;
  pen.fillText(fitted(pen, text, room), x, y);
}

/**
 * Return the height of a chain of so many vectors.
 *
 * @param {number} count
 * @param {number} width
 */
export function chainHeight(count, width) {
  return Math.ceil(count / perLine(width)) * LINE;
}

/**
 * Draw a chain of vectors, in lines.
 *
 * @param {Pen} pen
 * @param {Look} look
 * @param {Link[]} links
 * @param {number} y
 * @param {number} width
 */
export function chain(pen, look, links, y, width) {
  const columns = Math.min(links.length, perLine(width));
  const wide = (width - (columns - 1) * OPERATOR) / columns;
  links.forEach(({ label, by = "", vector, largest, marked }, i) => {
    const column = i % columns;
    const [x, top] = [column * (wide + OPERATOR), y + Math.floor(i / columns) * LINE];
    const sign = i && !column ? `${by} ` : "";
    if (column) {
      const style = { align: /** @type {const} */ ("center"), colour: look.theme.text, room: OPERATOR - 6 };
      write(pen, look, by, x - OPERATOR / 2, top + LABEL + HIGH / 2, style);
    }
    const room = Math.min(wide + OPERATOR - 8, width - x);
    write(pen, look, sign + label, x, top + LABEL / 2, { colour: look.theme.muted, room });
    strip(pen, look, vector, x, top + LABEL, wide, largest ?? largestOf(vector));
    if (!marked) return;
    pen.strokeStyle = look.theme.text;
    pen.lineWidth = 1.5;
    pen.strokeRect(x + marked[0] * wide, top + LABEL - 1, (marked[1] - marked[0]) * wide, HIGH + 2);
  });
}

const perLine = (/** @type {number} */ width) =>
  Math.max(1, Math.floor((width + OPERATOR) / (LEAST + OPERATOR)));
