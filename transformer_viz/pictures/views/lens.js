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
} from "./captions.js";
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
import { parse } from "./payload.js";
import { hasPages, openMap, pipelineOf, reveal, showIn } from "./pipeline.js";
import { SAVED } from "./saving.js";
import { Selection } from "./selection.js";
import { Stage } from "./stage.js";
import { steps } from "./steps.js";
import { paintAll, surface } from "./surface.js";
import { tableOf } from "./table.js";
import { looks, PageTheme, themeWith } from "./theme.js";
import { tipOf } from "./tip.js";

/** @import {Count} from "./captions.js" */
/** @import {FileKind, OtherFile} from "./controls.js" */
/** @import {Effects} from "./effects.js" */
/** @import {Drawn, ExportsHost} from "./exports.js" */
/** @import {Hovered} from "./heads.js" */
/** @import {Act, LessonStart, Value} from "./payload.js" */
/** @import {Step} from "./pipeline.js" */
/** @import {Hovered as HoveredInGrid} from "./grid.js" */
/** @import {Start, State, Token} from "./selection.js" */
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
 * @property {() => OtherFile[]} [files] More files that the page offers; none: no others.
 * @property {() => void} [askVectors] Asks for payloads that have the vectors.
 * @property {() => Effects | null} [effects] Returns the effects on an answer that arrived last.
 * @property {(told: (found: Effects) => boolean) => void} [followEffects] Calls it with those that arrive.
 * @property {(act: Act) => void} [act] Asks the server for a change of the run; none: nothing can be changed.
 */

/** @typedef {{panel: HTMLElement, title: HTMLElement, surface: Surface}} Panel */

