// What a picture of a matrix is of, apart from where it is drawn.

/**
 * A matrix to draw: rows read, columns are read.
 *
 * @typedef {object} Scene
 * @property {string} key What it is of: with another key, what was zoomed into is shown whole again.
 * @property {string[]} rows Texts beside the rows.
 * @property {string[]} columns Texts above the columns.
 * @property {string} [rowTitle] What the rows are.
 * @property {string} [columnTitle] What the columns are.
 * @property {ArrayLike<number>} values Row by row; NaN is a gap.
 * @property {Scale} scale
 * @property {Sums} [sums] Bars beside the rows.
 * @property {string} [back] Colour of a gap; none: what is behind the picture shows through.
 * @property {"bounded" | "square" | "wide"} fit Size of the cells, as place.js has it.
 * @property {boolean} [lines] Whether cells are told apart by a line however small they are.
 * @property {number} pixels Size of the letters.
 * @property {number} [digits] After the point, of a number that is said.
 */

/**
 * The colours of the values.
 *
 * @typedef {object} Scale
 * @property {Uint32Array} ramp 256 colours.
 * @property {number} limit Value at its end.
 * @property {boolean} signed Whether it begins at -limit, not at 0.
 * @property {string[]} ticks Texts below it, from its begin to its end; none: it is not drawn.
 */

/**
 * @typedef {object} Sums
 * @property {string} title
 * @property {number[]} values From 0 to 1.
 * @property {string[]} colours
 */

const DIGITS = 3; // after the point, of a number in a table
const MOST_READ = 3; // columns of a row that are named in a table

/** Return the value of a cell. */
export const valueAt = (scene, row, column) => scene.values[row * scene.columns.length + column];

/** Return the values as text with commas, with a name beside each row and above each column. */
export function csvOf(scene, digits) {
  const quoted = (text) => `"${String(text).replaceAll('"', '""')}"`;
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

/** Return each row's name and, in words, its largest values: [name, text][]. */
export function readMost(scene) {
  return scene.rows.map((name, row) => {
    const here = scene.columns.map((_, column) => column).filter((column) => !Number.isNaN(valueAt(scene, row, column)));
    here.sort((a, b) => valueAt(scene, row, b) - valueAt(scene, row, a));
    const read = here.slice(0, MOST_READ).map((column) => `${scene.columns[column]} ${valueAt(scene, row, column).toFixed(scene.digits ?? DIGITS)}`);
    return [name, read.join(" · ")];
  });
}
