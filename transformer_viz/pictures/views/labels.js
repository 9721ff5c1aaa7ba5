// The labels, titles, sums and frames around the cells of a matrix.

import { middleOf, strides, visibleBox } from "./place.js";
import { fitted } from "./text.js";

/** @import {Drawing} from "./matrix.js" */
/** @import {Pen} from "./pen.js" */
/** @import {Box} from "./place.js" */
/** @import {Sums} from "./scene.js" */

const SPARE = 4; // pixels by which a highlighted label, which is bold, may exceed its room

/** @typedef {[begin: number, end: number, text: string]} Word Tokens that are one, from one to before another. */

/** @typedef {{index: number, text: string, isHighlighted: boolean}} Label `index`: its middle, between two tokens too. */

/**
 * Write as many labels as have room, and those of the highlighted row and column. Where some have none, tokens that are one
 * word have a label together.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 */
export function drawLabels(pen, { scene, at, part, theme, highlighted }) {
  const { rows, columns, pixels } = scene;
  const [down, across] = [at.down / part.rows, at.across / part.columns];
  const [everyRow, everyColumn] = strides(at, scene, down, across);
  /** @type {(text: string, isHighlighted: boolean, x: number, y: number, room: number) => void} */
  const label = (text, isHighlighted, x, y, room) => {
    pen.font = `600 ${pixels}px ${theme.font}`;
    const bold = isHighlighted && pen.measureText(text).width <= room + SPARE;
    if (!bold) pen.font = `400 ${pixels}px ${theme.font}`;
    pen.fillStyle = isHighlighted ? theme.text : theme.soft;
    pen.fillText(bold ? text : fitted(pen, text, room), x, y);
  };
  pen.role = "row";
  pen.textAlign = "right";
  const line = pixels / down;
  for (const { index, text, isHighlighted } of labelled(
    rows,
    scene.rowWords,
    [part.row, part.rows],
    everyRow,
    highlighted.row,
    line,
  )) {
    const [, y] = middleOf(at, part, { row: index, column: 0 });
    label(text, isHighlighted, at.left - 4, y, at.beside);
  }
  pen.role = "column";
  const words = at.tilt ? scene.columnWords : undefined; // side by side, a word takes more room than its tokens
  const view = /** @type {const} */ ([part.column, part.columns]);
  for (const { index, text, isHighlighted } of labelled(
    columns,
    words,
    view,
    everyColumn,
    highlighted.column,
    pixels / across,
  )) {
    const [x] = middleOf(at, part, { row: 0, column: index });
    pen.save();
    pen.translate(x, at.top - (at.tilt ? 6 : 5 + pixels / 2));
    pen.textAlign = at.tilt ? "left" : "center";
    if (at.tilt) pen.rotate((-at.tilt * Math.PI) / 180);
    label(text, isHighlighted, 0, 0, at.wide);
    pen.restore();
  }
  pen.role = "";
}

/**
 * Return the labels that have room: of tokens, or, where some have none, of words.
 *
 * @param {string[]} labels
 * @param {Word[] | undefined} words Of several tokens.
 * @param {readonly [first: number, count: number]} part In view.
 * @param {number} every
 * @param {number | null} highlighted
 * @param {number} near Distance, in indices, at which labels cover each other.
 * @returns {Label[]}
 */
export function labelled(labels, words, [first, count], every, highlighted, near) {
  const own = (/** @type {number} */ index) => ({
    index,
    text: labels[index],
    isHighlighted: index === highlighted,
  });
  if (every === 1 || !words?.length) return written(first, count, every, highlighted, near).map(own);
  const inside = new Map(words.map((word) => [word[0], word]));
  /** @type {Label[]} */
  const found =
    highlighted !== null && highlighted >= first && highlighted < first + count ? [own(highlighted)] : [];
  let last = -Infinity;
  for (let index = Math.ceil(first); index < first + count; ) {
    const [begin, end, text] = inside.get(index) ?? [index, index + 1, labels[index]];
    const middle = (begin + end - 1) / 2;
    if (middle - last >= near && (highlighted === null || Math.abs(middle - highlighted) >= near)) {
      found.push({ index: middle, text, isHighlighted: false });
      last = middle;
    }
    index = end;
  }
  return found;
}

/**
 * Return the indices with a label: every nth, and the highlighted one, which none may cover.
 *
 * @param {number} first
 * @param {number} count
 * @param {number} every
 * @param {number | null} highlighted
 * @param {number} near Distance, in indices, at which labels cover each other.
 */
