// The order of heads.

/** @import {Attention} from "./payload.js" */

/**
 * Return the heads in the order of a figure, the largest first; without it, by layer.
 *
 * @param {Attention} attention
 * @param {string} sort
 */
export function orderOf({ layers, heads, figures }, sort) {
  const numbers = Array.from({ length: layers * heads }, (_, i) => i);
  const figure = figures[sort];
  if (!figure) return numbers;
  return numbers.sort((a, b) => (figure[b] ?? -Infinity) - (figure[a] ?? -Infinity) || a - b);
}
