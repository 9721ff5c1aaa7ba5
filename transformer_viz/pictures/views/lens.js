// All views of a trace's attention, one at a time or side by side, with one selection.

import { cellText, figuresText, headTitle, pinnedText, saying, titlesOf } from "./captions.js";
import { Controls } from "./controls.js";
import { element } from "./element.js";
import { evidenceOf } from "./evidence.js";
import { download } from "./exports.js";
import { grid } from "./grid.js";
import { sceneOf } from "./head.js";
import { lines } from "./lines.js";
import { matrix } from "./matrix.js";
import { parse } from "./payload.js";
import { contextOf } from "./pen.js";
import { Selection } from "./selection.js";
import { steps } from "./steps.js";
import { surface } from "./surface.js";
import { tableOf } from "./table.js";
import { looks, PageTheme } from "./theme.js";
import { tipOf } from "./tip.js";

/** @import {Count} from "./captions.js" */
/** @import {FileKind} from "./controls.js" */
/** @import {Drawn, ExportsHost} from "./exports.js" */
/** @import {Hovered} from "./grid.js" */
/** @import {Start, State, Token, ViewName} from "./selection.js" */
/** @import {Scene} from "./scene.js" */
/** @import {Surface, View} from "./surface.js" */
/** @import {Point} from "./tip.js" */

/**
 * The page around a lens.
 *
 * @typedef {object} LensHost
 * @property {(model: string) => Start} start Returns the first selection.
 * @property {(choice: {model: string, kind: string, layer: number, head: number, view: ViewName}) => void} remember
 *   Called when the selection changes.
 */

/** @typedef {{panel: HTMLElement, title: HTMLElement, surface: Surface}} Panel */

/** @type {Drawn[]} */
const VIEWS = ["grid", "matrix", "lines", "steps"];
const TOGETHER = VIEWS.slice(0, 3);

/**
 * Show a packed trace in an element; return functions that show another one, and remove the lens.
 *
 * @param {HTMLElement} root
 * @param {Uint8Array} bytes
 * @param {LensHost} host
 */
export function mount(root, bytes, host) {
  const lens = new Lens(root, bytes, host);
  return {
    update: (/** @type {Uint8Array} */ next) => lens.update(next),
    destroy: () => lens.destroy(),
  };
}

class Lens {
  /** @param {HTMLElement} root @param {Uint8Array} bytes @param {LensHost} host */
  constructor(root, bytes, host) {
    this.host = host;
    this.bytes = bytes;
    this.payload = parse(bytes);
    this.selection = new Selection(this.payload.attentions, host.start(this.payload.model));
    this.root = element("div", { className: "lens" });
    root.append(this.root);
    this.page = new PageTheme(this.root);
    this.lookOf = looks(this.payload.themes);
    /** @type {{from: unknown[], scene: Scene} | null} */
    this.drawn = null;
    this.count = { count: 0, of: 0 };

    const { selection, words, look, select, pin, redraw } = this;
    const point = (/** @type {Token} */ token) => this.point(token, null);
    const saves = (/** @type {FileKind} */ kind) => download(this.exported, kind);
    this.controls = new Controls({ selection, words, look, select, pin, redraw, download: saves });
    this.caption = element("p", { className: "says", ariaLive: "polite" });
    this.panels = element("div", { className: "panels" });
    this.tip = tipOf(this.root);
    this.announced = element("p", { className: "spoken", ariaLive: "polite" });
    this.root.append(this.controls.bar, this.caption, this.panels, this.tip.element, this.announced);
    this.matrix = matrix({
      scene: () => this.scene(),
      theme: () => this.page.theme,
      highlighted: () => ({ row: selection.state.query, column: selection.state.key }),
      highlight: ({ row, column }, place) => this.point({ query: row, key: column }, place),
      pin: ({ row, column }) => pin({ query: row, key: column }),
      redraw,
    });
    this.views = {
      grid: this.panel("grid", grid({ selection, look, select, hover: (head, place) => this.hover(head, place) })),
      matrix: this.panel("matrix", this.matrix),
      lines: this.panel("lines", lines({ selection, words, look, point, pin, counted: (count) => this.title(count) })),
      steps: this.panel("steps", steps({ selection, words, look, point, pin })),
    };
    this.evidence = element("section", { className: "panel evidence" });
    this.panels.append(this.evidence);
    this.table = element("details", { className: "table" });
    this.table.addEventListener("toggle", () => this.fillTable());
    this.root.append(this.controls.below, this.table);
    this.root.addEventListener("transitionend", redraw); // another theme has another colour of text
    this.show();
  }

  words = () => this.payload.words;
  look = () => this.lookOf(this.page.theme);

  /** @returns {ExportsHost} */
  get exported() {
    const { selection, words } = this;
    return {
      ...{ selection, words, model: () => this.payload.model, theme: () => this.page.theme, scene: () => this.scene() },
      titles: () => titlesOf(selection, words(), this.count),
      picture: (view, kind, around) => this.views[view].surface.picture(kind, around),
    };
  }

