// All views of a trace's attention, one at a time or side by side, with one selection.

import {
  cellText,
  effectOfHead,
  headTitle,
  pinnedText,
  rowText,
  saying,
  titlesOf,
  usually,
  waysText,
} from "./captions.js";
import { CellGrid } from "./cellgrid.js";
import { css } from "./colour.js";
import { Controls } from "./controls.js";
import { element } from "./element.js";
import { enlarged, onCanvas, PROJECTED } from "./enlarged.js";
import { evidenceOf } from "./evidence.js";
import { download } from "./exports.js";
import { grid } from "./grid.js";
import { sceneOf } from "./head.js";
import { aboutHead, Heads } from "./heads.js";
import { lines } from "./lines.js";
import { matrix } from "./matrix.js";
import { paint } from "./paint.js";
import { parse } from "./payload.js";
import { hasPages, openMap, pipelineOf, reveal, showIn } from "./pipeline.js";
import { SAVED } from "./saving.js";
import { isOfMask, MASKS, NOTHING, Selection } from "./selection.js";
import { Stage } from "./stage.js";
import { steps } from "./steps.js";
import { paintAll, pictureOf, surface } from "./surface.js";
import { tableOf } from "./table.js";
import { looks, PageTheme, themeWith } from "./theme.js";
import { tipOf } from "./tip.js";

/** @import {Count} from "./captions.js" */
/** @import {FileKind, OtherFile} from "./controls.js" */
/** @import {Drawn, ExportsHost} from "./exports.js" */
/** @import {Hovered} from "./heads.js" */
/** @import {Act, Attention, CellEffects, LessonStart, Value} from "./payload.js" */
/** @import {Step} from "./pipeline.js" */
/** @import {Hovered as HoveredInGrid} from "./grid.js" */
/** @import {Box} from "./place.js" */
/** @import {MaskMatrix, MatrixName, Start, State, Token, ViewName} from "./selection.js" */
/** @import {Scene} from "./scene.js" */
/** @import {Surface, View} from "./surface.js" */
/** @import {Point} from "./tip.js" */

/**
 * The page around a lens.
 *
 * @typedef {object} LensHost
 * @property {(model: string) => Start} start Returns the first selection.
 * @property {(choice: {model: string} & Pick<State, "kind" | "layer" | "head" | "view" | "value" | "scale" | "sort"
 *   | "pinned" | "projected">) => void} remember Called when the selection changes.
 * @property {() => boolean} [wantsWhy] Whether the answer is to be explained, where it can be; none: it is.
 * @property {() => OtherFile[]} [files] More files that the page offers; none: no others.
 * @property {(kind: string, layer: number) => Promise<Uint8Array>} [vectors] Fetches the vectors of a layer.
 * @property {(cells: Box, allowed: boolean) => void} [paint] Called with the cells of the mask that were painted.
 * @property {(act: Act) => void} [act] Asks the server for a change of the run; none: nothing can be changed.
 */

/** @typedef {{run: string, kinds: Record<string, CellEffects>}} Effects On the answer of a run. */

/** @typedef {{panel: HTMLElement, title: HTMLElement, surface: Surface}} Panel */

/** @type {Drawn[]} */
const VIEWS = ["grid", "before", "matrix", "change", ...MASKS.masking, ...MASKS.ways, "lines", "steps"];

const NARROW = 928; // pixels from which on four matrices stand side by side, as in lens.css

/** @type {MaskMatrix[]} */
const OF_MASKS = [...MASKS.masking, ...MASKS.ways];

/** @type {{one: Drawn[], two: Drawn[]}} */
const TOGETHER = { one: ["matrix", "lines"], two: ["before", "matrix", "change"] };

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
    update: (/** @type {Uint8Array} */ next, /** @type {boolean} */ reopens) => lens.update(next, reopens),
    keep: () => lens.keep(),
    project: (/** @type {boolean} */ projected) => lens.select({ projected }),
    receive: (/** @type {Effects} */ found) => lens.receive(found),
    said: () => lens.payload.said ?? null,
    shape: () => lens.selection.attention,
    view: () => lens.selection.state.view,
    open: (/** @type {ViewName} */ view) => lens.select({ view }),
    fit: () => lens.fit() && lens.redraw(),
    destroy: () => lens.destroy(),
  };
}

