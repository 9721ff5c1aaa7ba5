// One head of a lens as a matrix.

import { signedText, sumsOf } from "./captions.js";
import { weightLimit } from "./colour.js";
import { isOfMask, MASKS } from "./selection.js";
import { PIXELS, percent } from "./text.js";

const LARGEST = 18; // pixels of the labels
const NEARLY = 2e-3; // half precision
const LETTERS = 0.28; // of the height of a row
const LEAST_CHANGE = 1e-4; // the scale of a difference is not stretched to rounding errors
const MEDIUM = 1.6; // the end of the scale of a mask, whose cells are 1
const MARGINS = 2; // rows that the labels of the columns and the scale take

/** The two ways to mask. @type {readonly Value[]} */
const WAYS = MASKS.ways;

/** @import {Attention, Value, Words} from "./payload.js" */
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
 * @param {Value} [value] What it shows.
 * @returns {Scene}
 */
export function sceneOf(selection, words, { ramps, gap, heads }, tall, value = selection.value()) {
  const { attention, state } = selection;
  const { data, signed } = attention.field(state.layer, state.head, value);
  const isWay = WAYS.includes(value);
  const isWeight = (value === "weights" || value === "before" || isWay) && !attention.areNumbers;
  const isShare = isWeight || value === "change";
  const isEffect = value.startsWith("effects");
  const limit = limitOf(attention, state, value, isWeight);
  const end = `${isWeight ? percent(limit) : limit.toPrecision(3)} ${words.values[value === "before" ? "weights" : value]}`;
  const ends = isEffect ? effectsOf(limit, words) : [signed ? (-limit).toPrecision(3) : "0", end];
  const ticks = value === "change" ? pointsOf(limit, words) : value === "mask" ? [] : ends;
  const diverging = isEffect ? ramps.effects : ramps.diverging;
  const hatched = hatchedOf(attention, state, value);
  const isMasked = data.some(
    (number, cell) =>
      Number.isNaN(number) && !hatched?.(Math.floor(cell / attention.keys), cell % attention.keys),
  );
  return {
    key: `${attention.kind}/${attention.queries}/${attention.keys}`,
    rows: attention.queryTokens,
    columns: attention.keyTokens,
    rowWords: attention.queryWords,
    columnWords: attention.keyWords,
    rowTitle: attention.queryTitle,
    columnTitle: words.key,
    values: data,
    scale: { ramp: signed ? diverging : ramps.sequential, limit, signed, ticks },
    back: gap,
    masked: isMasked ? words.masked : undefined,
    fit: "bounded",
    pixels: Math.min(LARGEST, Math.max(PIXELS, LETTERS * (tall / (attention.queries + MARGINS)))),
    tall,
    sums: isWay ? sumsBeside(attention, state, value, words, heads) : null,
    written: isShare,
    numbers: !isShare && value !== "mask",
    plus: isEffect || value === "change",
    hatched,
    covered: coveredOf(attention, state, words),
    projected: state.projected || attention.isCompared,
  };
}

/**
 * Return the sums of the rows of weights.
 *
 * @param {Attention} attention
 * @param {{layer: number, head: number}} place
 * @param {Value} value
 * @param {Words} words
 * @param {Look["heads"]} colours
 */
function sumsBeside(attention, { layer, head }, value, words, colours) {
  const values = sumsOf(attention, layer, head, value);
  const isWhole = (/** @type {number} */ sum) => Math.abs(sum - 1) < NEARLY;
  return { title: words.row_sum, values, colours: values.map((sum) => colours[isWhole(sum) ? 0 : 1]) };
}

/**
 * Return the ends of the scale of a difference, in percentage points.
 *
 * @param {number} limit
 * @param {Words} words
 */
function pointsOf(limit, words) {
  const points = limit >= 0.1 ? String(Math.round(100 * limit)) : (100 * limit).toPrecision(2);
  return [`−${points}`, "0", `+${points} ${words.values.change}`];
}

/** Return the ends of the scale of effects. @param {number} limit @param {Words} words */
const effectsOf = (limit, words) => [signedText(-limit), "0", `${signedText(limit)} ${words.values.effects}`];

/**
 * Return the row that is to be predicted, with what is written on it; undefined: none of this head.
 *
 * @param {Attention} attention
 * @param {{layer: number, head: number}} place
 * @param {Words} words
 */
function coveredOf({ covered, isCovered }, { layer, head }, words) {
  if (!covered || !isCovered(layer, head, covered[2])) return undefined;
  return { row: covered[2], text: words.covered };
}

/**
 * Return which cells are hatched: those of a covered row; those of tokens that the text does not have; in the
 * difference, those that only one of both texts has.
 *
 * @param {Attention} attention
 * @param {{layer: number, head: number}} place
 * @param {Value} value
 * @returns {((row: number, column: number) => boolean) | undefined}
 */
function hatchedOf({ covered, isCovered, places, exists }, { layer, head }, value) {
  if (covered) return (row) => isCovered(layer, head, row);
  if (!places) return undefined;
  if (value.endsWith("change")) return (row, column) => !exists(row, column, 0) || !exists(row, column, 1);
  return (row, column) => !exists(row, column, value.endsWith("before") ? 0 : 1);
}

/**
 * Return where the scale of a head ends. Weights of two runs that are compared have the same, those by two ways to mask, and
 * scores before and after the mask; effects of two runs have that of their difference, too.
 *
 * @param {Attention} attention
 * @param {{layer: number, head: number, scale: "head" | "one", view: string}} state
 * @param {Value} value
 * @param {boolean} isWeight
 */
function limitOf(attention, { layer, head, scale, view }, value, isWeight) {
  const largest = (/** @type {readonly Value[]} */ ...values) =>
    Math.max(...values.map((each) => attention.field(layer, head, each).largest));
  if (value.startsWith("effects")) {
    return attention.isCompared ? largest("effects_before", "effects", "effects_change") : largest("effects");
  }
  if (value === "mask") return MEDIUM;
  if (value === "change") return Math.max(largest(value), LEAST_CHANGE);
  if (!isWeight) return largest(value === "masked" && isOfMask(view) ? "scores" : value);
  if (scale === "one") return 1;
  /** @type {readonly Value[]} */
  const alike = attention.isCompared ? ["before", "weights"] : ["weights"];
  return weightLimit(largest(...(WAYS.includes(value) ? WAYS : alike)), attention.seen(layer, head));
}
