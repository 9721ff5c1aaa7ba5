// Where the thumbnails of all heads stand.

import { PIXELS } from "./text.js";

/** @import {Selection} from "./selection.js" */
/** @import {Point} from "./tip.js" */

/**
 * @typedef {object} Layout
 * @property {boolean} sorted
 * @property {number} left
 * @property {number} top
 * @property {number} columns
 * @property {number} rows
 * @property {number} side Width of a thumbnail.
 * @property {number} tall Height of a thumbnail.
 * @property {number} below Height of the texts below it.
 */

const MOST_SIDE = 96;
export const GAP = 6;

/**
 * @param {Selection} selection
 * @param {number} width
 * @returns {Layout}
 */
export function layoutOf({ attention, state }, width) {
  const { layers, heads } = attention;
  const sorted = Boolean(attention.figures[state.sort]);
  const left = sorted ? 0 : 22;
  const columns = sorted ? Math.max(1, Math.min(layers * heads, Math.floor(width / 70))) : heads;
  const rows = sorted ? Math.ceil((layers * heads) / columns) : layers;
  const shape = Math.max(0.4, Math.min(2.5, attention.queries / attention.keys));
  const side = Math.min(MOST_SIDE, (width - left) / columns - GAP);
  const below = sorted ? 2 * PIXELS + 8 : 0; // the head's name and figure
  return { sorted, left, top: 24, columns, rows, side, tall: side * shape, below };
}

/**
 * @param {Layout} layout
 * @param {number} place
 * @returns {Point}
 */
export const corner = ({ left, top, columns, side, tall, below }, place) => [
  left + (place % columns) * (side + GAP),
  top + Math.floor(place / columns) * (tall + GAP + below),
];
