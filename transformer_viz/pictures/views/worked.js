// One row of attention as a table: each key with its vectors and numbers, and their sum.

import { css } from "./colour.js";
import { largestOf, strip, write } from "./strips.js";
import { fill, percent } from "./text.js";

/** @import {Attention, Words} from "./payload.js" */
/** @import {Pen} from "./pen.js" */
/** @import {Compared, KeyCell, Row} from "./row.js" */
/** @import {Token} from "./selection.js" */
/** @import {Style} from "./strips.js" */
/** @import {Look} from "./theme.js" */

/** @typedef {"product" | "bias" | "score" | "exp" | "weight"} NumberName */
/** @typedef {"k" | "v" | "weighted"} StripName */

/**
 * @typedef {object} Columns
 * @property {Partial<Record<NumberName | StripName, number>>} places x of each column that has room.
 * @property {number} size Width of a strip; 0: there is no room for strips.
 * @property {number} number Width of a number.
 * @property {NumberName[]} numbers The columns of numbers.
 */

/** @typedef {{count: number, exp: number, weight: number, weighted: Float64Array}} Rest Sums over the keys without a row. */

/**
 * @typedef {object} Worked
 * @property {Row} row
 * @property {KeyCell[]} shown The keys with the largest weights, in the order of the text.
 * @property {Rest | null} rest
 */

/**
 * @typedef {object} Sheet
 * @property {Look} look
 * @property {Words} words
 * @property {Attention} attention
 * @property {{key: number | null, pinned: Token}} marked Keys that are bold.
 */

export const ROW = 26; // height of a row
export const HEAD = 34; // height of the formulas above
const MOST_ROWS = 20;
const TOKEN = 96; // width of the tokens
const NUMBER = 90; // width of a number
const NARROW = 62; // the same where there is little room
const NAMED = 80; // width of a strip that its name fits above
/** @type {NumberName[]} */
const NUMBERS = ["product", "score", "exp", "weight"];
/** @type {NumberName[]} */
const BIASED = ["product", "bias", "score", "exp", "weight"];
/** @type {StripName[]} */
const STRIPS = ["k", "v", "weighted"];

/**
 * Choose the keys that have a row of their own.
 *
 * @param {Row} row
 * @returns {Worked}
 */
export function workedOf(row) {
  const sorted = [...row.cells].sort((a, b) => b.weight - a.weight || a.key - b.key);
  const shown = sorted.slice(0, MOST_ROWS).sort((a, b) => a.key - b.key);
  return { row, shown, rest: restOf(row.cells.filter((cell) => !shown.includes(cell))) };
}

/**
 * @param {KeyCell[]} cells
 * @returns {Rest | null}
 */
function restOf(cells) {
  if (!cells.length) return null;
  const sum = (/** @type {"exp" | "weight"} */ name) => cells.reduce((total, cell) => total + cell[name], 0);
  const at = (/** @type {number} */ i) => cells.reduce((total, cell) => total + cell.weighted[i], 0);
  const weighted = Float64Array.from(cells[0].weighted, (_, i) => at(i));
  return { count: cells.length, exp: sum("exp"), weight: sum("weight"), weighted };
}

/**
 * Return the height of the table and of the sentence below it.
 *
 * @param {Worked} worked
 */
export const workedHeight = ({ shown, rest }) => HEAD + (shown.length + (rest ? 2 : 1)) * ROW + 34;

/**
 * @param {number} width
 * @param {NumberName[]} numbers
 * @returns {Columns}
 */
function columnsOf(width, numbers) {
  const number = width < 640 ? NARROW : NUMBER;
  const free = (width - TOKEN - numbers.length * number - 8) / 3 - 14;
  const size = free >= 30 ? Math.min(190, free) : 0;
  const strip = size && size + 14;
  const of = Object.fromEntries(numbers.map((name) => [name, number]));
  const wide = /** @type {Record<NumberName | StripName, number>} */ ({
    k: strip,
    ...of,
    v: strip,
    weighted: strip,
  });
  /** @type {Columns["places"]} */
  const places = {};
  let x = TOKEN;
  for (const name of /** @type {(keyof typeof wide)[]} */ (Object.keys(wide))) {
    if (wide[name]) places[name] = x;
    x += wide[name];
  }
  return { places, size, number, numbers };
}

/**
 * Draw the table from a height on.
 *
 * @param {Pen} pen
 * @param {Sheet} sheet
 * @param {Worked} worked
 * @param {number} top
 * @param {number} width
 */
export function drawWorked(pen, sheet, worked, top, width) {
  const { row, shown, rest } = worked;
  const columns = columnsOf(width, sheet.attention.sizes.bias ? BIASED : NUMBERS);
  const ends = {
    k: largestOf(row.q, ...shown.map((cell) => cell.k)),
    v: largestOf(...shown.map((cell) => cell.v)),
    weighted: largestOf(row.context, ...shown.map((cell) => cell.weighted)),
  };
  drawHeader(pen, sheet, columns, top);
  const first = top + HEAD;
  shown.forEach((cell, i) => drawKey(pen, sheet, columns, cell, first + i * ROW, ends));
  const last = first + shown.length * ROW;
  if (rest) drawRest(pen, sheet, columns, rest, last, ends.weighted);
  drawSum(pen, sheet, columns, row, last + (rest ? ROW : 0) + 2, width);
}

