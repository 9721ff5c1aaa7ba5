// A matrix as a grid of cells for screen readers and keys, off the screen beside its canvas, which shows the cell in focus.

import { element } from "./element.js";
import { onKey } from "./keys.js";
import { textAt } from "./scene.js";

/** @import {Highlight, Matrix} from "./matrix.js" */
/** @import {Cell} from "./place.js" */
/** @import {Scene} from "./scene.js" */
/** @import {View} from "./surface.js" */

/**
 * What the grid needs from the page around it.
 *
 * @typedef {object} CellGridHost
 * @property {View & Matrix & Required<Pick<View, "key">>} view Its keys are those of the grid.
 * @property {() => Scene} scene
 * @property {() => string} name
 * @property {() => Highlight} highlighted
 * @property {(cell: Highlight, place: "cell" | null) => void} highlight
 */

const MOST = 400; // cells up to which all rows are there; of more, the current row alone

export class CellGrid {
  /** @param {CellGridHost} host */
  constructor(host) {
    this.host = host;
    /** @type {Cell} */
    this.current = { row: 0, column: 0 };
    /** @type {unknown[]} */
    this.built = [];
    this.element = element("div", { className: "cells", role: "grid" });
    onKey(this.element, "[role=gridcell]", (event) => this.key(event), ["Home", "End"]);
    this.element.addEventListener("focusin", ({ target }) => this.enter(target));
    this.element.addEventListener("focusout", () => this.host.highlight({ row: null, column: null }, null));
  }

  /** Say what the scene holds now; the current cell stays where it still exists. */
  update() {
    const scene = this.host.scene();
    const { rows, columns, rowTitle } = scene;
    this.current.row = Math.min(this.current.row, rows.length - 1);
    this.current.column = Math.min(this.current.column, columns.length - 1);
    Object.assign(this.element, {
      ariaLabel: this.host.name(),
      ariaRowCount: String(rows.length + 1),
      ariaColCount: String(columns.length + 1),
    });
    const shown = rows.length * columns.length <= MOST ? rows.map((_, row) => row) : [this.current.row];
    const built = [rows, columns, rowTitle, shown.join()];
    if (built.some((each, i) => each !== this.built[i])) this.build(shown);
    this.built = built;
    const cells = this.element.querySelectorAll("[role=gridcell]");
    shown.forEach((row, i) => {
      columns.forEach((_, column) => {
        cells[i * columns.length + column].textContent = textAt(scene, row, column);
      });
    });
  }

  /** Make the cells of the header and of some rows. @param {number[]} shown */
  build(shown) {
    const { columns, rowTitle = "" } = this.host.scene();
    const hasFocus = this.element.matches(":focus-within");
    const names = columns.map((text, column) => cell("columnheader", text, column + 2));
    this.element.replaceChildren(
      row(1, cell("columnheader", rowTitle, 1), ...names),
      ...shown.map((number) => this.row(number)),
    );
    this.choose(hasFocus);
  }

  /** Return a row with its cells, without their texts. @param {number} number */
  row(number) {
    const { rows, columns } = this.host.scene();
    const cells = columns.map((_, column) => cell("gridcell", "", column + 2));
    for (const each of cells) each.tabIndex = -1;
    return row(number + 2, cell("rowheader", rows[number], 1), ...cells);
  }

  /** The element of the current cell; null: its row is not there. @returns {HTMLElement | null} */
  get chosen() {
    const { row, column } = this.current;
    return this.element.querySelector(
      `[aria-rowindex="${row + 2}"] > [role=gridcell][aria-colindex="${column + 2}"]`,
    );
  }

  /** Make the current cell the one that Tab leads to. @param {boolean} focus Whether it takes the focus. */
  choose(focus) {
    for (const former of this.element.querySelectorAll("[tabindex='0']"))
      former.setAttribute("tabindex", "-1");
    const { chosen } = this;
    if (!chosen) return;
    chosen.tabIndex = 0;
    if (focus) chosen.focus({ preventScroll: true });
  }

  /** Show on the canvas which cell has the focus. @param {EventTarget | null} target */
  enter(target) {
    if (!(target instanceof HTMLElement)) return;
    const [row, column] = [target.parentElement?.ariaRowIndex, target.ariaColIndex].map(
      (index) => Number(index) - 2,
    );
    this.current = { row, column };
    this.host.highlight(this.current, "cell");
  }

  /** Let the matrix use a key, and follow it to its cell. @param {KeyboardEvent} event */
  key(event) {
    const isUsed = this.host.view.key(event);
    const { row, column } = this.host.highlighted();
    if (row === null || column === null) return isUsed;
    this.current = { row, column };
    if (!this.chosen) this.update();
    this.choose(true);
    return isUsed;
  }
}

/** @param {number} index From 1. @param {...HTMLElement} cells */
const row = (index, ...cells) => element("div", { role: "row", ariaRowIndex: String(index) }, ...cells);

/** @param {string} role @param {string} text @param {number} index From 1. */
const cell = (role, text, index) => element("span", { role, textContent: text, ariaColIndex: String(index) });
