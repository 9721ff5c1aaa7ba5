// A matrix: zoom with the wheel, pan by dragging, move from cell to cell with the arrow keys.

import { drawCells, drawNumbers, drawScale } from "./cells.js";
import { drawCovered, drawHighlighted, drawLabels, drawSums, drawTitles } from "./labels.js";
import { newRuler } from "./pen.js";
import { cellAt, middleOf, nearestCell, place } from "./place.js";
import { moved, revealed, whole, zoomed } from "./zoom.js";

/** @import {Pen} from "./pen.js" */
/** @import {Cell, Place} from "./place.js" */
/** @import {Scene} from "./scene.js" */
/** @import {View} from "./surface.js" */
/** @import {Theme} from "./theme.js" */
/** @import {Point} from "./tip.js" */
/** @import {Part} from "./zoom.js" */

/** @typedef {{row: number | null, column: number | null}} Highlight A cell, a row alone, a column alone, or nothing. */

/**
 * What a matrix needs from the page around it.
 *
 * @typedef {object} MatrixHost
 * @property {() => Scene} scene The same object until something changes.
 * @property {() => Theme} theme
 * @property {() => Highlight} highlighted
 * @property {(cell: Highlight, place: Point | "cell" | null) => void} highlight `place`: the pointer, or "cell" for the
 *   cell itself, when moving by keys.
 * @property {(cell: Highlight) => void} pin Called when a cell is pressed; with an empty one, to release it.
 * @property {() => void} redraw
 * @property {() => void} [zoomed] Called when another part is in view.
 */

/**
 * Everything that is known while a matrix is drawn.
 *
 * @typedef {object} Drawing
 * @property {Scene} scene
 * @property {Place} at
 * @property {Part} part In view.
 * @property {Theme} theme
 * @property {Highlight} highlighted
 * @property {number} scale Pixels of the picture for each unit of the drawing.
 */

/**
 * A view that a painting can be laid over.
 *
 * @typedef {View & Required<Pick<View, "point" | "leave" | "reset" | "key">> & Matrix} MatrixView
 */

/**
 * @typedef {object} Matrix
 * @property {Part | null} part In view; null: all. It can be set to that of another matrix.
 * @property {(point: Point) => Cell | null} cellAt
 * @property {(point: Point) => Cell | null} nearest The nearest cell in view; null before the first drawing.
 * @property {(cell: Cell) => Point | null} middle Null before the first drawing.
 * @property {(scale?: number) => Drawing | null} drawing Null before the first drawing.
 */

/** @type {Highlight} */
export const NOTHING = { row: null, column: null };

/** @type {Record<string, [down: number, right: number]>} */
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** @type {Record<string, [down: number, right: number]>} */
const ENDS = { Home: [0, -Infinity], End: [0, Infinity] };

/**
 * Return the view.
 *
 * @param {MatrixHost} host
 * @returns {MatrixView}
 */
