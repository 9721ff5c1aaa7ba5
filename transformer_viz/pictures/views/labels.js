// What is written and drawn beside the cells of a matrix.

import { strides } from "./place.js";
import { fitted } from "./text.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./place.js").Place} Place */
/** @typedef {import("./zoom.js").Part} Part */

const SPARE = 4; // pixels that a label which is lit, and bold, may take beyond its room

/** Write the labels, every one there is room for, and those of the row and the column that are lit. */
export function drawLabels(ctx, scene, at, part, look, lit) {
  const { rows, columns, pixels } = scene;
  const [down, across] = [at.down / part.rows, at.across / part.columns];
  const [everyRow, everyColumn] = strides(at, scene, down, across);
  const label = (text, isLit, x, y, room) => {
    ctx.font = `600 ${pixels}px ${look.font}`;
    const bold = isLit && ctx.measureText(text).width <= room + SPARE;
    if (!bold) ctx.font = `400 ${pixels}px ${look.font}`;
    ctx.fillStyle = isLit ? look.text : look.soft;
    ctx.fillText(bold ? text : fitted(ctx, text, room), x, y);
  };
  ctx.role = "row";
  ctx.textAlign = "right";
  for (const row of written(part.row, part.rows, everyRow, lit.row, pixels / down)) {
    label(rows[row], row === lit.row, at.left - 4, at.top + (row + 0.5 - part.row) * down, at.beside);
  }
  ctx.role = "column";
  for (const column of written(part.column, part.columns, everyColumn, lit.column, pixels / across)) {
    ctx.save();
    ctx.translate(at.left + (column + 0.5 - part.column) * across, at.top - (at.tilt ? 6 : 5 + pixels / 2));
    ctx.textAlign = at.tilt ? "left" : "center";
    if (at.tilt) ctx.rotate((-at.tilt * Math.PI) / 180);
    label(columns[column], column === lit.column, 0, 0, at.longest);
    ctx.restore();
  }
  ctx.role = "";
}

/** Return the indices whose labels are written: every so many-th, and the one that is lit, with none over it. */
function written(first, count, every, lit, near) {
  const all = [];
  for (let index = Math.ceil(first - 0.5); index < first + count - 0.5; index++) {
    const covered = lit !== null && Math.abs(index - lit) < near;
    if (index === lit || (index % every === 0 && !covered)) all.push(index);
  }
  return all;
}

/** Write what the rows and the columns are. */
export function drawTitles(ctx, scene, at, look) {
  ctx.font = `12px ${look.font}`;
  ctx.fillStyle = look.muted;
  ctx.textAlign = "left";
  if (scene.columnTitle) ctx.fillText(scene.columnTitle, at.left, 9);
  if (!scene.rowTitle) return;
  ctx.save();
  ctx.translate(9, at.top + at.down / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = "center";
  ctx.fillText(scene.rowTitle, 0, 0);
  ctx.restore();
}

/** Draw the sums of the rows in view as bars. */
export function drawSums(ctx, scene, at, part, look, scale) {
  const { title, values, colours } = scene.sums;
  const line = at.down / part.rows;
  const begin = at.left + at.across + 10;
  const unit = (at.width - begin - 34) * 0.98;
  const [every] = strides(at, scene, line, line);
  ctx.textAlign = "left";
  ctx.font = `12px ${look.font}`;
  ctx.fillStyle = look.muted;
  ctx.fillText(title, begin, 8);
  ctx.font = `${Math.min(11, scene.pixels)}px ${look.font}`;
  const half = line * (line > 6 ? 0.37 : 0.5); // thin rows stand without a gap
  const snap = (y) => Math.round(Math.max(at.top, Math.min(at.top + at.down, y)) * scale) / scale;
  for (let row = Math.floor(part.row); row < Math.min(values.length, part.row + part.rows); row++) {
    const y = at.top + (row + 0.5 - part.row) * line;
    const [above, below] = [snap(y - half), snap(y + half)];
    ctx.fillStyle = colours[row];
    ctx.fillRect(begin, above, values[row] * unit, below - above);
    if (row % every || y < at.top || y > at.top + at.down) continue;
    ctx.fillStyle = look.text;
    ctx.fillText(values[row].toFixed(2), begin + values[row] * unit + 4, y);
  }
}

/** Frame the row and the column that are lit. */
export function drawLit(ctx, at, part, look, lit) {
  const [down, across] = [at.down / part.rows, at.across / part.columns];
  const inside = (index, first, count) => index !== null && index >= first && index < first + count;
  ctx.strokeStyle = look.text;
  ctx.lineWidth = 1;
  ctx.globalAlpha = 0.55;
  if (inside(lit.row, part.row, part.rows)) {
    ctx.strokeRect(at.left, at.top + (lit.row - part.row) * down, at.across, Math.max(1, down));
  }
  if (inside(lit.column, part.column, part.columns)) {
    ctx.strokeRect(at.left + (lit.column - part.column) * across, at.top, Math.max(1, across), at.down);
  }
  ctx.globalAlpha = 1;
}