/** @type {Drawn[]} */
const VIEWS = ["grid", "before", "matrix", "change", "lines", "steps"];

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
    const start = { ...host.start(this.payload.model), ...this.payload.lesson };
    this.selection = new Selection(this.payload.attentions, start);
    this.isChosen = (start.layer ?? start.head ?? null) !== null; // by a person, an address or a lesson
    this.root = element("div", { className: "lens" });
    root.append(this.root);
    this.page = new PageTheme(this.root);
    this.lookOf = looks(this.payload.themes);
    /** @type {Partial<Record<Value, {from: unknown[], scene: Scene}>>} */
    this.drawn = {};
    this.count = { count: 0, of: 0 };
    this.line = ""; // which steps are shown
    this.asked = false; // for the vectors of this view
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
    this.announced = element("p", { className: "spoken", ariaLive: "polite" });
    const top = element("div", { className: "top" }, said, this.controls.top);
    this.root.append(top, where, this.controls.bar, this.panels, this.tip.element, this.announced);
    this.stage = new Stage(this.panels, () => this.fit() && this.redraw());
    this.matrices = {
      before: this.matrixOf("before"),
      matrix: this.matrixOf("matrix"),
      change: this.matrixOf("change"),
    };
    this.matrix = this.matrices.matrix;
    const aligned = () => (selection.state.view === "all" ? this.matrix.drawing()?.at : undefined);
    const tall = () => this.tall / this.factor();
    const counted = (/** @type {Count} */ count) => this.title(count);
    this.views = {
      grid: this.panel(
        "grid",
        grid({ selection, look, select, hover: (head, place) => this.hover(head, place) }),
      ),
      before: this.panel("before", this.matrices.before),
      matrix: this.panel("matrix", this.matrix),
      change: this.panel("change", this.matrices.change),
      lines: this.panel("lines", lines({ selection, words, look, point, pin, tall, aligned, counted })),
      steps: this.panel("steps", steps({ selection, words, look, point, pin })),
    };
    this.evidence = element("details", { className: "panel evidence", open: !this.asksWhy() });
    this.bars = element("p", { className: "bars" });
    this.column = element("div", { className: "column" }, this.heads.element, this.bars, this.evidence);
    this.panels.prepend(this.column);
    this.table = element("details", { className: "table" });
    this.table.addEventListener("toggle", () => this.fillTable());
    this.root.append(this.table);
    this.root.addEventListener("transitionend", redraw); // another theme has another colour of text
    this.host.followEffects?.((found) => {
      if (this.root.isConnected) this.receive(found);
      return this.root.isConnected;
    });
    this.take();
    this.show();
    this.ask(); // the view may be that of an earlier visit of the page
  }

  /**
   * Return a matrix of the selected head; those of two runs and of their difference point and zoom together.
   *
   * @param {"before" | "matrix" | "change"} name
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
      titles: () => titlesOf(selection, words(), this.count),
      picture: (view, kind, around) =>
        this.page.within(theme(), () => this.views[view].surface.picture(kind, around)),
    };
  }

  /** @param {Drawn} name @param {View} view @returns {Panel} */
  panel(name, view) {
    const [title, body] = [element("h3", {}), element("div", { className: "body" })];
    const panel = element("section", { className: `panel ${name}` }, title, body);
    this.panels.append(panel);
    return { panel, title, surface: surface(body, enlarged(view, this.factor), this.page.read) };
  }

  /** Show another payload; the selection is kept where it still exists in the same model. @param {Uint8Array} bytes */
  update(bytes) {
    if (bytes === this.bytes) return;
    const { model, lesson } = this.payload;
    const { kind, layer, head, pinned } = this.selection.state;
    this.bytes = bytes;
    this.payload = parse(bytes);
    this.lookOf = looks(this.payload.themes);
    this.page.read();
    this.selection.update(this.payload.attentions);
    this.take();
    if (this.payload.lesson && this.payload.lesson.name !== lesson?.name) this.open(this.payload.lesson);
    else if (model !== this.payload.model) this.open({});
    else if (!this.selection.isAt({ kind, layer, head }) || this.selection.state.pinned !== pinned)
      this.remember();
    this.ask();
    this.show();
    paintAll();
  }

  /** Open another model on a head of its own, or a lesson on the head that it is about. @param {Partial<LessonStart>} start */
  open({ kind, layer, head, view }) {
    this.isChosen = layer !== undefined;
    if (view) this.selection.state.view = view;
    this.selection.open({ kind, layer, head });
    if (!this.isChosen) this.openStrongest();
    this.remember();
  }

  /** Whether the effects on the answer are known, or follow. */
  asksWhy = () => this.payload.run !== undefined || this.selection.attention.effects() !== null;

  /** Take the effects on this answer if they are there already. */
  take() {
    const found = this.host.effects?.();
    if (found && found.run === this.payload.run)
      for (const [kind, part] of Object.entries(found.kinds)) this.payload.attentions[kind].receive(part);
    if (!this.isChosen) this.openStrongest();
  }

  /** Show the effects on this answer, which arrive after it. @param {Effects} found */
  receive(found) {
    if (found.run !== this.payload.run) return;
    this.take();
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

  /** Ask once for the vectors, if the step-by-step view has to show them and they are not there. */
  ask() {
    const lacks = this.selection.state.view === "steps" && this.selection.attention.later;
    if (lacks && !this.asked) this.host.askVectors?.();
    this.asked = lacks;
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
    const { view, projected } = this.selection.state;
    this.controls.update();
    this.root.classList.toggle("projected", projected);
    this.root.classList.toggle("why", this.asksWhy());
    this.root.classList.toggle("taught", this.payload.lesson !== undefined); // what is said, the lesson says
    this.panels.dataset.view = view;
    const { isCompared } = this.selection.attention;
    const together = TOGETHER[isCompared ? "two" : "one"];
    this.panels.classList.toggle("compared", isCompared);
    for (const name of VIEWS)
      this.views[name].panel.hidden = view === "all" ? !together.includes(name) : view !== name;
    this.column.hidden = view === "grid";
    this.explainBars();
    this.describe();
    this.fit();
    this.redraw();
  }

  /** Let the heads and the views fill the height that is left; return whether it has changed. */
  fit() {
    const { view } = this.selection.state;
    const former = this.tall;
    const { panel, surface } = this.views[view === "all" ? "matrix" : view];
    this.title(this.count); // a view has it above it
    this.stage.measure();
    const above = (surface.canvas.parentElement?.offsetTop ?? 0) - panel.offsetTop;
    this.tall = this.stage.height - above;
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
   * @param {"before" | "matrix" | "change"} [within] The matrix with that point.
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
    this.usual.textContent = usually(attention, state);
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
    const { pipeline } = this.payload;
    const { kind } = this.selection.state;
    const now = JSON.stringify([kind, pipeline]);
    if (!pipeline) return;
    if (now === this.line) {
      reveal(this.pipeline); // what stands beside it may have left it less room
      return;
    }
    this.line = now;
    const press = (/** @type {Step} */ step, /** @type {string} */ stack) => {
      if (step.kind && !step.is_norm) this.select({ kind: step.kind });
      else openMap({ stack, part: step.part, layer: this.selection.state.layer });
    };
    showIn(
      this.pipeline,
      pipelineOf(pipeline, (step) => step.kind === kind, hasPages() ? press : null),
    );
  }

  /**
   * @param {number} query
   * @param {number} key
   * @param {Point | "cell"} place
   * @param {"before" | "matrix" | "change"} within
   */
  describeCell(query, key, place, within) {
    const text = cellText(this.selection, this.words(), query, key);
    const row = rowText(this.selection.attention, query);
    if (place === "cell") this.announced.textContent = text; // to a screen reader
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
