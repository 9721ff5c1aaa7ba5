// One row of attention as a table: each key with its vectors and numbers, and their sum.

import { css } from "./colour.js";
import { drawStrip, largestOf, write } from "./strips.js";
import { fill, PIXELS, percent } from "./text.js";

/** @import {Attention, Words} from "./payload.js" */
/** @import {Compared, KeyCell, Row} from "./row.js" */
/** @import {Paper, Style} from "./strips.js" */

/** @typedef {"product" | "bias" | "score" | "mask" | "exp" | "weight"} NumberName */
/** @typedef {"k" | "v" | "weighted"} StripName */

/**
 * @typedef {object} Columns
 * @property {Partial<Record<NumberName | StripName, number>>} places x of each column that has room.
 * @property {number} size Width of a strip; 0: there is no room for strips.
 * @property {Partial<Record<NumberName, number>>} numbers Width of each column of numbers.
 * @property {boolean} isNarrow Whether there is little room.
 */

/** @typedef {{count: number, exp: number, weight: number, weighted: Float64Array}} Rest Sums over the keys without a row. */

/**
 * @typedef {object} Worked
 * @property {Row} row
 * @property {KeyCell[]} shown The keys with the largest weights, in the order of the text.
 * @property {Rest | null} rest
 */

/**
 * @typedef {object} About What the table is of.
 * @property {Words} words
 * @property {Attention} attention
 * @property {boolean} isMasked Whether a mask keeps the head from some keys.
 * @property {number} key Token whose key and value are shown above; its row is bold.
 */

/** @typedef {Paper & About} Sheet */

export const ROW = 26; // height of a row
export const HEAD = 46; // height of the names and formulas above
const MOST_ROWS = 20;
const TOKEN = 112; // width of the tokens and their numbers
const PLACE = 26; // of it, for the numbers
const NUMBER = 100; // width of a number
const NARROW = 62; // the same where there is little room
const MASK = { wide: 62, narrow: 40 }; // the same of the mask
const SPARE = /** @type {const} */ (["product", "bias", "mask"]); // columns that are left out first where there is no room
const NAMED = 60; // width of a strip that its name fits above
const WEIGHTED = "w × v"; // name of a weighted value
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
 * @param {About} about
 * @returns {Columns}
 */
function columnsOf(width, { attention, isMasked }) {
  const isNarrow = width < 700;
  const number = isNarrow ? NARROW : NUMBER;
  /** @type {Columns["numbers"]} */
  const numbers = {
    product: number,
    ...(attention.sizes.bias && { bias: number }),
    score: number,
    ...(isMasked && { mask: isNarrow ? MASK.narrow : MASK.wide }),
    exp: number,
    weight: number,
  };
  const taken = () => Object.values(numbers).reduce((sum, each) => sum + each, TOKEN);
  for (const name of SPARE) if (taken() > width) delete numbers[name];
  const free = (width - taken() - 8) / 3 - 14;
  const size = free >= 30 ? Math.min(220, free) : 0;
  const strip = size && size + 14;
  /** @type {Partial<Record<NumberName | StripName, number>>} */
  const wide = { k: strip, ...numbers, v: strip, weighted: strip };
  /** @type {Columns["places"]} */
  const places = {};
  let x = TOKEN;
  for (const [name, each] of /** @type {[keyof typeof wide, number][]} */ (Object.entries(wide))) {
    if (each) places[name] = x;
    x += each;
  }
  return { places, size, numbers, isNarrow };
}

/**
 * Draw the table from a height on.
 *
 * @param {Sheet} sheet
 * @param {Worked} worked
 * @param {number} top
 * @param {number} width
 */
export function drawWorked(sheet, worked, top, width) {
  const { row, shown, rest } = worked;
  const columns = columnsOf(width, sheet);
  const ends = {
    k: largestOf(row.q, ...shown.map((cell) => cell.k)),
    v: largestOf(...shown.map((cell) => cell.v)),
    weighted: largestOf(row.context, ...shown.map((cell) => cell.weighted)),
  };
  drawHeader(sheet, columns, top);
  const first = top + HEAD;
  shown.forEach((cell, i) => drawKey(sheet, columns, cell, first + i * ROW, ends));
  const last = first + shown.length * ROW;
  if (rest) drawRest(sheet, columns, rest, last, ends.weighted);
  drawSum(sheet, columns, row, last + (rest ? ROW : 0) + 2, width);
}