/** @param {Pen} pen @param {Sheet} sheet @param {Columns} columns @param {number} top */
function drawHeader(pen, { look, words, attention }, { places, size, number, numbers }, top) {
  const formulas = {
    k: attention.sizes.unrotated ? words.rotated_key : words.key_vector,
    product: "q · k",
    bias: words.position_bias,
    score: `÷ √${attention.sizes.query}${attention.cap ? ` → ±${attention.cap}` : ""}${attention.sizes.bias ? " + b" : ""}`,
    exp: "exp(s − max)",
    weight: "÷ Σ",
    v: words.value_vector,
    weighted: words.weighted_value,
    ...(size < NAMED && { k: "k", v: "v", weighted: "w · v" }),
    ...(number === NARROW && { bias: "b", exp: "exp" }),
  };
  const [y, colour] = [top + 18, look.theme.muted];
  for (const name of numbers) {
    write(pen, look, formulas[name], (places[name] ?? 0) + number - 10, y, {
      colour,
      align: "right",
      room: number,
    });
  }
  for (const name of STRIPS)
    if (size) write(pen, look, formulas[name], places[name] ?? 0, y, { colour, room: size });
}

/**
 * @param {Pen} pen
 * @param {Sheet} sheet
 * @param {Columns} columns
 * @param {KeyCell} cell
 * @param {number} y
 * @param {Record<StripName, number>} ends
 */
function drawKey(pen, { look, words, attention, marked }, { places, size, number, numbers }, cell, y, ends) {
  const middle = y + ROW / 2 - 1;
  /** @type {Style} */
  const style = {
    align: "right",
    bold: cell.key === marked.key || cell.key === marked.pinned.key,
    colour: cell.allowed ? look.theme.text : look.theme.muted,
  };
  write(pen, look, attention.keyTokens[cell.key], TOKEN - 12, middle, { ...style, room: TOKEN - 14 });
  for (const name of STRIPS)
    if (size) strip(pen, look, cell[name], places[name] ?? 0, y + 3, size, ends[name]);
  pen.fillStyle = css(look.ramps.sequential[150]);
  pen.globalAlpha = 0.5;
  pen.fillRect((places.weight ?? 0) + 4, y + 4, (number - 12) * cell.weight, ROW - 10);
  pen.globalAlpha = 1;
  for (const name of numbers) {
    const isMasked = name === "exp" && !cell.allowed;
    const text = isMasked ? words.masked : name === "weight" ? percent(cell.weight) : cell[name].toFixed(3);
    write(pen, look, text, (places[name] ?? 0) + number - 10, middle, { ...style, room: number });
  }
}

/**
 * Draw the sums over the keys without a row.
 *
 * @param {Pen} pen
 * @param {Sheet} sheet
 * @param {Columns} columns
 * @param {Rest} rest
 * @param {number} y
 * @param {number} largest
 */
function drawRest(pen, { look, words }, { places, size, number }, rest, y, largest) {
  const middle = y + ROW / 2 - 1;
  /** @type {Style} */
  const style = { align: "right", colour: look.theme.soft };
  const { one, other } = words.others;
  const text = rest.count === 1 && one ? one : fill(other ?? "", { count: rest.count });
  write(pen, look, text, TOKEN - 12, middle, { ...style, room: TOKEN - 14 });
  write(pen, look, rest.exp.toFixed(3), (places.exp ?? 0) + number - 10, middle, style);
  write(pen, look, percent(rest.weight), (places.weight ?? 0) + number - 10, middle, style);
  if (size) strip(pen, look, rest.weighted, places.weighted ?? 0, y + 3, size, largest);
}

/**
 * @param {Pen} pen
 * @param {Sheet} sheet
 * @param {Columns} columns
 * @param {Row} row
 * @param {number} y
 * @param {number} width
 */
function drawSum(pen, { look, words }, { places, size, number }, row, y, width) {
  const middle = y + ROW / 2 - 1;
  pen.strokeStyle = look.theme.line;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(0, y - 2);
  pen.lineTo(width, y - 2);
  pen.stroke();
  /** @type {Style} */
  const style = { align: "right", bold: true, colour: look.theme.text };
  const total = row.cells.reduce((sum, cell) => sum + cell.weight, 0);
  write(pen, look, "Σ", TOKEN - 12, middle, style);
  write(pen, look, row.sum.toFixed(3), (places.exp ?? 0) + number - 10, middle, style);
  write(pen, look, percent(total), (places.weight ?? 0) + number - 10, middle, style);
  if (size) strip(pen, look, row.context, places.weighted ?? 0, y + 3, size, largestOf(row.context));
  writeCheck(pen, look, row.equal, words.equal, words.unequal, y + ROW + 14, width);
}

/** @param {Compared} compared */
export const mark = ({ exact }) => (exact ? "✓" : "✗");

/**
 * Write whether two vectors are equal.
 *
 * @param {Pen} pen
 * @param {Look} look
 * @param {Compared} compared
 * @param {string} equal
 * @param {string} unequal
 * @param {number} y
 * @param {number} width
 */
export function writeCheck(pen, look, compared, equal, unequal, y, width) {
  const sentence = fill(compared.exact ? equal : unequal, { error: compared.error.toExponential(1) });
  write(pen, look, `${mark(compared)} ${sentence}`, 0, y, { colour: look.theme.text, room: width });
}
