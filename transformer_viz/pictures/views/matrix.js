// One matrix: zoom with the wheel, pan by dragging, arrows move the cell.

import { drawCells, drawScale } from "./cells.js";
import { drawLabels, drawLit, drawSums, drawTitles } from "./labels.js";
import { place } from "./place.js";
import { moved, revealed, whole, zoomed } from "./zoom.js";

/** @typedef {import("./scene.js").Scene} Scene */

/** @typedef {{row: number | null, column: number | null}} Cell A cell, a row alone, a column alone, or nothing. */

/**
 * What a matrix is drawn for.
 *
 * @typedef {object} Host
 * @property {() => Scene} scene The same object until something changes.
 * @property {{text: string, soft: string, muted: string, font: string}} theme
 * @property {() => Cell} lit What is pointed at.
 * @property {(cell: Cell, place: [number, number] | "cell" | null) => void} light Called when something else is; `place` is
 *   where: a place of the canvas, or, of who moves by keys, "cell".
 * @property {(cell: Cell) => void} pin Called when a cell is pressed; an empty one: nothing is held any more.
 * @property {() => void} redraw
 * @property {() => void} [zoomed] Called when another part is in view.
 */

const NOTHING = { row: null, column: null };
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Return the view, as `surface` takes it. */
export function matrix(/** @type {Host} */ host) {
  let window_ = null; // the part in view; null: all
  let seen = ""; // key of the scene it belongs to
  let at = null; // a Place
  let placed = []; // what it was worked out from
  const ruler = new OffscreenCanvas(1, 1).getContext("2d");

  function measure(width) {
    const { rows, columns } = host.scene();
    const from = [rows, columns, width, host.theme.font];
    if (from.every((each, i) => each === placed[i])) return;
    ruler.font = `${host.scene().pixels}px ${host.theme.font}`;
    [at, placed] = [place(host.scene(), ruler, width), from];
  }

  function all() {
    const { rows, columns } = host.scene();
    return whole(rows.length, columns.length);
  }

  function part() {
    const { key } = host.scene();
    if (key !== seen) [seen, window_] = [key, null];
    return window_ ?? all();
  }

  function show(next) {
    window_ = next;
    host.zoomed?.();
    host.redraw();
    return true;
  }

  const shares = (x, y) => [(y - at.top) / at.down, (x - at.left) / at.across];
  const zoom = (factor, x, y) => show(zoomed(part(), all(), factor, shares(x, y)));

  /** Return the cell at a place; with `nearest`, the nearest one of those in view. */
  function cellAt(x, y, nearest = false) {
    if (!at) return null;
    const [down, across] = shares(x, y);
    if (!nearest && !(down >= 0 && down < 1 && across >= 0 && across < 1)) return null;
    const inView = part();
    const { rows, columns } = all();
    const within = (share, first, count, total) =>
      Math.max(0, Math.min(total - 1, Math.floor(first + Math.max(0, Math.min(1, share)) * count)));
    return {
      row: within(down, inView.row, inView.rows, rows),
      column: within(across, inView.column, inView.columns, columns),
    };
  }

  /** Light the cell beside the one that is lit. */
  function step([down, right]) {
    const { rows, columns } = all();
    const { row, column } = host.lit();
    const next = (index, by, count) => Math.max(0, Math.min(count - 1, index === null ? 0 : index + by));
    const cell = { row: next(row, down, rows), column: next(column, right, columns) };
    if (window_) show(revealed(window_, cell.row, cell.column));
    host.light(cell, "cell");
    return true;
  }

  return {
    height(width) {
      measure(width);
      return at.height;
    },
    draw(ctx, width, height, scale) {
      measure(width);
      const [scene, look, inView] = [host.scene(), host.theme, part()];
      ctx.textBaseline = "middle";
      drawCells(ctx, scene, at, inView, scale);
      drawLabels(ctx, scene, at, inView, look, host.lit());
      drawTitles(ctx, scene, at, look);
      if (scene.sums) drawSums(ctx, scene, at, inView, look, scale);
      drawScale(ctx, scene, at, look);
      drawLit(ctx, at, inView, look, host.lit());
    },
    point(x, y) {
      const cell = cellAt(x, y);
      host.light(cell ?? NOTHING, cell && [x, y]);
    },
    leave: () => host.light(NOTHING, null),
    press(x, y) {
      const cell = cellAt(x, y);
      if (cell) host.pin(cell);
    },
    wheel(event, x, y) {
      const wanted = event.ctrlKey || event.altKey || window_;
      return Boolean(wanted && cellAt(x, y)) && zoom(event.deltaY < 0 ? 0.8 : 1.25, x, y);
    },
    drag: (dx, dy) => window_ && show(moved(window_, all(), [dy / at.down, dx / at.across])),
    reset: () => show(null),
    key(event) {
      if (event.key === "+" || event.key === "=") return zoom(0.7, ...center());
      if (event.key === "-") return zoom(1.4, ...center());
      if (event.key in ARROWS) return step(ARROWS[event.key]);
      if (event.key === "Escape") host.pin(NOTHING);
      const { row, column } = host.lit();
      const pins = (event.key === "Enter" || event.key === " ") && row !== null && column !== null;
      if (pins) host.pin({ row, column });
      return pins || event.key === "Escape";
    },
    cellAt,
    /** Place of a cell's middle on the canvas; null: nothing has been drawn yet. */
    middle({ row, column }) {
      if (!at) return null;
      const inView = part();
      return [
        at.left + ((column + 0.5 - inView.column) / inView.columns) * at.across,
        at.top + ((row + 0.5 - inView.row) / inView.rows) * at.down,
      ];
    },
    /** The part in view, null where it is all; it can be set to that of another matrix. */
    get part() {
      part();
      return window_;
    },
    set part(next) {
      part();
      window_ = next;
    },
    /** Draw a frame around cells. */
    frame(ctx, [row, column, lastRow, lastColumn], colour) {
      const inView = part();
      const [down, across] = [at.down / inView.rows, at.across / inView.columns];
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1.5;
      const corner = [at.left + (column - inView.column) * across, at.top + (row - inView.row) * down];
      ctx.strokeRect(...corner, (lastColumn - column + 1) * across, (lastRow - row + 1) * down);
    },
  };

  function center() {
    return [at.left + at.across / 2, at.top + at.down / 2];
  }
}
