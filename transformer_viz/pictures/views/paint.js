// A layer over a matrix: its cells are painted, one by one or as a box, and sent as strokes.

import { valueAt } from "./scene.js";

/** @typedef {import("./scene.js").Scene} Scene */

/** @typedef {[number, [number, number, number, number], boolean]} Stroke Number, first row and column, last row and column, whether they may be read. */

/** Let the matrix of a panel be painted where the panel says that it can be; return {take(applied)}. */
export function paint(view, panel) {
  let held = null; // the cell a box begins in
  let strokes = /** @type {Stroke[]} */ ([]); // those that the server has not drawn yet
  let last = 0; // number of the last stroke
  const { draw, point, leave, reset, key } = view;

  function box(from, to) {
    const [low, high] = [Math.min, Math.max];
    return [low(from.row, to.row), low(from.column, to.column), high(from.row, to.row), high(from.column, to.column)];
  }

  /** Set the cells of a stroke; the picture does not wait for the server. */
  function set([, [row, column, lastRow, lastColumn], may]) {
    const { columns, values } = panel.scene();
    for (let i = row; i <= lastRow; i++) values.fill(may ? 1 : Number.NaN, i * columns.length + column, i * columns.length + lastColumn + 1);
  }

  /** Mask all cells from one to another if any of them may be read, or else free them. */
  function stroke(from, to) {
    const cells = box(from, to);
    let any = false;
    for (let i = cells[0]; i <= cells[2]; i++) for (let j = cells[1]; j <= cells[3]; j++) any ||= !Number.isNaN(valueAt(panel.scene(), i, j));
    last = Math.max(Date.now(), last + 1, panel.paints.applied + 1);
    strokes = [...strokes, [last, cells, !any]];
    set(strokes.at(-1));
    panel.send(strokes);
    panel.follow(panel.lit());
  }

  Object.assign(view, {
    draw(ctx, width, height, scale) {
      draw(ctx, width, height, scale);
      const lit = panel.lit();
      if (panel.paints && lit.row !== null) view.frame(ctx, box(held ?? lit, lit), panel.theme.text);
    },
    begin(x, y) {
      if (panel.paints) held = view.cellAt(x, y);
      return held !== null;
    },
    point(x, y) {
      if (held) panel.light(view.cellAt(x, y, true), [x, y]);
      else point(x, y);
    },
    end(x, y) {
      const from = held;
      held = null;
      stroke(from, view.cellAt(x, y, true));
      point(x, y);
    },
    leave() {
      held = null;
      leave();
    },
    reset: () => panel.paints || reset(),
    key(event) {
      const lit = panel.lit();
      if (!panel.paints || (event.key !== " " && event.key !== "Enter")) return key(event);
      if (lit.row !== null) stroke(lit, lit);
      return true;
    },
  });
  return {
    /** Set the strokes that are not in what was drawn last. */
    take(applied) {
      strokes = strokes.filter(([number]) => number > applied);
      strokes.forEach(set);
    },
  };
}
