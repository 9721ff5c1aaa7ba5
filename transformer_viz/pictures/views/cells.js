// The cells of a matrix and its colour scale.

import { channelsOf, css, entry, inkOn, packed } from "./colour.js";
import { contextOf } from "./pen.js";
import { middleOf } from "./place.js";
import { valueAt } from "./scene.js";

/** @import {Drawing} from "./matrix.js" */
/** @import {Pen} from "./pen.js" */
/** @import {Scene} from "./scene.js" */
/** @import {Theme} from "./theme.js" */
/** @import {Part} from "./zoom.js" */

/** @typedef {{first: number, last: number, begin: number, end: number}} Range Rows and columns at least partly in view. */

const EVEN_GREY = 0x40808080; // in place of lines too fine to be seen: a quarter of grey, as in ImageData
const HATCH = 7; // pixels from one line to the next
const SEPARATE = 9; // pixels from which lines separate the cells of any scene
const VECTORS = 4000; // cells in view up to which each is a rectangle of its own
const STEPS = 128; // of the scale
const LETTERS = { usual: 0.28, projected: 0.44 }; // height of the digits in a cell, as a share of the cell
const [LEAST_LETTERS, USUAL_LETTERS, LARGEST] = [8, 10, 18]; // pixels of the digits: least, even in small cells if they fit, most
const [HIGHEST, WIDEST] = [0.66, 0.86]; // most height of the digits, and most width of a number, as shares of the cell
const LEAST = 0.005; // smaller ones would be written as 0
const BOLD = 0.3; // from this share on

/**
 * Draw the cells in view.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 */
export function drawCells(pen, drawing) {
  const { scene, at, part, theme } = drawing;
  if (scene.lines) {
    pen.fillStyle = theme.line;
    pen.fillRect(at.left, at.top, at.across, at.down);
  }
  const [first, last] = [Math.floor(part.row), Math.min(scene.rows.length, Math.ceil(part.row + part.rows))];
  const [begin, end] = [
    Math.floor(part.column),
    Math.min(scene.columns.length, Math.ceil(part.column + part.columns)),
  ];
  const draw = (last - first) * (end - begin) <= VECTORS ? drawEach : drawImage;
  draw(pen, drawing, { first, last, begin, end });
}

/**
 * @param {Pen} pen
 * @param {Drawing} drawing
 * @param {Range} range
 */
function drawEach(pen, { scene, at, part, theme, scale }, { first, last, begin, end }) {
  const { ramp, limit, signed } = scene.scale;
  const [across, down] = [at.across / part.columns, at.down / part.rows];
  const gap = scene.lines || Math.min(across, down) >= SEPARATE ? Math.max(1, Math.round(scale)) / scale : 0;
  /** @type {(from: number, size: number, index: number, most: number) => number} */
  const edge = (from, size, index, most) =>
    from + Math.round(Math.max(0, Math.min(most, index * size)) * scale) / scale;
  for (let row = first; row < last; row++) {
    const top = edge(at.top, down, row - part.row, at.down);
    const bottom = edge(at.top, down, row + 1 - part.row, at.down);
    for (let column = begin; column < end; column++) {
      const value = valueAt(scene, row, column);
      const isHatched = scene.hatched?.(row, column) ?? false;
      const isFlat = Number.isNaN(value) && !isHatched; // no lines separate masked cells
      if (isFlat && !scene.back) continue;
      const left = edge(at.left, across, column - part.column, at.across);
      const right = edge(at.left, across, column + 1 - part.column, at.across) - (isFlat ? 0 : gap);
      const end = isFlat ? bottom : bottom - gap;
      if (right <= left || end <= top) continue;
      if (isHatched) {
        hatch(pen, theme, left, top, right, end);
        continue;
      }
      pen.fillStyle = isFlat && scene.back ? scene.back : css(ramp[entry(value, limit, signed)]);
      pen.fillRect(left, top, right - left, end - top);
    }
  }
}

/**
 * Fill a rectangle with lines at 45 degrees.
 *
 * @param {Pen} pen
 * @param {Theme} theme
 * @param {number} left
 * @param {number} top
 * @param {number} right
 * @param {number} bottom
 */
function hatch(pen, theme, left, top, right, bottom) {
  const [across, down] = [right - left, bottom - top];
  pen.strokeStyle = theme.line;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let sum = HATCH / 2; sum < across + down; sum += HATCH) {
    // the points (x, y) with x + y = sum
    pen.moveTo(left + Math.max(0, sum - down), top + Math.min(sum, down));
    pen.lineTo(left + Math.min(sum, across), top + Math.max(0, sum - across));
  }
  pen.stroke();
}

/**
 * @param {Pen} pen
 * @param {Drawing} drawing
 * @param {Range} range
 */