/**
 * Return the name and the formula of each column.
 *
 * @param {About} about
 * @param {Columns} columns
 * @returns {Record<NumberName | StripName, [name: string, formula: string]>}
 */
function headings({ words, attention: { sizes, cap } }, { size, isNarrow }) {
  const scaled = `÷ √${sizes.query}${cap ? ` → ±${cap}` : ""}${sizes.bias ? " + b" : ""}`;
  const isNamed = size >= NAMED;
  return {
    k: [isNamed ? (sizes.unrotated ? words.rotated_key : words.key_vector) : "k", ""],
    product: [isNarrow ? "" : words.product, "q · k"],
    bias: [isNarrow ? "b" : words.position_bias, ""],
    score: [isNarrow ? words.score : words.scaled_score, scaled],
    mask: [words.mask, "+"],
    exp: ["softmax", isNarrow ? "exp" : "exp(s − max)"],
    weight: [words.weight, "÷ Σ"],
    v: [isNamed ? words.value_vector : "v", ""],
    weighted: [WEIGHTED, ""],
  };
}

/** @param {Sheet} sheet @param {Columns} columns @param {number} top */
function drawHeader(sheet, columns, top) {
  const { places, size, numbers } = columns;
  const [colour, soft] = [sheet.look.theme.soft, sheet.look.theme.muted];
  const found = headings(sheet, columns);
  for (const [name, wide] of widths(numbers)) {
    const x = (places[name] ?? 0) + wide - 10;
    /** @type {Style} */
    const style = { align: "right", room: wide - 4 };
    write(sheet, found[name][0], x, top + 13, { ...style, colour });
    write(sheet, found[name][1], x, top + 31, { ...style, colour: soft });
  }
  for (const name of STRIPS)
    if (size) write(sheet, found[name][0], places[name] ?? 0, top + 13, { colour, room: size });
}

/**
 * Return the name and the width of each column of numbers.
 *
 * @param {Columns["numbers"]} numbers
 */
const widths = (numbers) => /** @type {[NumberName, number][]} */ (Object.entries(numbers));

/**
 * @param {Sheet} sheet
 * @param {Columns} columns
 * @param {KeyCell} cell
 * @param {number} y
 * @param {Record<StripName, number>} ends
 */
function drawKey(sheet, { places, size, numbers }, cell, y, ends) {
  const { pen, look, words, attention } = sheet;
  const middle = y + ROW / 2 - 1;
  const token = attention.keyTokens[cell.key];
  /** @type {Style} */
  const style = {
    align: "right",
    bold: cell.key === sheet.key,
    colour: cell.allowed ? look.theme.text : look.theme.muted,
  };
  write(sheet, String(cell.key + 1), 0, middle, { colour: look.theme.muted, room: PLACE });
  write(sheet, token, TOKEN - 12, middle, { ...style, room: TOKEN - PLACE - 14 });
  const labels = {
    k: fill(words.key_of, { token }),
    v: fill(words.value_of, { token }),
    weighted: `${WEIGHTED} · ${token}`,
  };
  for (const name of STRIPS) {
    const strip = { label: labels[name], vector: cell[name], x: places[name] ?? 0, y: y + 3, width: size };
    if (size) drawStrip(sheet, strip, ends[name]);
  }
  pen.fillStyle = css(look.ramps.sequential[150]);
  pen.globalAlpha = 0.5;
  pen.fillRect((places.weight ?? 0) + 4, y + 4, ((numbers.weight ?? 0) - 12) * cell.weight, ROW - 10);
  pen.globalAlpha = 1;
  const texts = {
    product: fixed(cell.product),
    bias: fixed(cell.bias),
    score: fixed(cell.score),
    mask: cell.allowed ? "0" : "−∞",
    exp: fixed(cell.exp),
    weight: percent(cell.weight),
  };
  for (const [name, wide] of widths(numbers))
    write(sheet, texts[name], (places[name] ?? 0) + wide - 10, middle, { ...style, room: wide });
}