  /** @param {Drawn} name @param {View} view @returns {Panel} */
  panel(name, view) {
    const [title, body] = [element("h4", {}), element("div", { className: "body" })];
    const panel = element("section", { className: `panel ${name}` }, title, body);
    this.panels.append(panel);
    return { panel, title, surface: surface(body, view, this.page.read) };
  }

  /** Show another payload; the selection is kept where it still exists in the same model. @param {Uint8Array} bytes */
  update(bytes) {
    if (bytes === this.bytes) return;
    const { model } = this.payload;
    this.bytes = bytes;
    this.payload = parse(bytes);
    this.lookOf = looks(this.payload.themes);
    this.page.read();
    this.selection.update(this.payload.attentions);
    if (model !== this.payload.model) this.open();
    this.show();
  }

  /** Open another model on a head of its own. */
  open() {
    this.selection.open({});
    this.remember();
  }

  remember() {
    const { kind, layer, head, view } = this.selection.state;
    this.host.remember({ model: this.payload.model, kind, layer, head, view });
  }

  /** Write the texts of the payload. */
  show() {
    const words = this.words();
    this.controls.offer();
    for (const name of VIEWS) this.views[name].surface.canvas.setAttribute("aria-label", words[name]);
    this.fillTable();
    this.showSelection();
  }

  showSelection() {
    const { view } = this.selection.state;
    this.controls.update();
    this.panels.dataset.view = view;
    for (const name of VIEWS) this.views[name].panel.hidden = view === "all" ? !TOGETHER.includes(name) : view !== name;
    this.evidence.hidden = view !== "all";
    this.redraw();
    this.describe();
  }

  /** Change the selection in all views. @param {Partial<State>} choice */
  select = (choice) => {
    this.selection.select(choice);
    this.tip.hide();
    this.showSelection();
    this.remember();
    if (this.table.open) this.fillTable();
  };

  /**
   * Highlight a row and a column, or a cell of the matrix.
   *
   * @param {Token} token
   * @param {Point | "cell" | null} place Where the tooltip is: at a point, at the cell itself, or nowhere.
   */
  point(token, place) {
    const changed = this.selection.point(token);
    const { query, key } = token;
    if (place && query !== null && key !== null) this.describeCell(query, key, place);
    else this.tip.hide();
    if (changed) this.redraw();
  }

  /** Pin a token or a cell, or release it. @param {Token} token */
  pin = (token) => {
    this.selection.pin(token);
    this.redraw();
    this.describe();
    if (this.selection.state.view === "steps") this.controls.update(); // the menu of the queries
    if (this.table.open) this.fillTable();
  };

  /** The selected head as a matrix; the same object until the selection changes. */
  scene() {
    const { attention, state } = this.selection;
    const look = this.look();
    const from = [attention, look.ramps, state.layer, state.head, state.value, state.scale];
    if (!this.drawn || from.some((each, i) => each !== this.drawn?.from[i])) {
      this.drawn = { from, scene: sceneOf(this.selection, this.words(), look) };
    }
    return this.drawn.scene;
  }

  redraw = () => {
    for (const name of VIEWS) this.views[name].surface.redraw();
    this.title(this.count);
  };

  /** Write the titles of the views. @param {Count} lines */
  title(lines) {
    this.count = lines;
    const titles = titlesOf(this.selection, this.words(), lines);
    for (const name of VIEWS) this.views[name].title.textContent = titles[name];
  }

  /** Describe the selected head, and the pinned cell. */
  describe() {
    const { attention, state } = this.selection;
    const words = this.words();
    const name = element("strong", { textContent: headTitle(attention, state) + words.stop });
    this.caption.replaceChildren(name, saying(attention, state), pinnedText(this.selection, words));
    const role = attention.roles[state.layer * attention.heads + state.head];
    this.evidence.replaceChildren(...evidenceOf(attention.measured(state.layer, state.head), role, words));
  }

  /** @param {number} query @param {number} key @param {Point | "cell"} place */
  describeCell(query, key, place) {
    const text = cellText(this.selection, this.words(), query, key);
    if (place === "cell") this.announced.textContent = text; // to a screen reader
    const at = place === "cell" ? this.matrix.middle({ row: query, column: key }) : place;
    if (at) this.tip.show(this.views.matrix.surface.canvas, at, [text]);
  }

  /** Show an enlarged thumbnail beside the pointer. @param {Hovered | null} head @param {Point} place */
  hover(head, place) {
    this.tip.hide();
    if (!head) return;
    const { attention } = this.selection;
    const { image, columns, rows } = head.thumbnail;
    const picture = element("canvas", { width: columns, height: rows });
    contextOf(picture).drawImage(image, 0, 0);
    const name = element("strong", { textContent: headTitle(attention, head) });
    const figures = figuresText(attention, this.words(), head.number);
    this.tip.show(this.views.grid.surface.canvas, place, [picture, name, saying(attention, head), figures]);
  }

  /** Fill the table of the selected head, for screen readers. */
  fillTable() {
    const words = this.words();
    this.table.replaceChildren(element("summary", { textContent: words.table }));
    if (this.table.open) this.table.append(tableOf(this.scene(), words.table_query, words.table_keys));
  }

  destroy() {
    for (const name of VIEWS) this.views[name].surface.destroy();
    this.root.remove();
  }
}