class Lens {
  /** @param {HTMLElement} root @param {Uint8Array} bytes @param {LensHost} host */
  constructor(root, bytes, host) {
    this.host = host;
    this.payload = parse(bytes);
    const start = this.start();
    this.selection = new Selection(this.payload.attentions, start);
    this.isChosen = isHead(start); // by a person, an address or a lesson
    this.root = element("div", { className: "lens" });
    root.append(this.root);
    this.page = new PageTheme(this.root);
    this.lookOf = looks(this.payload.themes);
    /** @type {Partial<Record<Value, {from: unknown[], scene: Scene}>>} */
    this.drawn = {};
    this.count = { count: 0, of: 0 };
    this.line = ""; // which steps are shown
    /** @type {Attention | null} */
    this.fetching = null; // whose vectors are on their way
    /** @type {Uint32Array | null} */
    this.coloured = null; // scale of which the bars have the colours
    this.tall = 0; // height of a view, in pixels

    const { selection, words, look, select, pin, redraw, asksWhy } = this;
    const point = (/** @type {Token} */ token) => this.point(token, null);
    const saves = (/** @type {FileKind} */ kind) => download(this.exported, kind);
    const files = host.files ?? (() => []);
    const [acts, act] = [this.acts, (/** @type {Act} */ asked) => host.act?.(asked)];
    this.controls = new Controls({
      selection,
      words,
      look,
      select,
      pin,
      redraw,
      files,
      acts,
      act,
      asksWhy,
      download: saves,
    });
    this.heads = new Heads({
      ...{ selection, words, look, select, asksWhy, hover: (head) => this.hoverHead(head) },
      off: () => acts()?.heads.find(({ name }) => name === "ablate")?.among ?? null,
      toggle: (kind, layer, head) => act({ do: "head", name: "ablate", kind, layer, head }),
    });
    this.caption = element("h2", { className: "says" });
    this.usual = element("p", { className: "usual" });
    this.place = element("p", { className: "place", ariaLive: "polite" });
    const said = element("div", { className: "said", ariaLive: "polite" }, this.caption, this.usual);
    this.pipeline = element("div", {});
    const where = element("div", { className: "where" }, this.place, this.pipeline);
    this.panels = element("div", { className: "panels" });
    this.tip = tipOf(this.root);
    const top = element("div", { className: "top" }, said, this.controls.top);
    this.root.append(top, where, this.controls.bar, this.panels, this.tip.element);
    this.stage = new Stage(this.panels, () => this.fit() && this.redraw());
    const ofMasks = OF_MASKS.map((name) => [name, this.matrixOf(name)]);
    /** @type {Record<MatrixName, ReturnType<typeof matrix>>} */
    this.matrices = {
      before: this.matrixOf("before"),
      matrix: this.matrixOf("matrix"),
      change: this.matrixOf("change"),
      ...Object.fromEntries(ofMasks),
    };
    paint(this.matrices.mask, {
      scene: () => this.scene("mask"),
      highlighted: () => ({ row: selection.state.query, column: selection.state.key }),
      highlight: ({ row, column }, place) => this.point({ query: row, key: column }, place, "mask"),
      isOn: () => Boolean(this.painted()),
      stroke: (cells, allowed) => {
        this.redraw();
        host.paint?.(cells, allowed);
      },
    });
    this.matrix = this.matrices.matrix;
    /** @type {Partial<Record<Drawn, CellGrid>>} */
    this.cells = {};
    const aligned = () => (selection.state.view === "all" ? this.matrix.drawing()?.at : undefined);
    const tall = () => this.tall / this.factor();
    const counted = (/** @type {Count} */ count) => this.title(count);
    const tell = (/** @type {string} */ text, /** @type {Point} */ place) =>
      this.tip.show(this.views.steps.surface.canvas, onCanvas(place, this.factor()), [text]);
    this.views = {
      grid: this.panel(
        "grid",
        grid({ selection, look, select, tall, hover: (head, place) => this.hover(head, place) }),
      ),
      ...this.panelsOf(["before", "matrix", "change", ...OF_MASKS]),
      lines: this.panel("lines", lines({ selection, words, look, point, pin, tall, aligned, counted })),
      steps: this.panel("steps", steps({ selection, words, look, point, pin, tell })),
    };
    this.evidence = element("details", { className: "panel evidence", open: !this.asksWhy() });
    this.bars = element("p", { className: "bars" });
    this.column = element("div", { className: "column" }, this.heads.element, this.bars, this.evidence);
    this.panels.prepend(this.column);
    this.table = element("details", { className: "table" });
    this.table.addEventListener("toggle", () => this.fillTable());
    this.root.append(this.table);
    this.root.addEventListener("transitionend", redraw); // another theme has another colour of text
    if (!this.isChosen) this.openStrongest();
    this.show();
    this.ask(); // the view may be that of an earlier visit of the page
  }

