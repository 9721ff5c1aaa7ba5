// The row on which the step-by-step view opens.

import { HALF } from "./payload.js";

/** @import {Attention} from "./payload.js" */

// as special.py names special tokens: <|im_start|>, </s>, [CLS], en_XX
const SPECIAL = /^(<[|｜][^<>]*[|｜]>|<\/?[a-z_]+\d*>|\[[A-Z]+\d*\]|[a-z]{2}_[A-Z]{2})$/;
const SPOKEN = /[\p{L}\p{N}]/u;

/**
 * Return the token of a label, without the token that is predicted after it.
 *
 * @param {string} label
 */
export const tokenOf = (label) => label.split(" → ")[0];

/**
 * Return the row with the strongest weight on another token than its own that is not special. Rows of special tokens and
 * of punctuation count only if there are no others; a covered row never does.
 *
 * @param {Attention} attention
 * @param {number} layer
 * @param {number} head
 */
export function openingRow(attention, layer, head) {
  const { kind, keys, queryTokens, keyTokens, isCovered } = attention;
  const [bits, isSpecial] = [attention.bits(layer, head), keyTokens.map((token) => SPECIAL.test(token))];
  const strongest = (/** @type {number} */ query) => {
    let most = 0;
    for (let key = 0; key < keys; key++) {
      if (isSpecial[key] || (kind !== "cross" && key === query)) continue;
      most = Math.max(most, HALF[bits[query * keys + key]]);
    }
    return most;
  };
  const open = queryTokens.flatMap((_, query) => (isCovered(layer, head, query) ? [] : [query]));
  const spoken = open.filter((query) => isSpoken(tokenOf(queryTokens[query])));
  const rows = spoken.length ? spoken : open;
  let [found, most] = [rows[0] ?? 0, 0];
  for (const query of rows) {
    const weight = strongest(query);
    if (weight > most) [found, most] = [query, weight];
  }
  return found;
}

const isSpoken = (/** @type {string} */ token) => SPOKEN.test(token) && !SPECIAL.test(token);
