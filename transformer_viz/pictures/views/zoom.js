// The part of a matrix that is in view: numbers, whatever it is drawn on.

/**
 * @typedef {object} Part In rows and columns, which may begin within one.
 * @property {number} row
 * @property {number} rows
 * @property {number} column
 * @property {number} columns
 */

const LEAST = 4; // rows and columns in view at least

const clamped = (number, low, high) => Math.max(low, Math.min(high, number));

/** Return all of a matrix. */
export const whole = (rows, columns) => ({ row: 0, rows, column: 0, columns });

/** Return `factor` times as much around a place, given as shares of the height and the width; null: all is in view. */
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

/** Return a part of the same size, moved by shares of its own, as far as there is anything. */
export function moved(part, all, [down, across]) {
  const row = clamped(part.row - down * part.rows, 0, all.rows - part.rows);
  const column = clamped(part.column - across * part.columns, 0, all.columns - part.columns);
  return { ...part, row, column };
}

/** Return a part of the same size that has a cell in it. */
export function revealed(part, row, column) {
  const within = (first, count, index) => Math.max(index + 1 - count, Math.min(index, first));
  return { ...part, row: within(part.row, part.rows, row), column: within(part.column, part.columns, column) };
}
