// A layer over a matrix for painting: single cells, or boxes of cells, which are sent as strokes.

import { drawBox } from "./labels.js";
import { valueAt } from "./scene.js";

/** @import {Highlight, MatrixView} from "./matrix.js" */
/** @import {Box, Cell} from "./place.js" */
/** @import {Scene} from "./scene.js" */
/** @import {Point} from "./tip.js" */

/** @typedef {[number: number, cells: Box, allowed: boolean]} Stroke */

/**
 * What a painting needs from the panel around it.
 *
 * @typedef {object} PaintHost
 * @property {() => Scene} scene
 * @property {() => Highlight} highlighted
 * @property {(cell: Highlight, place: Point) => void} highlight
 * @property {() => number | null} applied Number of the last stroke that the server has drawn; null: painting is off.
 * @property {(strokes: Stroke[]) => void} send Called with all strokes that the server has not drawn.
 */

/**
 * Make a matrix paintable; return a function that repeats the strokes that are not yet in a new scene.
 *
 * @param {MatrixView} view
 * @param {PaintHost} host
 */
export function paint(view, host) {
  /** @type {Cell | null} */
  let held = null; // the cell in which a box begins
  /** @type {Stroke[]} */
  let strokes = []; // not yet drawn by the server
  let last = 0; // number of the last stroke
  const { draw, point, leave, reset, key } = view;

  function stroke(/** @type {Cell} */ from, /** @type {Cell} */ to) {
    const cells = boxOf(from, to);
    last = Math.max(Date.now(), last + 1, (host.applied() ?? 0) + 1);
    strokes = [...strokes, [last, cells, !anyAllowed(host.scene(), cells)]];
    setCells(host.scene(), strokes[strokes.length - 1]);
    host.send(strokes);
  }

  Object.assign(
    view,
    /** @type {Partial<MatrixView>} */ ({
      draw(pen, width, height, scale) {
        draw(pen, width, height, scale);
        const [cell, drawing] = [cellOf(host.highlighted()), view.drawing(scale)];
        if (host.applied() !== null && cell && drawing) drawBox(pen, drawing, boxOf(held ?? cell, cell));
      },
      begin(x, y) {
        if (host.applied() !== null) held = view.cellAt([x, y]);
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
      reset() {
        if (host.applied() === null) reset();
      },
      key(event) {
        if (host.applied() === null || (event.key !== " " && event.key !== "Enter")) return key(event);
        const cell = cellOf(host.highlighted());
        if (cell) stroke(cell, cell);
        return true;
      },
    }),
  );

  return () => {
    strokes = strokes.filter(([number]) => number > (host.applied() ?? 0));
    for (const each of strokes) setCells(host.scene(), each);
  };
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
 * Set the cells of a stroke, without waiting for the server.
 *
 * @param {Scene} scene
 * @param {Stroke} stroke
 */
export function setCells({ columns, values }, [, [row, column, lastRow, lastColumn], allowed]) {
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
