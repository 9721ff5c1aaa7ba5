// The layout of a matrix: where its cells, labels and sums are, and which cell is at a point.

import { PIXELS, stride, widest } from "./text.js";

/** @import {Word} from "./labels.js" */
/** @import {Ruler} from "./pen.js" */
/** @import {Fit, Scene} from "./scene.js" */
/** @import {Point} from "./tip.js" */
/** @import {Part} from "./zoom.js" */

/**
 * @typedef {object} Place In pixels.
 * @property {number} left Of the cells.
 * @property {number} top
 * @property {number} across Width of all cells.
 * @property {number} down Height of all cells.
 * @property {number} beside Room for the label of a row.
 * @property {number} longest Room for the label of a column.
 * @property {number} wide Room for one of the few that are wider than their cell.
 * @property {Tilt} tilt Of the labels of the columns.
 * @property {number} width Of the picture.
 * @property {number} height
 */

/** @typedef {0 | 45 | 90} Tilt In degrees. */

/** @typedef {{row: number, column: number}} Cell */

/** @typedef {[row: number, column: number, lastRow: number, lastColumn: number]} Box Cells; the last ones are included. */

export const TILTED = Math.SQRT1_2; // height and width of a label tilted by 45 degrees, as shares of its length

const MOST_LABEL = { bounded: 110, square: 96 };
const SHARE = 0.3; // of the width: the most for the labels of the rows
const TITLE = 18; // beside the rows, and above the columns
const SCALE = 34; // below the cells, for the scale; the same where there is none
const [LEAST_CELL, MOST_CELL, MOST_HEIGHT] = [3, 76, 640];
const OBLONG = 1.4; // most width of a cell as a share of its height, and most height as a share of its width
const LINE = { bounded: 1.08, square: 1 }; // distance of labels, in font sizes
const [FEW_WIDE, BESIDE_WIDE, WIDE] = [1 / 8, 0.6, 1.4]; // share of the labels that may be wider than their cell; of cells, the
// most width of the others, and of these
const SHORTEST = 48; // room for the label of a row where square cells need the width
const WITH_SUMS = 0.74; // share of the width for the cells

/**
 * Width and height of all cells in so much width.
 *
 * @type {Record<Fit, (room: number, rows: number, columns: number, tall?: number) => [number, number]>}
 */
const FITS = {
  bounded(room, rows, columns, tall = MOST_HEIGHT) {
    const high = Math.min(MOST_CELL, tall / rows);
    const across = Math.min(Math.max(60, room), Math.max(high, LEAST_CELL) * OBLONG * columns);
    return [across, Math.min(high, (across / columns) * OBLONG) * rows];
  },
  square(room, rows, columns) {
    const across = Math.min(room, (MOST_HEIGHT / rows) * columns);
    return [across, (across / columns) * rows];
  },
};

/**
 * Return the layout; it is the same for all scenes with the same labels and fit.
 *
 * @param {Scene} scene
 * @param {Ruler} ruler With the font of the labels.
 * @param {number} width
 * @returns {Place}
 */
export function place(scene, ruler, width) {
  const { rows, columns, pixels } = scene;
  const [lines, count] = [rows.length, columns.length];
  const most = MOST_LABEL[scene.fit] * Math.max(1, pixels / PIXELS);
  const title = scene.rowTitle ? TITLE : 0;
  const spare =
    scene.fit === "square" ? Math.max(SHORTEST, width - title - 10 - lines * pixels * LINE.square) : most;
  const [high, wide] = [scene.tall ?? MOST_HEIGHT, width * (1 - SHARE)];
  const beside = widest(
    ruler,
    named(rows, scene.rowWords, pixels, high),
    Math.min(most, spare, width * SHARE),
  );
  const left = beside + 6 + title;
  const longest = widest(ruler, named(columns, scene.columnWords, pixels, wide), most);
  const above = { 0: pixels, 45: (longest + pixels) * TILTED, 90: longest };
  const topOf = (/** @type {Tilt} */ tilt) =>
    Math.ceil(Math.max(scene.sums ? 20 : 0, above[tilt] + 7)) + (scene.columnTitle ? TITLE : 0);
  const size = (/** @type {number} */ right, /** @type {Tilt} */ tilt = 0) => {
    const tall = scene.tall && Math.max(60, scene.tall - topOf(tilt) - SCALE);
    return FITS[scene.fit]((width - left - right) * (scene.sums ? WITH_SUMS : 1), lines, count, tall);
  };
  const room = size(4)[0] / count;
  const level = levelOf(
    columns.map((text) => widest(ruler, [text], most)),
    Math.max(room, pixels * 1.4 + 4),
  );
  /** @returns {[tilt: Tilt, right: number]} */
  const tilted = () => {
    if (scene.fit === "square") return [90, 4]; // a tilted label would take room from the cells
    const beyond = columns.map(
      (text, i) => (widest(ruler, [text], most) + pixels) * TILTED - (count - i - 0.5) * room,
    );
    const right = scene.sums ? 4 : Math.max(4, ...beyond);
    return size(right, 45)[0] / count >= needed(45, scene, longest) ? [45, right] : [90, 4];
  };
  const [tilt, right] = level === null ? tilted() : /** @type {const} */ ([0, 4]);
  const [across, down] = size(right, tilt).map(Math.floor);
  const top = topOf(tilt);
  const rooms = {
    longest: level ?? longest,
    wide: level === null ? longest : Math.max(level, Math.min(WIDE * room, most)),
  };
  return { left, top, across, down, beside, ...rooms, tilt, width, height: top + down + SCALE };
}

