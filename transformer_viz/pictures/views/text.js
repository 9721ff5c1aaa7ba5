// Texts on a canvas: cut with an ellipsis to fit, and sentences with names to fill in.

/** @import {Ruler} from "./pen.js" */

export const PIXELS = 12.5;

/**
 * Return a text, cut to a width in pixels.
 *
 * @param {Ruler} ruler
 * @param {string} text
 * @param {number} room
 */
export function fitted(ruler, text, room) {
  if (ruler.measureText(text).width <= room) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ruler.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low ? `${text.slice(0, low)}…` : "";
}

/**
 * Return the width of the widest text, at most `most`.
 *
 * @param {Ruler} ruler
 * @param {string[]} texts
 * @param {number} most
 */
export function widest(ruler, texts, most) {
  let width = 0;
  for (const text of texts) {
    width = Math.max(width, ruler.measureText(text).width);
    if (width >= most) return most;
  }
  return Math.ceil(width);
}

/**
 * Return n such that every nth label has room.
 *
 * @param {number} step Pixels from one token to the next.
 * @param {number} needed Pixels that a label takes.
 */
export function stride(step, needed) {
  return Math.max(1, Math.ceil(needed / step));
}

/**
 * Return a weight, or a difference of two, in percent with at most one decimal; what is not 0 is not written as 0. `percent`
 * in theme.py is the same.
 *
 * @param {number} share
 */
export function percent(share) {
  const points = Math.abs(100 * share);
  const sign = share < 0 ? "−" : "";
  return points && points < 0.05 ? `${sign}<0.1%` : `${sign}${Number(points.toFixed(1))}%`;
}

/**
 * Return a sentence with its {names} replaced.
 *
 * @param {string} sentence
 * @param {Record<string, string | number>} values
 */
export function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
