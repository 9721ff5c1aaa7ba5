// Where the cells, the labels and the sums of a matrix stand.

import { stride, widest } from "./text.js";

/** @typedef {import("./scene.js").Scene} Scene */

/**
 * @typedef {object} Place In pixels.
 * @property {number} left Of the cells.
 * @property {number} top
 * @property {number} across Width of all cells.
 * @property {number} down Height of all cells.
 * @property {number} beside Room of a label of a row.
 * @property {number} longest Room of a label of a column.
 * @property {0 | 45 | 90} tilt Of the labels of the columns, in degrees.
 * @property {number} width Of the picture.
 * @property {number} height
 */

export const TILTED = Math.SQRT1_2; // height and width of a label that is tilted by 45 degrees, as shares of its length

const MOST_LABEL = { bounded: 110, square: 96, wide: 96 };
const SHARE = 0.3; // of the width, which labels of rows need not exceed
const TITLE = 18; // beside the rows, and above the columns
const SCALE = 34; // below the cells: of the scale, and left free where there is none
const [LEAST_CELL, MOST_CELL, MOST_HEIGHT] = [3, 44, 640];
const [LOW, LOW_LINE] = [190, 30]; // pixels that the rows, and one of them, need not exceed
const FEW = 40; // rows that all have a label
const LINE = { bounded: 1.08, square: 1, wide: 1.25 }; // of the size of a font, from one label to the next
const SHORTEST = 48; // label of a row where square cells need the room
const WITH_SUMS = 0.74; // of the width, for the cells

/** Kind of fit -> [width, height] of all cells where there is so much room across. */
const FITS = {
  bounded(room, rows, columns) {
    const cell = Math.min(MOST_CELL, Math.max(LEAST_CELL, MOST_HEIGHT / rows), Math.max(60, room) / columns);
    return [cell * columns, Math.min(MOST_HEIGHT, cell * rows)];
  },
  square(room, rows, columns) {
    const across = Math.min(room, (MOST_HEIGHT / rows) * columns);
    return [across, (across / columns) * rows];
  },
  wide(room, rows, columns, pixels) {
    if (rows > FEW) return [room, room];
    const most = Math.min(room, (room / columns) * rows, Math.max(LOW, LOW_LINE * rows));
    return [room, Math.max(rows * pixels * 1.4, most)];
  },
};

/** Return where everything stands; scenes of the same labels and fit have the same. */
export function place(scene, ruler, width) {
  const { rows, columns, pixels } = scene;
  const [lines, count] = [rows.length, columns.length];
  const most = MOST_LABEL[scene.fit];
  const title = scene.rowTitle ? TITLE : 0;
  const spare = scene.fit === "square" ? Math.max(SHORTEST, width - title - 10 - lines * pixels * LINE.square) : most;
  const beside = widest(ruler, rows, Math.min(most, spare, width * SHARE));
  const left = beside + 6 + title;
  const longest = widest(ruler, columns, most);
  const size = (right) => FITS[scene.fit]((width - left - right) * (scene.sums ? WITH_SUMS : 1), lines, count, pixels);
  const room = size(4)[0] / count;
  const tilted = () => {
    if (scene.fit === "square") return [90, 4]; // a tilted label would take room from the cells
    const beyond = columns.map((text, i) => (widest(ruler, [text], most) + pixels) * TILTED - (count - i - 0.5) * room);
    const right = scene.sums ? 4 : Math.max(4, ...beyond);
    return size(right)[0] / count >= needed(45, scene, longest) ? [45, right] : [90, 4];
  };
  const [tilt, right] = longest + 4 <= Math.max(room, pixels * 1.4 + 4) ? [0, 4] : tilted();
  const [across, down] = size(right).map(Math.floor);
  const above = { 0: pixels, 45: (longest + pixels) * TILTED, 90: longest }[tilt] + 7;
  const top = Math.ceil(Math.max(scene.sums ? 20 : 0, above)) + (scene.columnTitle ? TITLE : 0);
  return { left, top, across, down, beside, longest, tilt, width, height: top + down + SCALE };
}

/** Return [every how many-th row, column] has its label where cells are so high and wide. */
export function strides(at, scene, line, cell) {
  return [stride(line, scene.pixels * LINE[scene.fit]), stride(cell, needed(at.tilt, scene, at.longest))];
}

function needed(tilt, { pixels, fit }, longest) {
  const line = pixels * LINE[fit];
  return { 0: longest + 4, 45: line / TILTED, 90: line }[tilt];
}
