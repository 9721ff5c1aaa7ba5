// One matrix in a page, beside others of the same tokens; what it shows can be saved, read as a table, and painted on.

import { ramp } from "./colour.js";
import { element } from "./element.js";
import { join, linked } from "./links.js";
import { matrix } from "./matrix.js";
import { paint } from "./paint.js";
import { save } from "./saving.js";
import { csvOf, valueAt } from "./scene.js";
import { surface } from "./surface.js";
import { tableOf } from "./table.js";
import { themeOf } from "./theme.js";
import { tipOf } from "./tip.js";

/** @typedef {import("./scene.js").Scene} Scene */

const PANELS = new WeakMap();
const NOTHING = { row: null, column: null };
const DIGITS = 4; // after the point, of a number that is said
const PRECISION = 6; // digits of a number that is saved

export default function ({ data, parentElement, setStateValue }) {
  if (!PANELS.has(parentElement)) PANELS.set(parentElement, new Panel(parentElement.querySelector("div")));
  PANELS.get(parentElement).take(read(data), (strokes) => setStateValue("strokes", strokes));
}

/** Return the scene and all else that Python packed (panel.py). */
function read(packed) {
  const bytes = Uint8Array.from(atob(packed.values), (letter) => letter.charCodeAt(0));
  const { limit, signed, ticks } = packed;
  const scale = { ramp: ramp(packed.colours), limit, signed, ticks };
  const key = `${packed.rows.length}/${packed.columns.length}`;
  return { ...packed, key, values: new Float32Array(bytes.buffer), scale };
}

/** A matrix with what is below it; it is what `matrix` and `paint` ask for. */
export class Panel {
  constructor(root) {
    this.root = root;
    this.cell = NOTHING;
    this.theme = themeOf(root);
    root.className = "panel";
    const body = element("div", { className: "body" });
    this.tip = tipOf(root);
    this.spoken = element("p", { className: "spoken", ariaLive: "polite" });
    this.tools = element("div", { className: "tools" });
    this.table = element("div", { className: "table", hidden: true });
    root.append(body, this.tip.element, this.spoken, this.tools, this.table);
    this.view = matrix(this);
    this.view.prepare = () => {
      this.theme = themeOf(root);
    };
    this.painting = paint(this.view, this);
    root.addEventListener("transitionend", () => this.redraw()); // another theme has another colour of text
    this.body = body;
  }

  /** Take over a scene, with what is around it; what is pointed at and zoomed into stays so. */
  take(of, send) {
    this.of = of;
    this.paints = this.of.paint;
    this.send = send;
    join(this, this.of.group);
    if (this.paints) this.painting.take(this.paints.applied);
    const { rows, columns, alt } = this.of;
    if (this.cell.row >= rows.length || this.cell.column >= columns.length) this.cell = NOTHING;
    this.surface ??= surface(this.body, this.view);
    this.surface.canvas.setAttribute("aria-label", alt);
    this.root.classList.toggle("paint", Boolean(this.paints));
    this.offer();
    this.follow(this.cell);
  }

  /** @returns {Scene} */
  scene() {
    return this.of;
  }

  lit() {
    return this.cell;
  }

  redraw() {
    this.surface.redraw();
  }

  light(cell, place) {
    if (cell.row === this.cell.row && cell.column === this.cell.column) return;
    this.follow(cell);
    for (const other of linked(this, this.of.group)) other.follow(cell);
    if (place === "cell") this.spoken.textContent = this.said(cell) ?? ""; // who moves by keys may not see the picture
  }

  pin(cell) {
    if (cell.row === null) this.light(NOTHING, null);
  }

  zoomed() {
    for (const other of linked(this, this.of.group)) {
      other.view.part = this.view.part;
      other.redraw();
    }
  }

  /** Point at a cell, whoever found it. */
  follow(cell) {
    this.cell = cell;
    const [said, place] = [this.said(cell), this.view.middle(cell)];
    if (said && place) this.tip.show(this.surface.canvas, place, [said]);
    else this.tip.hide();
    this.redraw();
  }

  /** Return what there is to say of a cell; null: nothing. */
  said({ row, column }) {
    if (row === null) return null;
    const value = valueAt(this.of, row, column);
    const sentence = this.of.says[Number.isNaN(value) ? 1 : 0];
    const digits = value.toFixed(this.of.digits ?? DIGITS);
    const named = { row: this.of.rows[row], column: this.of.columns[column], value: digits };
    named.change = value > 0 ? `+${digits}` : digits;
    return sentence?.replace(/\{(\w+)\}/g, (_, name) => named[name]);
  }

  /** Show the buttons below the matrix, and its table if it is open. */
  offer() {
    const { words } = this.of;
    if (this.tools.lastChild?.textContent !== words.table) {
      const kinds = ["png", "svg", "csv"].map((kind) => button(kind.toUpperCase(), () => this.download(kind)));
      const opens = button(words.table, () => {
        this.table.hidden = !this.table.hidden;
        this.offer();
      });
      this.tools.replaceChildren(...kinds, opens);
    }
    this.tools.lastChild.setAttribute("aria-expanded", !this.table.hidden);
    this.table.replaceChildren(...(this.table.hidden ? [] : [tableOf(this.of, words.rows, words.largest)]));
  }

  async download(kind) {
    const { background, text: colour, font } = this.theme;
    const around = { background, colour, font, titles: [this.of.title] };
    const blob =
      kind === "csv" ? new Blob([csvOf(this.of, PRECISION)], { type: "text/csv" }) : await this.surface.picture(kind, around);
    save(blob, `${this.of.name}.${kind}`);
  }
}

function button(text, press) {
  const made = element("button", { type: "button", textContent: text });
  made.addEventListener("click", press);
  return made;
}
