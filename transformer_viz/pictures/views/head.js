// One head of a lens as a matrix.

import { weightLimit } from "./colour.js";
import { PIXELS } from "./text.js";

const LARGEST = 18; // pixels of the labels
const LETTERS = 0.28; // of the height of a row
const MARGINS = 2; // rows that the labels of the columns and the scale take

/** @import {Attention, Words} from "./payload.js" */
/** @import {Scene} from "./scene.js" */
/** @import {Selection} from "./selection.js" */
/** @import {Look} from "./theme.js" */

/**
 * Return the selected head as a scene.
 *
 * @param {Selection} selection
 * @param {Words} words
 * @param {Look} look
 * @param {number} tall Height of the whole picture, in pixels.
 * @returns {Scene}
 */
export function sceneOf({ attention, state }, words, { ramps }, tall) {
  const { data, largest, signed } = attention.field(state.layer, state.head, state.value);
  const limit = state.value === "weights" ? limitOf(attention, state, largest) : largest;
  const end = `${limit.toPrecision(3)} ${words.values[state.value]}`;
  const ticks = [signed ? (-limit).toPrecision(3) : "0", end];
  return {
    key: `${attention.kind}/${attention.queries}/${attention.keys}`,
    rows: attention.queryTokens,
    columns: attention.keyTokens,
    rowTitle: attention.queryTitle,
    columnTitle: words.key,
    values: data,
    scale: { ramp: signed ? ramps.diverging : ramps.sequential, limit, signed, ticks },
    fit: "bounded",
    pixels: Math.min(LARGEST, Math.max(PIXELS, LETTERS * (tall / (attention.queries + MARGINS)))),
    tall,
    written: state.value === "weights",
  };
}

/**
 * Return where the scale of a head's weights ends.
 *
 * @param {Attention} attention
 * @param {{head: number, scale: "head" | "one"}} state
 * @param {number} largest
 */
function limitOf(attention, state, largest) {
  return state.scale === "one" ? 1 : weightLimit(largest, attention.seen(state.head));
}
