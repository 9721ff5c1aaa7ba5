// Heads as small images.

import { channelsOf, entry, packed, weightLimit } from "./colour.js";
import { element } from "./element.js";
import { HALF } from "./payload.js";
import { contextOf } from "./pen.js";

/** @import {Attention} from "./payload.js" */
/** @import {Look} from "./theme.js" */

/** @type {HTMLCanvasElement | null} */
let shared = null; // a canvas for each thumbnail would cost more than what is drawn on it

const LEAST_LIMIT = 0.02; // end of the scale of changes, so that small ones are pale
const FINEST = 64; // pixels a side: of more tokens, each pixel is the largest weight of several

/**
 * Return a function that returns the thumbnails of all heads, drawn once.
 *
 * @returns {(attention: Attention, look: Pick<Look, "ramps" | "gap">) => ImageData[]}
 */
export function thumbnailsOf() {
  /** @type {unknown[]} */
  let from = [];
  /** @type {ImageData[]} */
  let drawn = [];
  return (attention, { ramps, gap }) => {
    if (from[0] === attention && from[1] === ramps) return drawn;
    const { layers, heads } = attention;
    const places = Array.from({ length: layers * heads }, (_, i) => ({
      layer: Math.floor(i / heads),
      head: i % heads,
    }));
    const draw = drawerOf(attention, ramps, packed(channelsOf(gap)));
    drawn = places.map(({ layer, head }) => draw(layer, head));
    from = [attention, ramps];
    return drawn;
  };
}

/** @typedef {(layer: number, head: number) => ImageData} Draw */

/** @param {Attention} attention @param {Look["ramps"]} ramps @param {number} gap Colour of what is masked. */
function drawerOf(attention, { sequential, diverging }, gap) {
  if (attention.isCompared) return changesOf(attention, diverging, gap);
  if (!attention.areNumbers) return shownWith(attention, sequential, gap);
  const table = attention.signed ? diverging : sequential;
  const largest = (/** @type {number} */ layer, /** @type {number} */ head) =>
    attention.field(layer, head, "weights").largest;
  return strongestWith(attention, "weights", table, gap, attention.signed === true, largest);
}

/**
 * Return a function that returns a head's weights as an image, each head with a scale of its own.
 *
 * @param {Attention} attention
 * @param {Uint32Array} table
 * @param {number} gap
 * @returns {Draw}
 */
function shownWith(attention, table, gap) {
  const { rows, columns } = sizeOf(attention);
  /** @type {Map<Uint8Array, Uint16Array>} */
  const masks = new Map();
  return (layer, head) => {
    const pooled = pooledOf(attention, attention.bits(layer, head), rows, columns);
    let largest = 0;
    for (const weight of pooled) largest = Math.max(largest, weight);
    const limit = weightLimit(HALF[largest], attention.seen(layer, head));
    const mask = attention.mask(layer, head);
    const allowed = masks.get(mask) ?? pooledOf(attention, new Uint16Array(mask), rows, columns);
    masks.set(mask, allowed);
    return imageOf(columns, rows, (pixel) =>
      allowed[pixel] ? table[entry(HALF[pooled[pixel]], limit, false)] : gap,
    );
  };
}

/**
 * Return a function that returns the change of a head's weights as an image, all heads with one scale.
 *
 * @param {Attention} attention
 * @param {Uint32Array} table
 * @param {number} gap
 * @returns {Draw}
 */
function changesOf(attention, table, gap) {
  const { layers, heads } = attention;
  let limit = LEAST_LIMIT;
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++)
      limit = Math.max(limit, attention.field(layer, head, "change").largest);
  }
  return strongestWith(attention, "change", table, gap, true, () => limit);
}

/**
 * Return a function that returns a head's numbers as an image: in each pixel the one that is furthest from 0.
 *
 * @param {Attention} attention
 * @param {"weights" | "change"} value
 * @param {Uint32Array} table
 * @param {number} gap
 * @param {boolean} signed
 * @param {(layer: number, head: number) => number} limitOf
 * @returns {Draw}
 */
function strongestWith(attention, value, table, gap, signed, limitOf) {
  const { rows, columns } = sizeOf(attention);
  const { queries, keys } = attention;
  const column = Uint16Array.from({ length: keys }, (_, key) => Math.floor((key * columns) / keys));
  return (layer, head) => {
    const strongest = new Float32Array(rows * columns).fill(NaN);
    const { data } = attention.field(layer, head, value);
    for (let query = 0, cell = 0; query < queries; query++) {
      const row = Math.floor((query * rows) / queries) * columns;
      for (let key = 0; key < keys; key++, cell++) {
        const pixel = row + column[key];
        const isLess = Math.abs(data[cell]) <= Math.abs(strongest[pixel]);
        if (!isLess && !Number.isNaN(data[cell])) strongest[pixel] = data[cell];
      }
    }
    const limit = limitOf(layer, head);
    return imageOf(columns, rows, (pixel) =>
      Number.isNaN(strongest[pixel]) ? gap : table[entry(strongest[pixel], limit, signed)],
    );
  };
}

/** Return the pixels of a thumbnail, of at most FINEST a side. @param {Attention} attention */
const sizeOf = ({ queries, keys }) => ({ rows: Math.min(queries, FINEST), columns: Math.min(keys, FINEST) });

/**
 * @param {number} columns
 * @param {number} rows
 * @param {(pixel: number) => number} colour
 * @returns {ImageData}
 */
function imageOf(columns, rows, colour) {
  const pixels = new ImageData(columns, rows);
  const colours = new Uint32Array(pixels.data.buffer);
  for (let pixel = 0; pixel < colours.length; pixel++) colours[pixel] = colour(pixel);
  return pixels;
}

/** Return a canvas with a thumbnail on it: the same one for all, until the next call. @param {ImageData} thumbnail */
export function canvasOf(thumbnail) {
  shared ??= element("canvas", {});
  [shared.width, shared.height] = [thumbnail.width, thumbnail.height];
  contextOf(shared).putImageData(thumbnail, 0, 0);
  return shared;
}

/**
 * Return the largest number of the tokens of each pixel: of weights as bits, or of a mask.
 *
 * @param {Attention} attention
 * @param {Uint16Array} bits
 * @param {number} rows
 * @param {number} columns
 */
export function pooledOf({ queries, keys }, bits, rows, columns) {
  const pooled = new Uint16Array(rows * columns); // half-precision bits are in the order of the weights
  const column = Uint16Array.from({ length: keys }, (_, key) => Math.floor((key * columns) / keys));
  for (let query = 0, cell = 0; query < queries; query++) {
    const row = Math.floor((query * rows) / queries) * columns;
    for (let key = 0; key < keys; key++, cell++) {
      const pixel = row + column[key];
      if (bits[cell] > pooled[pixel]) pooled[pixel] = bits[cell];
    }
  }
  return pooled;
}