function drawImage(pen, { scene, at, part }, { first, last, begin, end }) {
  const { ramp, limit, signed } = scene.scale;
  const image = new OffscreenCanvas(end - begin, last - first);
  const pixels = new ImageData(end - begin, last - first);
  const colours = new Uint32Array(pixels.data.buffer);
  const back = scene.back ? packed(channelsOf(scene.back)) : 0;
  let pixel = 0;
  for (let row = first; row < last; row++) {
    for (let column = begin; column < end; column++, pixel++) {
      const value = valueAt(scene, row, column);
      if (scene.hatched?.(row, column)) colours[pixel] = EVEN_GREY;
      else colours[pixel] = Number.isNaN(value) ? back : ramp[entry(value, limit, signed)];
    }
  }
  contextOf(image).putImageData(pixels, 0, 0);
  pen.imageSmoothingEnabled = false;
  const { left, top, across, down } = at;
  pen.drawImage(
    image,
    part.column - begin,
    part.row - first,
    part.columns,
    part.rows,
    left,
    top,
    across,
    down,
  );
}

/**
 * Write the numbers of a matrix into its cells, if the longest of them has room: shares as percentages, differences and
 * effects with their sign.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 */
export function drawNumbers(pen, { scene, at, part, theme }) {
  const { ramp, limit, signed } = scene.scale;
  const [across, down] = [at.across / part.columns, at.down / part.rows];
  if (Math.min(down, across) < LEAST_LETTERS) return;
  const texts = [...numbersIn(scene, part)];
  const longest = texts.reduce((best, { text }) => (text.length > best.length ? text : best), "");
  pen.font = `600 10px ${theme.font}`;
  const fitting = Math.min(HIGHEST * down, (WIDEST * across * 10) / pen.measureText(longest).width);
  const wanted = LETTERS[scene.projected ? "projected" : "usual"] * Math.min(across, down);
  const pixels = Math.min(fitting, LARGEST, Math.max(wanted, USUAL_LETTERS));
  if (pixels < LEAST_LETTERS) return;
  pen.textAlign = "center";
  for (const { row, column, value, text } of texts) {
    pen.font = `${!scene.numbers && Math.abs(value) >= BOLD ? 600 : 400} ${pixels}px ${theme.font}`;
    pen.fillStyle = scene.hatched?.(row, column) ? theme.text : inkOn(ramp[entry(value, limit, signed)]);
    const [x, y] = middleOf(at, part, { row, column });
    pen.fillText(text, x, y + 1);
  }
}

/**
 * Visit the numbers of the cells whose middle is in view, but for those that would be written as 0.
 *
 * @param {Scene} scene
 * @param {Part} part
 */
function* numbersIn(scene, part) {
  const [firstRow, firstColumn] = [Math.ceil(part.row - 0.5), Math.ceil(part.column - 0.5)];
  const lastRow = Math.min(scene.rows.length, part.row + part.rows - 0.5);
  const lastColumn = Math.min(scene.columns.length, part.column + part.columns - 0.5);
  for (let row = firstRow; row < lastRow; row++) {
    for (let column = firstColumn; column < lastColumn; column++) {
      const value = valueAt(scene, row, column);
      if (!(Math.abs(value) >= LEAST)) continue;
      const written = scene.numbers ? numberText(value) : String(Math.round(100 * value)).replace("-", "−");
      const isPlus = scene.plus && value > 0 && !scene.hatched?.(row, column);
      yield { row, column, value, text: isPlus ? `+${written}` : written };
    }
  }
}

/** Return a number with two digits after the point, from 1 on with one, from 10 on with none. @param {number} number */
const numberText = (number) => {
  const size = Math.abs(number);
  return number
    .toFixed(size < 0.995 ? 2 : size < 9.95 ? 1 : 0)
    .replace(/^(-?)0\./, "$1.")
    .replace("-", "−");
};

/**
 * Draw the colour scale below the cells, as wide as they are, with its numbers.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 */
export function drawScale(pen, { scene, at, theme, scale }) {
  const { ramp, ticks } = scene.scale;
  if (!ticks.length) return;
  const top = at.top + at.down + 8;
  const edge = (/** @type {number} */ i) => Math.round((at.left + (i * at.across) / STEPS) * scale) / scale;
  for (let i = 0; i < STEPS; i++) {
    pen.fillStyle = css(ramp[Math.round((i * 255) / (STEPS - 1))]);
    pen.fillRect(edge(i), top, edge(i + 1) - edge(i), 7);
  }
  pen.font = `11px ${theme.font}`;
  pen.fillStyle = theme.muted;
  const wide = ticks.map((tick) => pen.measureText(tick).width);
  const crowded = wide.reduce((sum, width) => sum + width + 8, 0) > at.across;
  ticks.forEach((tick, i) => {
    if (crowded && i < ticks.length - 1) return; // there is room for its end alone
    const share = i / (ticks.length - 1);
    pen.textAlign = share === 0 ? "left" : share === 1 ? "right" : "center";
    pen.fillText(tick, at.left + share * at.across, top + 17);
  });
  if (!scene.masked || !scene.back) return;
  const beside = at.left + wide[0] + 14;
  const next = ticks.length > 2 ? (at.across - wide[1]) / 2 : at.across - wide[1];
  if (beside + 14 + pen.measureText(scene.masked).width > at.left + next - 8) return;
  pen.textAlign = "left";
  pen.fillText(scene.masked, beside + 14, top + 17);
  pen.fillStyle = scene.back;
  pen.fillRect(beside, top + 12, 10, 10);
}