/**
 * Return the labels, with words where tokens have no room.
 *
 * @param {string[]} labels
 * @param {Word[] | undefined} words
 * @param {number} pixels
 * @param {number} room
 */
const named = (labels, words, pixels, room) => [
  ...labels,
  ...(labels.length * pixels > room ? (words ?? []) : []).map(([, , text]) => text),
];

/**
 * Return the width of the longest label if they fit side by side, without the few that are wider and have room between
 * short ones, as [UNK] between Chinese characters; null: they do not.
 *
 * @param {number[]} widths
 * @param {number} room
 */
function levelOf(widths, room) {
  const [narrow, wide] = [
    widths.filter((width) => width + 4 <= room),
    widths.filter((width) => width + 4 > room),
  ];
  const longest = Math.max(0, ...narrow);
  if (!wide.length) return longest;
  const touch = widths.some((width, i) => width + 4 > room && widths[i + 1] + 4 > room);
  return wide.length <= FEW_WIDE * widths.length && longest <= BESIDE_WIDE * room && !touch ? longest : null;
}

/**
 * Return [m, n] such that every mth row and every nth column has its label.
 *
 * @param {Place} at
 * @param {Scene} scene
 * @param {number} line Height of a row.
 * @param {number} cell Width of a column.
 */
export function strides(at, scene, line, cell) {
  return [stride(line, scene.pixels * LINE[scene.fit]), stride(cell, needed(at.tilt, scene, at.longest))];
}

/**
 * Return the width that a label of a column takes.
 *
 * @param {Tilt} tilt
 * @param {Scene} scene
 * @param {number} longest
 */
function needed(tilt, { pixels, fit }, longest) {
  const line = pixels * LINE[fit];
  return { 0: longest + 4, 45: line / TILTED, 90: line }[tilt];
}

/**
 * Return the cell at a point; null: the point is beside the cells.
 *
 * @param {Place} at
 * @param {Part} part In view.
 * @param {Point} point
 */
export function cellAt(at, part, [x, y]) {
  const inside = x >= at.left && x < at.left + at.across && y >= at.top && y < at.top + at.down;
  return inside ? nearestCell(at, part, [x, y]) : null;
}

/**
 * Return the cell in view that is nearest to a point.
 *
 * @param {Place} at
 * @param {Part} part In view.
 * @param {Point} point
 * @returns {Cell}
 */
export function nearestCell(at, part, [x, y]) {
  /** @type {(share: number, first: number, count: number) => number} */
  const within = (share, first, count) =>
    Math.max(
      0,
      Math.min(Math.ceil(first + count) - 1, Math.floor(first + Math.max(0, Math.min(1, share)) * count)),
    );
  return {
    row: within((y - at.top) / at.down, part.row, part.rows),
    column: within((x - at.left) / at.across, part.column, part.columns),
  };
}

/**
 * Return the middle of a cell, which may be out of view.
 *
 * @param {Place} at
 * @param {Part} part In view.
 * @param {Cell} cell
 * @returns {Point}
 */
export function middleOf(at, part, { row, column }) {
  return [
    at.left + ((column + 0.5 - part.column) / part.columns) * at.across,
    at.top + ((row + 0.5 - part.row) / part.rows) * at.down,
  ];
}

/**
 * Return [x, y, width, height] of the visible part of a box; null: it is out of view.
 *
 * @param {Place} at
 * @param {Part} part In view.
 * @param {Box} box
 * @returns {[x: number, y: number, width: number, height: number] | null}
 */
export function visibleBox(at, part, [row, column, lastRow, lastColumn]) {
  const [down, across] = [at.down / part.rows, at.across / part.columns];
  const [first, end] = [Math.max(row, part.row), Math.min(lastRow + 1, part.row + part.rows)];
  const [begin, stop] = [Math.max(column, part.column), Math.min(lastColumn + 1, part.column + part.columns)];
  if (first >= end || begin >= stop) return null;
  const corner = /** @type {const} */ ([
    at.left + (begin - part.column) * across,
    at.top + (first - part.row) * down,
  ]);
  return [...corner, (stop - begin) * across, (end - first) * down];
}