export function written(first, count, every, highlighted, near) {
  const all = [];
  for (let index = Math.ceil(first - 0.5); index < first + count - 0.5; index++) {
    const covered = highlighted !== null && Math.abs(index - highlighted) < near;
    if (index === highlighted || (index % every === 0 && !covered)) all.push(index);
  }
  return all;
}

/**
 * Write the titles of the rows and of the columns.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 */
export function drawTitles(pen, { scene, at, theme }) {
  pen.font = `12px ${theme.font}`;
  pen.fillStyle = theme.muted;
  pen.textAlign = "left";
  if (scene.columnTitle) pen.fillText(scene.columnTitle, at.left, 9);
  if (!scene.rowTitle) return;
  pen.save();
  pen.translate(9, at.top + at.down / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.fillText(scene.rowTitle, 0, 0);
  pen.restore();
}

/**
 * Draw the sums of the rows in view as bars.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 * @param {Sums} sums
 */
export function drawSums(pen, { scene, at, part, theme, scale }, { title, values, colours }) {
  const line = at.down / part.rows;
  const begin = at.left + at.across + 10;
  const unit = (at.width - begin - 34) * 0.98;
  const [every] = strides(at, scene, line, line);
  pen.textAlign = "left";
  pen.font = `12px ${theme.font}`;
  pen.fillStyle = theme.muted;
  pen.fillText(title, begin, 8);
  pen.font = `${Math.min(11, scene.pixels)}px ${theme.font}`;
  const half = line * (line > 6 ? 0.37 : 0.5); // no gaps between thin rows
  const snap = (/** @type {number} */ y) =>
    Math.round(Math.max(at.top, Math.min(at.top + at.down, y)) * scale) / scale;
  for (let row = Math.floor(part.row); row < Math.min(values.length, part.row + part.rows); row++) {
    const y = at.top + (row + 0.5 - part.row) * line;
    const [above, below] = [snap(y - half), snap(y + half)];
    pen.fillStyle = colours[row];
    pen.fillRect(begin, above, values[row] * unit, below - above);
    if (row % every || y < at.top || y > at.top + at.down) continue;
    pen.fillStyle = theme.text;
    pen.fillText(values[row].toFixed(2), begin + values[row] * unit + 4, y);
  }
}

/**
 * Frame the highlighted row and column.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 */
export function drawHighlighted(pen, { at, part, theme, highlighted }) {
  const [down, across] = [at.down / part.rows, at.across / part.columns];
  const { row, column } = highlighted;
  pen.strokeStyle = theme.text;
  pen.lineWidth = 1;
  pen.globalAlpha = 0.55;
  if (row !== null && row >= part.row && row < part.row + part.rows) {
    pen.strokeRect(at.left, at.top + (row - part.row) * down, at.across, Math.max(1, down));
  }
  if (column !== null && column >= part.column && column < part.column + part.columns) {
    pen.strokeRect(at.left + (column - part.column) * across, at.top, Math.max(1, across), at.down);
  }
  pen.globalAlpha = 1;
}

/**
 * Frame a row that is to be predicted, and say so.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 * @param {{row: number, text: string}} covered
 */
export function drawCovered(pen, { at, part, theme, scene }, { row, text }) {
  const down = at.down / part.rows;
  const [top, pixels] = [at.top + (row - part.row) * down, Math.min(scene.pixels, down * 0.5)];
  if (row < part.row || row + 1 > part.row + part.rows) return;
  pen.strokeStyle = theme.text;
  pen.lineWidth = 2;
  pen.strokeRect(at.left, top, at.across, down);
  pen.font = `600 ${pixels}px ${theme.font}`;
  const shown = fitted(pen, text, at.across - 2 * pixels);
  const [across, middle] = [pen.measureText(shown).width + 2 * pixels, at.left + at.across / 2];
  pen.fillStyle = theme.background;
  pen.fillRect(middle - across / 2, top + down / 2 - 0.85 * pixels, across, 1.7 * pixels);
  pen.fillStyle = theme.text;
  pen.textAlign = "center";
  pen.fillText(shown, middle, top + down / 2 + 1);
}

/**
 * Frame the visible part of a box of cells.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 * @param {Box} box
 */
export function drawBox(pen, { at, part, theme }, box) {
  const frame = visibleBox(at, part, box);
  if (!frame) return;
  pen.strokeStyle = theme.text;
  pen.lineWidth = 1.5;
  pen.strokeRect(...frame);
}
