// All views of a trace's attention, one at a time or side by side, with one selection.

import { cellText, figuresText, headTitle, pinnedText, saying, titlesOf } from "./captions.js";
import { Controls } from "./controls.js";
import { element } from "./element.js";
import { evidenceOf } from "./evidence.js";
import { download } from "./exports.js";
import { grid } from "./grid.js";
import { sceneOf } from "./head.js";
import { Heads } from "./heads.js";
import { lines } from "./lines.js";
import { matrix } from "./matrix.js";
import { placeOf } from "./order.js";
import { parse } from "./payload.js";
import { contextOf } from "./pen.js";
import { Selection } from "./selection.js";
import { Stage } from "./stage.js";
import { steps } from "./steps.js";
import { surface } from "./surface.js";
import { tableOf } from "./table.js";
import { looks, PageTheme } from "./theme.js";
import { tipOf } from "./tip.js";

/** @import {Count} from "./captions.js" */
/** @import {FileKind, OtherFile} from "./controls.js" */
/** @import {Drawn, ExportsHost} from "./exports.js" */
/** @import {Hovered} from "./heads.js" */
/** @import {Hovered as HoveredInGrid} from "./grid.js" */
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
 * @property {() => OtherFile[]} [files] More files that the page offers; none: no others.
 */

/** @typedef {{panel: HTMLElement, title: HTMLElement, surface: Surface}} Panel */

/** @type {Drawn[]} */
const VIEWS = ["grid", "matrix", "lines", "steps"];
const TOGETHER = VIEWS.slice(1, 3);

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
    this.tall = 0; // height of a view, in pixels

    const { selection, words, look, select, pin, redraw } = this;
    const point = (/** @type {Token} */ token) => this.point(token, null);
    const saves = (/** @type {FileKind} */ kind) => download(this.exported, kind);
    const files = host.files ?? (() => []);
    this.controls = new Controls({ selection, words, look, select, pin, redraw, files, download: saves });
    this.heads = new Heads({ selection, words, look, select, hover: (head) => this.hoverHead(head) });
    this.caption = element("h2", { className: "says" });
    this.place = element("p", { className: "place" });
    const said = element("div", { className: "said", ariaLive: "polite" }, this.caption, this.place);
    this.panels = element("div", { className: "panels" });
    this.tip = tipOf(this.root);
    this.announced = element("p", { className: "spoken", ariaLive: "polite" });
    const top = element("div", { className: "top" }, said, this.controls.top);
    this.root.append(top, this.controls.bar, this.panels, this.tip.element, this.announced);
    this.stage = new Stage(this.panels, () => this.fit());
    this.matrix = matrix({
      scene: () => this.scene(),
      theme: () => this.page.theme,
      highlighted: () => ({ row: selection.state.query, column: selection.state.key }),
      highlight: ({ row, column }, place) => this.point({ query: row, key: column }, place),
      pin: ({ row, column }) => pin({ query: row, key: column }),
      redraw,
    });
    const aligned = () => (selection.state.view === "all" ? this.matrix.drawing()?.at : undefined);
    const tall = () => this.tall;
    this.views = {
      grid: this.panel("grid", grid({ selection, look, select, hover: (head, place) => this.hover(head, place) })),
      matrix: this.panel("matrix", this.matrix),
      lines: this.panel("lines", lines({ ...{ selection, words, look, point, pin, tall, aligned }, counted: (count) => this.title(count) })),
      steps: this.panel("steps", steps({ selection, words, look, point, pin })),
    };
    this.evidence = element("section", { className: "panel evidence" });
    this.column = element("div", { className: "column" }, this.heads.element, this.evidence);
    this.panels.prepend(this.column);
    this.table = element("details", { className: "table" });
    this.table.addEventListener("toggle", () => this.fillTable());
    this.root.append(this.table);
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
    this.column.hidden = view === "grid";
    this.describe();
    this.fit();
  }

  /** Let the heads and the views fill the height that is left; a view has its title above it. */
  fit() {
    const { view } = this.selection.state;
    const { panel, surface } = this.views[view === "all" ? "matrix" : view];
    this.title(this.count);
    this.stage.measure();
    const above = (surface.canvas.parentElement?.offsetTop ?? 0) - panel.offsetTop;
    this.tall = this.stage.height - above;
    this.heads.fit(this.heads.element.clientWidth, this.stage.height);
    this.redraw();
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
    const { tall } = this;
    const from = [attention, look.ramps, state.layer, state.head, state.value, state.scale, tall];
    if (!this.drawn || from.some((each, i) => each !== this.drawn?.from[i])) {
      this.drawn = { from, scene: sceneOf(this.selection, this.words(), look, tall) };
    }
    return this.drawn.scene;
  }

  redraw = () => {
    this.heads.update();
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
    const several = Object.keys(this.selection.attentions).length > 1;
    const place = [several && attention.name, headTitle(attention, state)].filter(Boolean).join(" · ");
    this.caption.textContent = saying(attention, state);
    this.place.textContent = place + pinnedText(this.selection, words);
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

  /** Show an enlarged thumbnail beside its button. @param {Hovered | null} hovered */
  hoverHead(hovered) {
    this.tip.hide();
    if (!hovered) return;
    const { attention, number, image, button } = hovered;
    const picture = element("canvas", { width: image.width, height: image.height });
    contextOf(picture).drawImage(image, 0, 0);
    const head = placeOf(attention, number);
    const name = element("strong", { textContent: headTitle(attention, head) });
    const figures = figuresText(attention, this.words(), number);
    this.tip.show(button, [button.offsetWidth, 0], [picture, name, saying(attention, head), figures]);
  }

  /** Show an enlarged thumbnail beside the pointer. @param {HoveredInGrid | null} head @param {Point} place */
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
    this.controls.destroy();
    this.stage.destroy();
    this.root.remove();
  }
}