  /**
   * Return a matrix of the selected head; those of two runs and of their difference point and zoom together.
   *
   * @param {MatrixName} name
   */
  matrixOf(name) {
    const { selection } = this;
    return matrix({
      scene: () => this.scene(selection.value(name)),
      theme: () => this.page.theme,
      highlighted: () => ({ row: selection.state.query, column: selection.state.key }),
      highlight: ({ row, column }, place) => this.point({ query: row, key: column }, place, name),
      pin: ({ row, column }) => this.pin({ query: row, key: column }),
      redraw: this.redraw,
      zoomed: () => {
        for (const other of Object.values(this.matrices)) other.part = this.matrices[name].part;
      },
    });
  }

  /** How the mask is painted, in a sentence; "": it cannot be. */
  painted = () => this.payload.said?.experiment?.painted ?? "";

  /** What can be changed in the run; none if there is no server to ask. */
  acts = () => (this.host.act ? this.payload.acts : undefined);

  /** How many times as large as usual the views are drawn. */
  factor = () => (this.selection.state.projected ? PROJECTED : 1);
  words = () => this.payload.words;
  look = () => this.lookOf(this.page.theme);

  /** @returns {ExportsHost} */
  get exported() {
    const { selection, words } = this;
    const light = this.payload.themes.light;
    const theme = () => (SAVED.light ? themeWith(light, this.page.theme.font) : this.page.theme);
    return {
      ...{ selection, words, model: () => this.payload.model, theme, scene: () => this.scene() },
      titles: () => this.titles(),
      changes: () => (this.payload.acts?.chips ?? []).map(({ text }) => text),
      answer: () => this.payload.answer,
      picture: (views, kind, around) => {
        const titles = this.titles();
        const parts = views.map((name) => ({
          ...this.views[name].surface.part(),
          title: views.length > 1 ? titles[name] : "",
        }));
        return this.page.within(theme(), () => pictureOf(parts, kind, around));
      },
    };
  }

  /** @param {MatrixName[]} names @returns {Record<MatrixName, Panel>} */
  panelsOf(names) {
    const made = names.map((name) => [name, this.matrixPanel(name)]);
    return Object.fromEntries(made);
  }

  /** @param {Drawn} name @param {View} view @returns {Panel} */
  panel(name, view) {
    const [title, body] = [element("h3", {}), element("div", { className: "body" })];
    const panel = element("section", { className: `panel ${name}` }, title, body);
    this.panels.append(panel);
    return { panel, title, surface: surface(body, enlarged(view, this.factor), this.page.read) };
  }

  /** Return the panel of a matrix, which keys and screen readers reach as a grid. @param {MatrixName} name */
  matrixPanel(name) {
    const { selection } = this;
    const view = this.matrices[name];
    const made = this.panel(name, view);
    this.cells[name] = new CellGrid({
      ...{ view, name: () => this.named(name), scene: () => this.scene(selection.value(name)) },
      highlighted: () => ({ row: selection.state.query, column: selection.state.key }),
      highlight: ({ row, column }, place) => this.point({ query: row, key: column }, place, name),
    });
    Object.assign(made.surface.canvas, { tabIndex: -1, ariaHidden: "true" });
    made.surface.canvas.after(this.cells[name].element);
    return made;
  }

