// The lines between tokens that a selection shows: which weights they are, and which are left out of too many.

import { HALF, halfBits } from "./payload.js";

/** @import {Selection} from "./selection.js" */

/** @typedef {(query: number, key: number, weight: number, isNegative: boolean) => void} Visit */

/**
 * The strongest edges.
 *
 * @typedef {object} Limit
 * @property {number} count Edges to draw.
 * @property {number} of Edges above the threshold.
 * @property {number} strongest Largest weight.
 * @property {number} level Step of the weights of which only `spare` edges are drawn; of higher ones all are.
 * @property {number} spare
 */

export const MOST_EDGES = 8000;
const LEAST_WEIGHT = 1e-4; // weaker lines cannot be seen
const SMALLEST = 2 ** -24; // number in half precision that is more than 0
const STEPS = 4096; // of the weights, to find the strongest edges without sorting them

/**
 * Visit the edges of one head that the selection shows. A token or a cell that is pointed at has at least its strongest one,
 * however weak that is.
 *
 * @param {Selection} selection
 * @param {number} head
 * @param {Visit} visit `weight` is a share of the largest one if the values are not weights.
 */
export function eachEdge(selection, head, visit) {
  const { attention, state } = selection;
  const { keys, queries } = attention;
  const { query, key } = selection.focus();
  const passes = selection.passes();
  const value = selection.value();
  const isField = value === "norms" || value === "effects" || attention.areNumbers;
  const field = isField ? attention.field(state.layer, head, value) : null;
  const bits = attention.bits(state.layer, head);
  const top = field ? field.largest || 1 : 1;
  const [firstKey, endKey] = key === null ? [0, keys] : [key, key + 1];
  /** @param {number} least @param {Visit} act */
  const eachFrom = (least, act) => {
    const enough = halfBits(least);
    for (let q = query ?? 0; q < (query === null ? queries : query + 1); q++) {
      for (let k = firstKey, cell = q * keys + firstKey; k < endKey; k++, cell++) {
        if (!field && bits[cell] < enough) continue;
        const number = field ? field.data[cell] / top : HALF[bits[cell]];
        const weight = Math.abs(number);
        if (weight >= least && passes(q, k)) act(q, k, weight, number < 0);
      }
    }
  };
  let least = Math.max(selection.threshold(), LEAST_WEIGHT);
  if (query !== null || key !== null) {
    let strongest = 0;
    eachFrom(SMALLEST, (_query, _key, weight) => (strongest = Math.max(strongest, weight)));
    least = Math.min(least, strongest || least);
  }
  eachFrom(least, visit);
}

const step = (/** @type {number} */ weight) => Math.ceil(Math.min(1, weight) * STEPS);

/**
 * Count the edges of all shown heads.
 *
 * @param {Selection} selection
 * @returns {Limit}
 */
export function limitOf(selection) {
  const counts = new Uint32Array(STEPS + 1);
  let [of, strongest] = [0, 0];
  for (const head of selection.state.shown) {
    eachEdge(selection, head, (_query, _key, weight) => {
      counts[step(weight)]++;
      of++;
      if (weight > strongest) strongest = weight;
    });
  }
  let [level, spare] = [STEPS, MOST_EDGES];
  while (level > 0 && counts[level] <= spare) spare -= counts[level--];
  return { count: Math.min(of, MOST_EDGES), of, strongest, level, spare };
}

/**
 * Return whether an edge is among the strongest; to be called once for each edge, head by head.
 *
 * @param {Limit} limit
 * @returns {(weight: number) => boolean}
 */
export function strongestOf({ level, spare }) {
  let left = spare;
  return (weight) => {
    const reached = step(weight);
    return reached > level || (reached === level && left-- > 0);
  };
}
