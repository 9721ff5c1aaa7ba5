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
 * Return a sentence with its {names} replaced.
 *
 * @param {string} sentence
 * @param {Record<string, string | number>} values
 */
export function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/**
 * Return a share as a percentage with at most one decimal, a smaller one with its first digit.
 *
 * @param {number} share
 */
export function percent(share) {
  const number = 100 * share;
  return `${Number(Math.abs(number) < 0.05 ? number.toPrecision(1) : number.toFixed(1))}%`.replace("-", "−");
}
