// The cells of a matrix and the scale of their colours.

import { css, entry } from "./colour.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./place.js").Place} Place */
/** @typedef {import("./zoom.js").Part} Part */

const SEPARATE = 9; // pixels from which cells are told apart by a line, whatever the scene says
const VECTORS = 4000; // cells in view up to which each is a rectangle of its own
const STEPS = 128; // of the scale

/** Draw the cells of a part; `scale` is how many pixels of the picture are one here: cells begin at whole ones. */
export function drawCells(ctx, scene, at, part, scale) {
  const { rows, columns, back } = scene;
  if (back) {
    ctx.fillStyle = back;
    ctx.fillRect(at.left, at.top, at.across, at.down);
  }
  const [first, last] = [Math.floor(part.row), Math.min(rows.length, Math.ceil(part.row + part.rows))];
  const [begin, end] = [Math.floor(part.column), Math.min(columns.length, Math.ceil(part.column + part.columns))];
  const range = { first, last, begin, end };
  if ((last - first) * (end - begin) <= VECTORS) drawEach(ctx, scene, at, part, range, scale);
  else drawImage(ctx, scene, at, part, range);
}

function drawEach(ctx, scene, at, part, { first, last, begin, end }, scale) {
  const [across, down] = [at.across / part.columns, at.down / part.rows];
  const gap = scene.lines || Math.min(across, down) >= SEPARATE ? Math.max(1, Math.round(scale)) / scale : 0;
  const edge = (from, size, index, most) => from + Math.round(Math.max(0, Math.min(most, index * size)) * scale) / scale;
  for (let row = first; row < last; row++) {
    const top = edge(at.top, down, row - part.row, at.down);
    const bottom = edge(at.top, down, row + 1 - part.row, at.down) - gap;
    for (let column = begin; column < end; column++) {
      const value = scene.values[row * scene.columns.length + column];
      if (Number.isNaN(value)) continue;
      const left = edge(at.left, across, column - part.column, at.across);
      const right = edge(at.left, across, column + 1 - part.column, at.across) - gap;
      if (right <= left || bottom <= top) continue;
      ctx.fillStyle = colourOf(scene, value);
      ctx.fillRect(left, top, right - left, bottom - top);
    }
  }
}

function drawImage(ctx, scene, at, part, { first, last, begin, end }) {
  const { ramp, limit, signed } = scene.scale;
  const image = new OffscreenCanvas(end - begin, last - first);
  const pixels = new ImageData(end - begin, last - first);
  const colours = new Uint32Array(pixels.data.buffer);
  let pixel = 0;
  for (let row = first; row < last; row++) {
    for (let column = begin; column < end; column++, pixel++) {
      const value = scene.values[row * scene.columns.length + column];
      if (!Number.isNaN(value)) colours[pixel] = ramp[entry(value, limit, signed)];
    }
  }
  image.getContext("2d").putImageData(pixels, 0, 0);
  ctx.imageSmoothingEnabled = false;
  const inView = [part.column - begin, part.row - first, part.columns, part.rows];
  ctx.drawImage(image, ...inView, at.left, at.top, at.across, at.down);
}

/** Draw the scale below the cells, as wide as they are, with its numbers. */
export function drawScale(ctx, scene, at, look) {
  const { ramp, ticks } = scene.scale;
  if (!ticks.length) return;
  const top = at.top + at.down + 8;
  const edge = (i) => at.left + Math.round((i * at.across) / STEPS);
  for (let i = 0; i < STEPS; i++) {
    ctx.fillStyle = css(ramp[Math.round((i * 255) / (STEPS - 1))]);
    ctx.fillRect(edge(i), top, edge(i + 1) - edge(i), 7);
  }
  ctx.font = `11px ${look.font}`;
  ctx.fillStyle = look.muted;
  ticks.forEach((tick, i) => {
    const share = i / (ticks.length - 1);
    ctx.textAlign = { 0: "left", 1: "right" }[share] ?? "center";
    ctx.fillText(tick, at.left + share * at.across, top + 17);
  });
}

/** Return the colour of a value. */
function colourOf({ scale }, value) {
  return css(scale.ramp[entry(value, scale.limit, scale.signed)]);
}