  /**
   * Show another payload; the selection is kept where it still exists in the same model, or is that of the page around.
   *
   * @param {Uint8Array} bytes
   * @param {boolean} [reopens] Whether it is that of the page.
   */
  update(bytes, reopens) {
    const { model, lesson } = this.payload;
    const { kind, layer, head, pinned, view } = this.selection.state;
    this.payload = parse(bytes);
    this.lookOf = looks(this.payload.themes);
    this.page.read();
    this.selection.update(this.payload.attentions);
    if (reopens) this.restart();
    if (!this.isChosen) this.openStrongest();
    if (reopens) this.remember();
    else if (this.payload.lesson && this.payload.lesson.name !== lesson?.name) this.open(this.payload.lesson);
    else if (model !== this.payload.model) this.open({});
    else if (
      !this.selection.isAt({ kind, layer, head }) ||
      this.selection.state.pinned !== pinned ||
      this.selection.state.view !== view
    )
      this.remember();
    this.ask();
    this.show();
    paintAll();
  }

  /** The first selection. */
  start() {
    return { ...this.host.start(this.payload.model), ...this.payload.lesson };
  }

  /** Select what the page around says. */
  restart() {
    const start = this.start();
    Object.assign(this.selection, new Selection(this.payload.attentions, start));
    this.isChosen = isHead(start);
  }

  /** Tell the page around what is selected, unless that follows what does most to the answer. */
  keep() {
    if (this.isChosen || this.selection.attention.isCompared || !this.asksWhy()) this.remember();
  }

  /** Open another model on a head of its own, or a lesson on the head that it is about. @param {Partial<LessonStart>} start */
  open({ kind, layer, head, view }) {
    this.isChosen = layer !== undefined;
    if (view) this.selection.wanted.view = view;
    this.selection.state.pinned = NOTHING;
    this.selection.open({ kind, layer, head });
    if (!this.isChosen) this.openStrongest();
    this.remember();
  }

  /** Whether the effects on the answer are known, or follow. */
  asksWhy = () => {
    const follows = this.payload.run !== undefined && (this.host.wantsWhy?.() ?? true);
    return follows || this.selection.attention.effects() !== null;
  };

  /** Show the effects on this answer, which arrive after it. @param {Effects} found */
  receive(found) {
    if (found.run !== this.payload.run) return;
    for (const [kind, part] of Object.entries(found.kinds)) this.payload.attentions[kind].receive(part);
    if (!this.isChosen) this.openStrongest();
    this.showSelection();
  }

  /** Open the head that does most to the answer. */
  openStrongest() {
    if (this.selection.attention.isCompared) return; // it stays, or the one that moved most is shown
    const found = this.selection.strongest();
    if (found && !this.selection.isAt(found)) this.selection.open(found);
  }

  remember() {
    const { kind, view, value, scale, sort, pinned, projected } = this.selection.state;
    const place = { model: this.payload.model, kind, ...this.selection.wanted };
    this.host.remember({ ...place, view, value, scale, sort, pinned, projected });
    this.ask();
  }

  /** Fetch the vectors of the layer, if the step-by-step view has to show them and they are not there. */
  async ask() {
    const { attention, state } = this.selection;
    const { layer } = state;
    if (state.view !== "steps" || !attention.later || attention.hasVectors(layer)) return;
    if (this.fetching === attention || !this.host.vectors) return;
    this.fetching = attention;
    const bytes = await this.host.vectors(attention.kind, layer).catch(() => null);
    this.fetching = null;
    if (!bytes || attention !== this.selection.attention) return;
    attention.receiveVectors(bytes);
    this.showSelection();
    this.ask(); // the layer may be another one by now
  }

  /** Return what a view is, in a sentence. @param {Drawn} name @returns {string} */
  named(name) {
    if (name === "mask" && this.painted()) return this.painted();
    const words = this.words();
    /** @type {Partial<Record<Drawn, string>>} */
    const named = words;
    return named[name] ?? words.matrix;
  }

  /** Write the texts of the payload. */
  show() {
    this.controls.offer();
    for (const name of VIEWS) this.views[name].surface.canvas.setAttribute("aria-label", this.named(name));
    this.views.mask.panel.classList.toggle("painted", Boolean(this.painted()));
    this.fillTable();
    this.showSelection();
  }

