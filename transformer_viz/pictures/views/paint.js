// A layer over a matrix for painting: single cells, or boxes of cells.

import { drawBox } from "./labels.js";
import { valueAt } from "./scene.js";

/** @import {Highlight, MatrixView} from "./matrix.js" */
/** @import {Box, Cell} from "./place.js" */
/** @import {Scene} from "./scene.js" */
/** @import {Point} from "./tip.js" */

/**
 * What a painting needs from the page around it.
 *
 * @typedef {object} PaintHost
 * @property {() => Scene} scene
 * @property {() => Highlight} highlighted
 * @property {(cell: Highlight, place: Point) => void} highlight
 * @property {() => boolean} isOn
 * @property {(cells: Box, allowed: boolean) => void} stroke Called with the cells that were painted.
 */

/**
 * Make a matrix paintable.
 *
 * @param {MatrixView} view
 * @param {PaintHost} host
 */
export function paint(view, host) {
  /** @type {Cell | null} */
  let held = null; // the cell in which a box begins
  const { draw, point, leave, press, reset, key } = view;

  function stroke(/** @type {Cell} */ from, /** @type {Cell} */ to) {
    const cells = boxOf(from, to);
    const allowed = !anyAllowed(host.scene(), cells);
    setCells(host.scene(), cells, allowed);
    host.stroke(cells, allowed);
  }

  Object.assign(
    view,
    /** @type {Partial<MatrixView>} */ ({
      draw(pen, width, height, scale) {
        draw(pen, width, height, scale);
        const [cell, drawing] = [cellOf(host.highlighted()), view.drawing(scale)];
        if (host.isOn() && cell && drawing) drawBox(pen, drawing, boxOf(held ?? cell, cell));
      },
      begin(x, y) {
        if (host.isOn()) held = view.cellAt([x, y]);
        return held !== null;
      },
      point(x, y) {
        const cell = held && view.nearest([x, y]);
        if (cell) host.highlight(cell, [x, y]);
        else point(x, y);
      },
      end(x, y) {
        const [from, to] = [held, view.nearest([x, y])];
        held = null;
        if (from && to) stroke(from, to);
        point(x, y);
      },
      leave() {
        held = null;
        leave();
      },
      press(x, y) {
        if (!host.isOn()) press?.(x, y);
      },
      reset() {
        if (!host.isOn()) reset?.();
      },
      key(event) {
        if (!host.isOn() || (event.key !== " " && event.key !== "Enter")) return key?.(event) ?? false;
        const cell = cellOf(host.highlighted());
        if (cell) stroke(cell, cell);
        return true;
      },
    }),
  );
}

/**
 * @param {Highlight} highlight
 * @returns {Cell | null}
 */
const cellOf = ({ row, column }) => (row === null || column === null ? null : { row, column });

/**
 * Return the box with two corners.
 *
 * @param {Cell} from
 * @param {Cell} to
 * @returns {Box}
 */
export function boxOf(from, to) {
  const [low, high] = [Math.min, Math.max];
  return [
    low(from.row, to.row),
    low(from.column, to.column),
    high(from.row, to.row),
    high(from.column, to.column),
  ];
}

/**
 * Set the cells of a box, without waiting for the run.
 *
 * @param {Scene} scene
 * @param {Box} box
 * @param {boolean} allowed
 */
export function setCells({ columns, values }, [row, column, lastRow, lastColumn], allowed) {
  for (let i = row; i <= lastRow; i++) {
    values.fill(allowed ? 1 : Number.NaN, i * columns.length + column, i * columns.length + lastColumn + 1);
  }
}

/**
 * @param {Scene} scene
 * @param {Box} box
 */
function anyAllowed(scene, [row, column, lastRow, lastColumn]) {
  for (let i = row; i <= lastRow; i++) {
    for (let j = column; j <= lastColumn; j++) if (!Number.isNaN(valueAt(scene, i, j))) return true;
  }
  return false;
}

/**
 * Return the bits of a mask, from hexadecimal digits of four cells each, row by row (network/named_masks.py).
 *
 * @param {string} digits
 * @param {number} cells
 */
export const bitsOf = (digits, cells) =>
  Uint8Array.from({ length: cells }, (_, i) => (Number.parseInt(digits[i >> 2], 16) >> (3 - (i & 3))) & 1);

/** Return the digits of such bits. @param {Uint8Array} bits */
export function digitsOf(bits) {
  let digits = "";
  for (let i = 0; i < bits.length; i += 4) {
    digits += [0, 1, 2, 3].reduce((digit, at) => digit * 2 + (bits[i + at] ?? 0), 0).toString(16);
  }
  return digits;
}