const fixed = (/** @type {number} */ number) => number.toFixed(3).replace("-", "−");

/**
 * Write the sums of the powers and of the weights in their columns.
 *
 * @param {Sheet} sheet
 * @param {Columns} columns
 * @param {{exp: number, weight: number}} sums
 * @param {number} y
 * @param {Style} style
 */
function writeSums(sheet, { places, numbers }, { exp, weight }, y, style) {
  const end = (/** @type {"exp" | "weight"} */ name) => (places[name] ?? 0) + (numbers[name] ?? 0) - 10;
  write(sheet, fixed(exp), end("exp"), y, style);
  write(sheet, percent(weight), end("weight"), y, style);
}

/**
 * Draw the sums over the keys without a row.
 *
 * @param {Sheet} sheet
 * @param {Columns} columns
 * @param {Rest} rest
 * @param {number} y
 * @param {number} largest
 */
function drawRest(sheet, columns, rest, y, largest) {
  const { look, words } = sheet;
  const { places, size } = columns;
  const middle = y + ROW / 2 - 1;
  /** @type {Style} */
  const style = { align: "right", colour: look.theme.soft };
  const { one, other } = words.others;
  const text = rest.count === 1 && one ? one : fill(other ?? "", { count: rest.count });
  write(sheet, text, TOKEN - 12, middle, { ...style, room: TOKEN - 14 });
  writeSums(sheet, columns, rest, middle, style);
  const strip = { label: `${WEIGHTED} · ${text}`, vector: rest.weighted };
  if (size) drawStrip(sheet, { ...strip, x: places.weighted ?? 0, y: y + 3, width: size }, largest);
}

/**
 * @param {Sheet} sheet
 * @param {Columns} columns
 * @param {Row} row
 * @param {number} y
 * @param {number} width
 */
function drawSum(sheet, columns, row, y, width) {
  const { pen, look, words } = sheet;
  const { places, size } = columns;
  const middle = y + ROW / 2 - 1;
  pen.strokeStyle = look.theme.line;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(0, y - 2);
  pen.lineTo(width, y - 2);
  pen.stroke();
  /** @type {Style} */
  const style = { align: "right", bold: true, colour: look.theme.text };
  const weight = row.cells.reduce((sum, cell) => sum + cell.weight, 0);
  write(sheet, "Σ", TOKEN - 12, middle, style);
  writeSums(sheet, columns, { exp: row.sum, weight }, middle, style);
  if (size) {
    const [x, vector] = [places.weighted ?? 0, row.context];
    pen.font = `600 ${PIXELS}px ${look.theme.font}`;
    const fits = (/** @type {string} */ text) => pen.measureText(text).width <= size;
    const name = [words.weighted_sum, `Σ ${WEIGHTED}`].find(fits) ?? "";
    write(sheet, name, x - 14, middle, { ...style, room: size });
    drawStrip(sheet, { label: words.weighted_sum, vector, x, y: y + 3, width: size }, largestOf(vector));
  }
  writeCheck(sheet, row.equal, words.equal, words.unequal, y + ROW + 14, width);
}

/** @param {Compared} compared */
export const mark = ({ exact }) => (exact ? "✓" : "✗");

/**
 * Write whether two vectors are equal.
 *
 * @param {Paper} paper
 * @param {Compared} compared
 * @param {string} equal
 * @param {string} unequal
 * @param {number} y
 * @param {number} width
 */
export function writeCheck(paper, compared, equal, unequal, y, width) {
  const sentence = fill(compared.exact ? equal : unequal, { error: compared.error.toExponential(1) });
  write(paper, `${mark(compared)} ${sentence}`, 0, y, { colour: paper.look.theme.text, room: width });
}
