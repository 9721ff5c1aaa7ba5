// Heads as small images.

import { entry, weightLimit } from "./colour.js";
import { HALF } from "./payload.js";
import { contextOf } from "./pen.js";

/** @import {Attention} from "./payload.js" */

/** @typedef {{image: OffscreenCanvas, columns: number, rows: number}} Thumbnail */

const FINEST = 64; // pixels a side: of more tokens, each pixel is the largest weight of several

/**
 * Return a function that returns the thumbnails of all heads, drawn once.
 *
 * @returns {(attention: Attention, table: Uint32Array) => Thumbnail[]}
 */
export function thumbnailsOf() {
  /** @type {unknown[]} */
  let from = [];
  /** @type {Thumbnail[]} */
  let drawn = [];
  return (attention, table) => {
    if (from[0] === attention && from[1] === table) return drawn;
    const { layers, heads } = attention;
    const places = Array.from({ length: layers * heads }, (_, i) => ({ layer: Math.floor(i / heads), head: i % heads }));
    drawn = places.map(({ layer, head }) => thumbnailOf(attention, layer, head, table));
    from = [attention, table];
    return drawn;
  };
}

/**
 * Return a head as an image of at most FINEST pixels a side.
 *
 * @param {Attention} attention
 * @param {number} layer
 * @param {number} head
 * @param {Uint32Array} table
 * @returns {Thumbnail}
 */
function thumbnailOf(attention, layer, head, table) {
  const [rows, columns] = [Math.min(attention.queries, FINEST), Math.min(attention.keys, FINEST)];
  const pooled = pooledOf(attention, attention.bits(layer, head), rows, columns);
  let largest = 0;
  for (const weight of pooled) largest = Math.max(largest, weight);
  const limit = weightLimit(HALF[largest], attention.seen(head));
  const pixels = new ImageData(columns, rows);
  const colours = new Uint32Array(pixels.data.buffer);
  pooled.forEach((weight, pixel) => {
    colours[pixel] = table[entry(HALF[weight], limit, false)];
  });
  const image = new OffscreenCanvas(columns, rows);
  contextOf(image).putImageData(pixels, 0, 0);
  return { image, columns, rows };
}

/**
 * Return the largest weight of the tokens of each pixel, as bits.
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