  showSelection() {
    const { view, projected } = this.selection.state;
    this.controls.update();
    this.root.classList.toggle("projected", projected);
    this.root.classList.toggle("why", this.asksWhy());
    this.root.classList.toggle("taught", this.payload.lesson !== undefined); // what is said, the lesson says
    this.root.classList.toggle("tried", this.payload.said?.experiment !== undefined); // its menu needs room
    this.panels.dataset.view = view;
    const { isCompared } = this.selection.attention;
    const together = this.shown();
    this.panels.classList.toggle("compared", isCompared);
    for (const name of VIEWS) this.views[name].panel.hidden = !together.includes(name);
    this.column.hidden = view === "grid";
    this.explainBars();
    this.describe();
    this.fit();
    for (const name of VIEWS) if (!this.views[name].panel.hidden) this.cells[name]?.update();
    this.redraw();
  }

  /** The views that are shown. @returns {readonly Drawn[]} */
  shown() {
    const { view } = this.selection.state;
    if (isOfMask(view)) return MASKS[view];
    return view === "all" ? TOGETHER[this.selection.attention.isCompared ? "two" : "one"] : [view];
  }

  /** Let the heads and the views fill the height that is left; return whether it has changed. */
  fit() {
    const { view } = this.selection.state;
    const former = this.tall;
    const { panel, surface } = this.views[view === "all" ? "matrix" : this.shown()[0]];
    this.title(this.count); // a view has it above it
    this.stage.measure();
    const above = (surface.canvas.parentElement?.offsetTop ?? 0) - panel.offsetTop;
    const rows = view === "masking" && this.panels.clientWidth < NARROW ? 2 : 1;
    this.tall = this.stage.height / rows - above;
    const width = this.heads.element.clientWidth;
    this.column.style.setProperty("--stage", `${this.stage.height}px`);
    this.heads.fit(width, this.stage.height - this.bars.offsetHeight);
    return this.tall !== former;
  }

