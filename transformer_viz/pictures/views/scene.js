// A matrix to draw, without its place on the page.

import { percent } from "./text.js";

/** @import {Word} from "./labels.js" */

/**
 * A matrix: rows are queries, columns are keys.
 *
 * @typedef {object} Scene
 * @property {string} key Identifies the matrix: a scene with another key is shown whole, not zoomed.
 * @property {string[]} rows Labels of the rows.
 * @property {string[]} columns Labels of the columns.
 * @property {Word[]} [rowWords] Words of several rows.
 * @property {Word[]} [columnWords]
 * @property {string} [rowTitle]
 * @property {string} [columnTitle]
 * @property {Float32Array | Uint8Array} values Row by row; NaN is a gap.
 * @property {Scale} scale
 * @property {Sums | null} [sums] Bars beside the rows.
 * @property {string} [back] Colour of a gap; none: transparent.
 * @property {string} [masked] What gaps are called beside the scale.
 * @property {Fit} fit
 * @property {boolean} [lines] Whether lines separate even the smallest cells.
 * @property {number} pixels Font size.
 * @property {number} [tall] Height of the whole picture, where the cells are to fill it.
 * @property {boolean} [written] Whether the values are shares, which stand in the cells as percentages if they fit.
 * @property {boolean} [numbers] Whether they are numbers, which stand there as such.
 * @property {boolean} [plus] Whether those above 0 have their sign.
 * @property {(row: number, column: number) => boolean} [hatched] Cells of tokens without counterpart; they may have a value.
 * @property {{row: number, text: string}} [covered] A row that is to be predicted first.
 * @property {boolean} [projected] Whether the percentages are to be as large as the cells allow: for a projector, or in small matrices.
 * @property {number} [digits] After the decimal point, in texts.
 */

/** @typedef {"bounded" | "square"} Fit How the cells fill the width: see place.js. */

/**
 * The colour scale.
 *
 * @typedef {object} Scale
 * @property {Uint32Array} ramp 256 colours.
 * @property {number} limit Value at its end.
 * @property {boolean} signed Whether it begins at -limit instead of 0.
 * @property {string[]} ticks Texts below it, from left to right; none: it is not drawn.
 */

/**
 * @typedef {object} Sums
 * @property {string} title
 * @property {number[]} values From 0 to 1.
 * @property {string[]} colours
 */

const DIGITS = 3; // after the decimal point, in a table
const MOST_READ = 3; // values of a row that are listed in a table

/**
 * Return the value of a cell.
 *
 * @param {Scene} scene
 * @param {number} row
 * @param {number} column
 */
export const valueAt = (scene, row, column) => scene.values[row * scene.columns.length + column];

/**
 * Return the value of a cell as a text: a weight in percent, a difference with its sign, and what a gap is called.
 *
 * @param {Scene} scene
 * @param {number} row
 * @param {number} column
 */
export function textAt(scene, row, column) {
  const value = valueAt(scene, row, column);
  if (Number.isNaN(value)) return (!scene.hatched?.(row, column) && scene.masked) || "–";
  const text = scene.written ? percent(value) : value.toFixed(scene.digits ?? DIGITS).replace("-", "−");
  return scene.plus && value > 0 ? `+${text}` : text;
}

/**
 * Return the values as CSV, with the labels in the first column and the first line.
 *
 * @param {Scene} scene
 * @param {number} digits Significant digits.
 */
export function csvOf(scene, digits) {
  const quoted = (/** @type {string} */ text) => `"${text.replaceAll('"', '""')}"`;
  const lines = [["", ...scene.columns].map(quoted).join(",")];
  scene.rows.forEach((name, row) => {
    const cells = scene.columns.map((_, column) => {
      const value = valueAt(scene, row, column);
      return Number.isNaN(value) ? "" : Number(value.toPrecision(digits));
    });
    lines.push([quoted(name), ...cells].join(","));
  });
  return `\ufeff${lines.join("\r\n")}\r\n`;
}

/**
 * Return the label of each row and a text with its largest values.
 *
 * @param {Scene} scene
 * @returns {[name: string, text: string][]}
 */
export function readMost(scene) {
  const { columns } = scene;
  return scene.rows.map((name, row) => {
    const value = (/** @type {number} */ column) => valueAt(scene, row, column);
    const present = columns.map((_, column) => column).filter((column) => !Number.isNaN(value(column)));
    const largest = present.sort((a, b) => value(b) - value(a)).slice(0, MOST_READ);
    return [name, largest.map((column) => `${columns[column]} ${textAt(scene, row, column)}`).join(" · ")];
  });
}
