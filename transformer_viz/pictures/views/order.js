// The order of heads: by a figure, and in groups by role.

/** @import {Attention} from "./payload.js" */

/**
 * Return where a head is.
 *
 * @param {{heads: number}} attention
 * @param {number} number Of the head, counted over all layers.
 */
export const placeOf = ({ heads }, number) => ({ layer: Math.floor(number / heads), head: number % heads });

/**
 * Return the number of a layer, from 1: its own if some are left out.
 *
 * @param {{numbers?: number[] | null}} attention
 * @param {number} layer
 */
export const layerNumber = ({ numbers }, layer) => numbers?.[layer] ?? layer + 1;

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

/**
 * Return the heads of each role, the strongest first.
 *
 * @param {Attention} attention
 * @returns {Map<string, number[]>}
 */
export function headsByRole(attention) {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const number of orderOf(attention, "role")) {
    const role = attention.roles[number];
    groups.set(role, [...(groups.get(role) ?? []), number]);
  }
  return groups;
}

/**
 * Return the heads of each usual role, and those of none; nothing if no head is known to have one.
 *
 * @param {Attention} attention
 * @returns {Map<string, number[]>}
 */
export function headsByUsualRole(attention) {
  const known = attention.shares?.some(Boolean);
  return known ? headsByRole(attention) : new Map();
}