  /** Change the selection in all views. @param {Partial<State>} choice */
  select = (choice) => {
    if (["kind", "layer", "head"].some((part) => part in choice)) this.isChosen = true;
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
   * @param {MatrixName} [within] The matrix with that point.
   */
  point(token, place, within = "matrix") {
    const changed = this.selection.point(token);
    const { query, key } = token;
    if (place && query !== null && key !== null) this.describeCell(query, key, place, within);
    else this.tip.hide();
    if (changed) this.redraw();
  }

  /** Pin a token or a cell, or release it. @param {Token} token */
  pin = (token) => {
    this.selection.pin(token);
    this.redraw();
    this.describe();
    this.controls.update(); // the menu of the queries, and the edge that can be cut
    if (this.table.open) this.fillTable();
    this.remember();
  };

  /**
   * The selected head as a matrix; the same object until the selection changes.
   *
   * @param {Value} [value] What it shows, of two runs.
   * @returns {Scene}
   */
  scene(value = this.selection.value()) {
    const { attention, state } = this.selection;
    if (!attention.isCompared && value !== this.selection.value()) return this.scene();
    const look = this.look();
    const tall = this.tall / this.factor();
    const from = [
      attention,
      attention.effects(),
      look.ramps,
      state.layer,
      state.head,
      state.scale,
      tall,
      state.projected,
    ];
    const drawn = this.drawn[value];
    if (drawn && from.every((each, i) => each === drawn.from[i])) return drawn.scene;
    const scene = sceneOf(this.selection, this.words(), look, tall, value);
    this.drawn[value] = { from, scene };
    return scene;
  }

  redraw = () => {
    this.colourBars();
    this.heads.update();
    for (const name of VIEWS) this.views[name].surface.redraw();
    this.title(this.count);
  };

  /** The titles of the views; an experiment has its own. */
  titles() {
    const titles = titlesOf(this.selection, this.words(), this.count);
    return { ...titles, ...this.payload.said?.experiment?.titles };
  }

  /** Write the titles of the views. @param {Count} lines */
  title(lines) {
    this.count = lines;
    const titles = this.titles();
    for (const name of VIEWS) this.views[name].title.textContent = titles[name];
  }

  /** Describe the selected head, and the pinned cell. */
  describe() {
    const { attention, state } = this.selection;
    const words = this.words();
    const several = Object.keys(this.selection.attentions).length > 1;
    const place = [several && attention.name, headTitle(attention, state)].filter(Boolean).join(" · ");
    const ways = this.payload.said?.experiment?.ways;
    const isOfWays = ways !== undefined && state.view === "ways";
    this.caption.textContent = isOfWays ? waysText(attention, state, ways) : saying(attention, state);
    this.usual.textContent = isOfWays ? "" : usually(attention, state);
    this.caption.title = this.asksWhy() ? this.caption.textContent : ""; // only its first lines may be seen
    this.place.textContent =
      [place, effectOfHead(this.selection, words)].filter(Boolean).join(" · ") +
      pinnedText(this.selection, words);
    const role = attention.roles[state.layer * attention.heads + state.head];
    this.showPipeline();
    this.evidence.replaceChildren(...evidenceOf(attention.measured(state.layer, state.head), role, words));
  }

  /** Give the bars under the heads the colours of the theme. */
  colourBars() {
    const { effects } = this.look().ramps;
    if (effects === this.coloured) return;
    this.coloured = effects;
    this.root.style.setProperty("--against", css(effects[0]));
    this.root.style.setProperty("--for", css(effects[255]));
  }

  /** Say what these bars are. */
  explainBars() {
    const words = this.words();
    this.bars.hidden = !this.asksWhy();
    const marked = (/** @type {"for" | "against"} */ side) =>
      element(
        "span",
        {},
        element("i", { className: `mark ${side}` }),
        words[side === "for" ? "speaks_for" : "speaks_against"],
      );
    this.bars.replaceChildren(`${words.bars} `, marked("for"), " ", marked("against"));
  }

  /** Show where in the model the selected head is; in the app, the other steps are a press away. */
  showPipeline() {
    const { pipeline, said } = this.payload;
    const { kind } = this.selection.state;
    const about = said?.experiment?.part;
    const now = JSON.stringify([kind, about, pipeline]);
    if (!pipeline) return;
    if (now === this.line) {
      reveal(this.pipeline); // what stands beside it may have left it less room
      return;
    }
    this.line = now;
    const isLit = (/** @type {Step} */ step, /** @type {string} */ stack) =>
      about ? step.part === about && stack === pipeline.stacks[0].stack : step.kind === kind;
    const press = (/** @type {Step} */ step, /** @type {string} */ stack) => {
      if (step.kind && !step.is_norm) this.select({ kind: step.kind });
      else openMap({ stack, part: step.part, layer: this.selection.state.layer });
    };
    showIn(this.pipeline, pipelineOf(pipeline, isLit, hasPages() ? press : null));
  }

  /**
   * @param {number} query
   * @param {number} key
   * @param {Point | "cell"} place
   * @param {MatrixName} within
   */
  describeCell(query, key, place, within) {
    const text = cellText(this.selection, this.words(), query, key, within);
    const row = rowText(this.selection.attention, query);
    const at = place === "cell" ? this.matrices[within].middle({ row: query, column: key }) : place;
    if (at)
      this.tip.show(
        this.views[within].surface.canvas,
        onCanvas(at, this.factor()),
        row ? [text, row] : [text],
      );
  }

  /** Show an enlarged thumbnail beside its button. @param {Hovered | null} hovered */
  hoverHead(hovered) {
    if (!hovered) return this.tip.hide();
    const { attention, number, thumbnail, button } = hovered;
    return this.tip.show(
      button,
      [button.offsetWidth, 0],
      aboutHead(attention, number, thumbnail, this.words()),
    );
  }

  /** Show an enlarged thumbnail beside the pointer. @param {HoveredInGrid | null} hovered @param {Point} place */
  hover(hovered, place) {
    if (!hovered) return this.tip.hide();
    const { number, thumbnail } = hovered;
    const parts = aboutHead(this.selection.attention, number, thumbnail, this.words());
    return this.tip.show(this.views.grid.surface.canvas, onCanvas(place, this.factor()), parts);
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

/** Return whether a selection names a head. @param {Start} start */
const isHead = ({ layer, head }) => (layer ?? head ?? null) !== null;
