// A matrix beside others of the same tokens: it can be saved, and shown as a table.

import { element } from "./element.js";
import { matrix, NOTHING } from "./matrix.js";
import { SAVED, save } from "./saving.js";
import { csvOf, valueAt } from "./scene.js";
import { surface } from "./surface.js";
import { tableOf } from "./table.js";
import { fill } from "./text.js";
import { tipOf } from "./tip.js";

/** @import {FileKind} from "./controls.js" */
/** @import {Highlight} from "./matrix.js" */
/** @import {Scene} from "./scene.js" */
/** @import {PageTheme} from "./theme.js" */
/** @import {Point} from "./tip.js" */

/**
 * What a panel shows beside its matrix.
 *
 * @typedef {object} Surroundings
 * @property {[cell: string, gap: string | null]} says Text of a cell, with {row}, {column} and {value}, and of a gap.
 * @property {string} alt
 * @property {string} title Above a saved picture.
 * @property {string} name Of saved files, without their ending.
 * @property {{table: string, rows: string, largest: string}} words
 */

/** @typedef {Scene & Surroundings} PanelScene */

const DIGITS = 4; // after the decimal point, in tooltips
const PRECISION = 6; // significant digits of a saved number

export class Panel {
  /**
   * @param {HTMLElement} root
   * @param {PanelScene} of
   * @param {PageTheme} page
   * @param {() => Panel[]} group Those that are highlighted and zoomed together with this one.
   */
  constructor(root, of, page, group) {
    this.root = root;
    this.of = of;
    this.page = page;
    this.group = group;
    this.cell = NOTHING;
    this.leads = true; // whether the pointer or the keys are in this panel of its group
    root.className = "panel";
    const body = element("div", { className: "body" });
    this.tip = tipOf(root);
    this.announced = element("p", { className: "spoken", ariaLive: "polite" });
    this.tools = element("div", { className: "tools" });
    this.table = element("div", { className: "table", hidden: true });
    root.append(body, this.tip.element, this.announced, this.tools, this.table);
    const shared = { scene: () => this.of, theme: () => this.page.theme, highlighted: () => this.cell };
    this.view = matrix({
      ...shared,
      highlight: (cell, place) => this.highlight(cell, place),
      pin: ({ row }) => row === null && this.highlight(NOTHING, null),
      redraw: () => this.redraw(),
      zoomed: () => this.zoomed(),
    });
    this.surface = surface(body, this.view, page.read);
    root.addEventListener("transitionend", () => this.redraw()); // another theme has another colour of text
  }

  /**
   * Show another scene, with the same highlight and zoom.
   *
   * @param {PanelScene} of
   */
  update(of) {
    this.of = of;
    const { row, column } = this.cell;
    if ((row ?? 0) >= of.rows.length || (column ?? 0) >= of.columns.length) this.cell = NOTHING;
    this.surface.canvas.setAttribute("aria-label", of.alt);
    this.offer();
    this.follow(this.cell, this.leads);
  }

  redraw() {
    this.surface.redraw();
  }

  /** Return the other panels of the group that have as many rows and columns. */
  others() {
    const { rows, columns } = this.of;
    return this.group().filter(
      (panel) =>
        panel !== this && panel.of.rows.length === rows.length && panel.of.columns.length === columns.length,
    );
  }

  /**
   * Highlight a cell in all panels of the group.
   *
   * @param {Highlight} cell
   * @param {Point | "cell" | null} place
   */
  highlight(cell, place) {
    if (cell.row === this.cell.row && cell.column === this.cell.column) return;
    this.follow(cell, true);
    for (const other of this.others()) other.follow(cell, false);
    if (place === "cell") this.announced.textContent = this.textOf(cell) ?? ""; // to a screen reader
  }

  /** Zoom the other panels of the group as this one. */
  zoomed() {
    for (const other of this.others()) {
      other.view.part = this.view.part;
      other.redraw();
    }
  }

  /**
   * Highlight a cell in this panel.
   *
   * @param {Highlight} cell
   * @param {boolean} leads
   */
  follow(cell, leads) {
    this.cell = cell;
    this.leads = leads;
    const [text, place] = [this.textOf(cell), this.tipPlace(cell)];
    if (text && place) this.tip.show(this.surface.canvas, place, [text]);
    else this.tip.hide();
    this.redraw();
  }

  /**
   * Return where the tooltip of a cell is: at the cell or, in the other panels of the group, below all cells, so that
   * none is covered; null: there is none.
   *
   * @param {Highlight} cell
   * @returns {Point | null}
   */
  tipPlace({ row, column }) {
    const drawing = this.view.drawing();
    const middle = row !== null && column !== null ? this.view.middle({ row, column }) : null;
    if (!middle || !drawing || this.leads) return middle;
    return [middle[0] - 16, drawing.at.top + drawing.at.down - 12];
  }

  /**
   * Return the tooltip of a cell; null: it has none.
   *
   * @param {Highlight} cell
   */
  textOf({ row, column }) {
    if (row === null || column === null) return null;
    const { rows, columns, says, digits = DIGITS } = this.of;
    const value = valueAt(this.of, row, column);
    const sentence = says[Number.isNaN(value) ? 1 : 0];
    return (
      sentence && fill(sentence, { row: rows[row], column: columns[column], value: value.toFixed(digits) })
    );
  }

  /** Show the buttons below the matrix, and the table if it is open. */
  offer() {
    const { words } = this.of;
    if (this.tools.lastChild?.textContent !== words.table) {
      const kinds = /** @type {const} */ (["png", "svg", "csv"]);
      const saves = kinds.map((kind) => button(kind.toUpperCase(), () => this.download(kind)));
      const opens = button(words.table, () => {
        this.table.hidden = !this.table.hidden;
        this.offer();
      });
      this.tools.replaceChildren(...saves, opens);
    }
    this.tools.lastElementChild?.setAttribute("aria-expanded", String(!this.table.hidden));
    this.table.replaceChildren(...(this.table.hidden ? [] : [tableOf(this.of, words.rows, words.largest)]));
  }

  /** @param {FileKind} kind */
  async download(kind) {
    const { background, text: colour, font } = this.page.theme;
    const around = { background, colour, font, titles: [this.of.title], titled: SAVED.titled };
    const blob =
      kind === "csv"
        ? new Blob([csvOf(this.of, PRECISION)], { type: "text/csv" })
        : await this.surface.picture(kind, around);
    save(blob, `${this.of.name}.${kind}`);
  }
}

/** @param {string} text @param {() => void} press */
function button(text, press) {
  const made = element("button", { type: "button", textContent: text });
  made.addEventListener("click", press);
  return made;
}
