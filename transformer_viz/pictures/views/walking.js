// Grids that are walked with the keyboard: the Tab key stops at one cell, the arrow keys lead on (WAI-ARIA, grid pattern).

import { onKey } from "./keys.js";

/** @typedef {{row: number, column: number}} Cell */

/**
 * Return the cell to which a key leads; null: the key leads nowhere. Home and End lead to the ends of the row, Page Up and
 * Page Down to those of the column.
 *
 * @param {string} key
 * @param {Cell} from
 * @param {number} rows
 * @param {number} columns
 * @returns {Cell | null}
 */
export function led(key, { row, column }, rows, columns) {
  const to = {
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    Home: [row, 0],
    End: [row, columns - 1],
    PageUp: [0, column],
    PageDown: [rows - 1, column],
  }[key];
  return to ? within({ row: to[0], column: to[1] }, rows, columns) : null;
}

/** @param {Cell} cell @param {number} rows @param {number} columns @returns {Cell} */
export const within = ({ row, column }, rows, columns) => ({
  row: Math.max(0, Math.min(row, rows - 1)),
  column: Math.max(0, Math.min(column, columns - 1)),
});

/**
 * Let the keys walk a grid; Enter and the space bar press a cell that is no button.
 *
 * @param {HTMLElement} grid
 * @param {HTMLElement[][]} cells What takes the focus, by row and column; what spans several rows stands in each.
 * @param {Cell} at Where the Tab key stops; it is kept up to date.
 */
export function walk(grid, cells, at) {
  const stopAt = (/** @type {Cell} */ cell) => {
    Object.assign(at, cell);
    for (const each of cells.flat()) each.tabIndex = -1;
    cells[at.row][at.column].tabIndex = 0;
  };
  stopAt(within(at, cells.length, cells[0].length));
  grid.addEventListener("focusin", ({ target }) => {
    if (cells[at.row][at.column] === target) return;
    const row = cells.findIndex((row) => row.some((cell) => cell === target));
    if (row >= 0) stopAt({ row, column: cells[row].findIndex((cell) => cell === target) });
  });
  onKey(grid, '[tabindex="0"]', ({ key }, pressedOn) => {
    if (key === "Enter" || key === " ") {
      if (pressedOn instanceof HTMLButtonElement) return false;
      pressedOn.click();
      return true;
    }
    const to = led(key, at, cells.length, cells[0].length);
    if (!to) return false;
    stopAt(to);
    cells[to.row][to.column].focus();
    return true;
  });
}
