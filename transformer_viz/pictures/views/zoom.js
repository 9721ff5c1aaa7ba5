// The part of a matrix that is in view.

/**
 * @typedef {object} Part In rows and columns; fractions of a row or a column are allowed.
 * @property {number} row First row.
 * @property {number} rows Number of rows.
 * @property {number} column
 * @property {number} columns
 */

/** @typedef {[down: number, across: number]} Shares Shares of the height and of the width. */

const LEAST = 4; // rows and columns in view at least

/** @type {(number: number, low: number, high: number) => number} */
const clamped = (number, low, high) => Math.max(low, Math.min(high, number));

/**
 * Return the part that is all of a matrix.
 *
 * @type {(rows: number, columns: number) => Part}
 */
export const whole = (rows, columns) => ({ row: 0, rows, column: 0, columns });

/**
 * Return a part `factor` times as large about a fixed point; null: all is in view.
 *
 * @param {Part} part
 * @param {Part} all
 * @param {number} factor
 * @param {Shares} point
 * @returns {Part | null}
 */
export function zoomed(part, all, factor, [down, across]) {
  const rows = Math.min(all.rows, Math.max(LEAST, part.rows * factor));
  const columns = Math.min(all.columns, Math.max(LEAST, part.columns * factor));
  if (rows === all.rows && columns === all.columns) return null;
  return {
    row: clamped(part.row + (part.rows - rows) * down, 0, all.rows - rows),
    rows,
    column: clamped(part.column + (part.columns - columns) * across, 0, all.columns - columns),
    columns,
  };
}

/**
 * Return a part moved by shares of its own size, within the matrix.
 *
 * @param {Part} part
 * @param {Part} all
 * @param {Shares} by
 * @returns {Part}
 */
export function moved(part, all, [down, across]) {
  const row = clamped(part.row - down * part.rows, 0, all.rows - part.rows);
  const column = clamped(part.column - across * part.columns, 0, all.columns - part.columns);
  return { ...part, row, column };
}

/**
 * Return a part moved as little as needed to contain a cell.
 *
 * @param {Part} part
 * @param {number} row
 * @param {number} column
 * @returns {Part}
 */
export function revealed(part, row, column) {
  /** @type {(first: number, count: number, index: number) => number} */
  const within = (first, count, index) => Math.max(index + 1 - count, Math.min(index, first));
  return {
    ...part,
    row: within(part.row, part.rows, row),
    column: within(part.column, part.columns, column),
  };
}