export function matrix(host) {
  const [layout, zoom] = [layoutOf(host), zoomOf(host)];

  /** @param {number} factor @param {Point} [point] */
  function scale(factor, point) {
    const at = layout.last();
    if (!at) return true;
    const [x, y] = point ?? [at.left + at.across / 2, at.top + at.down / 2];
    return zoom.show(
      zoomed(zoom.part(), zoom.all(), factor, [(y - at.top) / at.down, (x - at.left) / at.across]),
    );
  }

  /** Highlight the cell beside the highlighted one, or at an end of its row or, with Ctrl, of the matrix. */
  function step(/** @type {[number, number]} */ [down, right], withCtrl = false) {
    const { rows, columns } = zoom.all();
    const { row, column } = host.highlighted();
    /** @type {(index: number | null, by: number, count: number) => number} */
    const next = (index, by, count) =>
      Math.max(0, Math.min(count - 1, index === null && Number.isFinite(by) ? 0 : (index ?? 0) + by));
    const cell = { row: next(row, withCtrl ? right : down, rows), column: next(column, right, columns) };
    const zoomedTo = zoom.window();
    if (zoomedTo) zoom.show(revealed(zoomedTo, cell.row, cell.column));
    host.highlight(cell, "cell");
    return true;
  }

  /** @type {MatrixView} */
  const view = {
    height: (width) => layout.at(width).height,
    draw(pen, width, _height, scale) {
      layout.at(width);
      const drawing = view.drawing(scale);
      if (drawing) drawMatrix(pen, drawing);
    },
    point(x, y) {
      const cell = view.cellAt([x, y]);
      host.highlight(cell ?? NOTHING, cell && [x, y]);
    },
    leave: () => host.highlight(NOTHING, null),
    press(x, y) {
      const cell = view.cellAt([x, y]);
      if (cell) host.pin(cell);
    },
    wheel(event, x, y) {
      const wanted = event.ctrlKey || event.altKey || zoom.window();
      return Boolean(wanted && view.cellAt([x, y])) && scale(event.deltaY < 0 ? 0.8 : 1.25, [x, y]);
    },
    drag(dx, dy) {
      const [at, window] = [layout.last(), zoom.window()];
      if (at && window) zoom.show(moved(window, zoom.all(), [dy / at.down, dx / at.across]));
    },
    reset: () => zoom.show(null),
    key(event) {
      if (event.key === "+" || event.key === "=") return scale(0.7);
      if (event.key === "-") return scale(1.4);
      if (event.key in ENDS) return step(ENDS[event.key], event.ctrlKey);
      if (event.key in ARROWS) return step(ARROWS[event.key]);
      if (event.key === "Escape") host.pin(NOTHING);
      const { row, column } = host.highlighted();
      const pins = (event.key === "Enter" || event.key === " ") && row !== null && column !== null;
      if (pins) host.pin({ row, column });
      return pins || event.key === "Escape";
    },
    cellAt: (point) => layout.found((at) => cellAt(at, zoom.part(), point)),
    nearest: (point) => layout.found((at) => nearestCell(at, zoom.part(), point)),
    middle: (cell) => layout.found((at) => middleOf(at, zoom.part(), cell)),
    drawing(scale = 1) {
      const [scene, theme, highlighted, part] = [host.scene(), host.theme(), host.highlighted(), zoom.part()];
      return layout.found((at) => ({ scene, at, part, theme, highlighted, scale }));
    },
    get part() {
      return zoom.window();
    },
    set part(next) {
      zoom.set(next);
    },
  };
  return view;
}

/** @param {Pen} pen @param {Drawing} drawing */
function drawMatrix(pen, drawing) {
  pen.textBaseline = "middle";
  drawCells(pen, drawing);
  if (drawing.scene.written || drawing.scene.numbers) drawNumbers(pen, drawing);
  drawLabels(pen, drawing);
  drawTitles(pen, drawing);
  if (drawing.scene.sums) drawSums(pen, drawing, drawing.scene.sums);
  drawScale(pen, drawing);
  drawHighlighted(pen, drawing);
  if (drawing.scene.covered) drawCovered(pen, drawing, drawing.scene.covered);
}

/**
 * Return the layout of the host's scene, worked out again only if something changes.
 *
 * @param {MatrixHost} host
 */
function layoutOf(host) {
  const ruler = newRuler();
  /** @type {Place | null} */
  let last = null;
  /** @type {unknown[]} */
  let from = [];
  return {
    last: () => last,

    /** @param {number} width */
    at(width) {
      const [scene, { font }] = [host.scene(), host.theme()];
      const now = [scene.rows, scene.columns, width, font, scene.tall];
      if (last && now.every((each, i) => each === from[i])) return last;
      ruler.font = `${scene.pixels}px ${font}`;
      [last, from] = [place(scene, ruler, width), now];
      return last;
    },

    /**
     * @template T
     * @param {(at: Place) => T} read
     */
    found: (read) => last && read(last),
  };
}

/**
 * Return the visible part of the host's scene: all of it if its key has changed.
 *
 * @param {MatrixHost} host
 */
function zoomOf(host) {
  /** @type {Part | null} */
  let window = null;
  let seen = "";
  const all = () => whole(host.scene().rows.length, host.scene().columns.length);
  const current = () => {
    const { key } = host.scene();
    if (key !== seen) [seen, window] = [key, null];
    return window;
  };
  const set = (/** @type {Part | null} */ next) => {
    current();
    window = next;
  };
  return {
    all,
    window: current,
    set,
    part: () => current() ?? all(),
    show(/** @type {Part | null} */ next) {
      set(next);
      host.zoomed?.();
      host.redraw();
      return true;
    },
  };
}
