// The cells of a matrix and its colour scale.

import { css, entry, inkOn } from "./colour.js";
import { contextOf } from "./pen.js";
import { middleOf } from "./place.js";
import { valueAt } from "./scene.js";

/** @import {Drawing} from "./matrix.js" */
/** @import {Pen} from "./pen.js" */
/** @import {Theme} from "./theme.js" */

/** @typedef {{first: number, last: number, begin: number, end: number}} Range Rows and columns at least partly in view. */

const EVEN_GREY = 0x40808080; // in place of lines too fine to be seen: a quarter of grey, as in ImageData
const HATCH = 7; // pixels from one line to the next
const SEPARATE = 9; // pixels from which lines separate the cells of any scene
const VECTORS = 4000; // cells in view up to which each is a rectangle of its own
const STEPS = 128; // of the scale
const ROOMY = { usual: 26, projected: 16 }; // pixels of a cell that its share fits into
const LETTERS = { usual: 0.28, projected: 0.44 }; // height of its digits, as a share of the cell
const LARGEST = 18; // pixels of its digits
const LEAST_SHARE = 0.045; // smaller ones are not written
const LEAST_POINT = 0.005; // of a difference, the same
const BOLD = 0.3; // from this share on
const LEAST_EFFECT = 0.25; // as a share of the largest one: smaller ones are not written

/**
 * Draw the cells in view.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 */
export function drawCells(pen, drawing) {
  const { scene, at, part } = drawing;
  if (scene.back) {
    pen.fillStyle = scene.back;
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
    const bottom = edge(at.top, down, row + 1 - part.row, at.down) - gap;
    for (let column = begin; column < end; column++) {
      const value = valueAt(scene, row, column);
      const isHatched = scene.hatched?.(row, column) ?? false;
      if (Number.isNaN(value) && !isHatched) continue;
      const left = edge(at.left, across, column - part.column, at.across);
      const right = edge(at.left, across, column + 1 - part.column, at.across) - gap;
      if (right <= left || bottom <= top) continue;
      if (isHatched) {
        hatch(pen, theme, left, top, right, bottom);
        continue;
      }
      pen.fillStyle = css(ramp[entry(value, limit, signed)]);
      pen.fillRect(left, top, right - left, bottom - top);
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
  let pixel = 0;
  for (let row = first; row < last; row++) {
    for (let column = begin; column < end; column++, pixel++) {
      const value = valueAt(scene, row, column);
      if (scene.hatched?.(row, column)) colours[pixel] = EVEN_GREY;
      else if (!Number.isNaN(value)) colours[pixel] = ramp[entry(value, limit, signed)];
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
 * Write shares into their cells as percentages, differences and effects with their sign, if there is room.
 *
 * @param {Pen} pen
 * @param {Drawing} drawing
 */
export function drawShares(pen, { scene, at, part, theme }) {
  const least = scene.numbers
    ? LEAST_EFFECT * scene.scale.limit
    : scene.scale.signed
      ? LEAST_POINT
      : LEAST_SHARE;
  const { ramp, limit, signed } = scene.scale;
  const [across, down] = [at.across / part.columns, at.down / part.rows];
  const size = scene.projected ? "projected" : "usual";
  if (Math.min(across, down) < ROOMY[size]) return;
  pen.textAlign = "center";
  const pixels = Math.min(LARGEST, LETTERS[size] * Math.min(across, down));
  for (
    let row = Math.ceil(part.row - 0.5);
    row < Math.min(scene.rows.length, part.row + part.rows - 0.5);
    row++
  ) {
    for (
      let column = Math.ceil(part.column - 0.5);
      column < Math.min(scene.columns.length, part.column + part.columns - 0.5);
      column++
    ) {
      const value = valueAt(scene, row, column);
      if (!(Math.abs(value) >= least)) continue;
      pen.font = `${Math.abs(value) >= BOLD ? 600 : 400} ${pixels}px ${theme.font}`;
      const [isHatched, written] = [
        scene.hatched?.(row, column),
        scene.numbers ? numberText(value) : percentText(value),
      ];
      pen.fillStyle = isHatched ? theme.text : inkOn(ramp[entry(value, limit, signed)]);
      const [x, y] = middleOf(at, part, { row, column });
      pen.fillText(signed && value > 0 && !isHatched ? `+${written}` : written, x, y + 1);
    }
  }
}

/** Return a share as a percentage. @param {number} share */
const percentText = (share) => String(Math.round(100 * share)).replace("-", "−");

/** Return a number with two digits after the point, from 1 on with one. @param {number} number */
const numberText = (number) =>
  number
    .toFixed(Math.abs(number) < 0.995 ? 2 : 1)
    .replace(/^(-?)0\./, "$1.")
    .replace("-", "−");

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
  const wide = ticks.reduce((sum, tick) => sum + pen.measureText(tick).width + 8, 0);
  ticks.forEach((tick, i) => {
    if (wide > at.across && i < ticks.length - 1) return; // there is room for its end alone
    const share = i / (ticks.length - 1);
    pen.textAlign = share === 0 ? "left" : share === 1 ? "right" : "center";
    pen.fillText(tick, at.left + share * at.across, top + 17);
  });
  if (!scene.masked || !scene.back) return;
  const beside = at.left + pen.measureText(ticks[0]).width + 14;
  const end = at.left + at.across - pen.measureText(ticks[ticks.length - 1]).width - 8;
  if (beside + 14 + pen.measureText(scene.masked).width > end) return;
  pen.textAlign = "left";
  pen.fillText(scene.masked, beside + 14, top + 17);
  pen.fillStyle = scene.back;
  pen.fillRect(beside, top + 12, 10, 10);
}
