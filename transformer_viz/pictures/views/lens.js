// The views side by side or one at a time, with one selection: what is chosen in one is chosen in all.

import { ramp } from "./colour.js";
import { Controls } from "./controls.js";
import { element } from "./element.js";
import { exportsOf } from "./exports.js";
import { grid } from "./grid.js";
import { lines } from "./lines.js";
import { Head, sceneOf } from "./head.js";
import { matrix } from "./matrix.js";
import { parse } from "./payload.js";
import { steps } from "./steps.js";
import { surface } from "./surface.js";
import { themeOf } from "./theme.js";
import { tipOf } from "./tip.js";

const VIEWS = { grid, matrix: (lens) => matrix(new Head(lens)), lines, steps };
const TOGETHER = ["grid", "matrix", "lines"];

/** Show what Python packed in an element; return {update, destroy}.
 *
 * `host` has `start` (what is chosen first: kind, layer, head, view) and `remember(choice)`, called when it changes.
 */
export function mount(root, bytes, host) {
  const lens = new Lens(root, host);
  lens.read(bytes);
  return {
    update: (next) => lens.read(next),
    destroy: () => lens.destroy(),
  };
}

class Lens {
  constructor(root, host) {
    this.host = host;
    this.root = element("div", { className: "lens" });
    root.append(this.root);
    this.state = {
      ...{ kind: null, layer: 0, head: 0, view: "all", value: "weights", scale: "head", threshold: null },
      ...{ sort: "place", sentences: "every", shown: new Set(), query: null, key: null, pinned: { query: null, key: null } },
      ...host.start,
    };
    this.surfaces = {};
  }

  /** Take over a payload; what was chosen stays chosen where it still exists. */
  read(bytes) {
    if (bytes === this.bytes) return;
    this.bytes = bytes;
    Object.assign(this, parse(bytes));
    this.tables = {};
    this.resolve();
    const kinds = Object.keys(this.attentions);
    if (!kinds.includes(this.state.kind)) this.state.kind = kinds.at(-1);
    this.state.pinned = { query: null, key: null };
    Object.assign(this.state, { query: null, key: null });
    this.fit();
    if (!this.controls) this.build();
    this.name();
    this.controls.update();
    this.arrange();
    this.say();
  }

  /** Keep layer, head and shown heads within the attention that is chosen. */
  fit() {
    const { state } = this;
    this.attention = this.attentions[state.kind];
    const { layers, heads } = this.attention;
    state.layer = Math.min(state.layer, layers - 1);
    state.head = Math.min(state.head, heads - 1);
    const shown = [...state.shown].filter((head) => head < heads);
    state.shown = new Set(shown.length ? shown : [state.head]);
    if (this.sentencePairs().every(([name]) => name !== state.sentences)) state.sentences = "every";
    if (!this.attention.scores && state.value !== "weights") state.value = "weights";
  }

  build() {
    this.controls = new Controls(this);
    this.says = element("p", { className: "says", ariaLive: "polite" });
    this.panels = element("div", { className: "panels" });
    this.tip = tipOf(this.root);
    this.spoken = element("p", { className: "spoken", ariaLive: "polite" });
    this.root.append(this.controls.bar, this.says, this.panels, this.tip.element, this.spoken);
    this.views = {};
    for (const [name, view] of Object.entries(VIEWS)) {
      const panel = element("section", { className: `panel ${name}` });
      const title = element("h4", {});
      const body = element("div", { className: "body" });
      panel.append(title, body);
      this.panels.append(panel);
      this.views[name] = Object.assign(view(this), { panel, title, prepare: () => this.resolve() });
      this.surfaces[name] = surface(body, this.views[name]);
    }
    this.table = element("details", { className: "table" });
    this.table.addEventListener("toggle", () => this.fillTable());
    this.root.append(this.controls.below, this.table);
    this.exports = exportsOf(this);
    this.root.addEventListener("transitionend", () => this.redraw()); // another theme has another colour of text
  }

  /** Write what a choice does not change. */
  name() {
    this.controls.below.replaceChildren(this.controls.downloads());
    for (const [name, { canvas }] of Object.entries(this.surfaces)) canvas.setAttribute("aria-label", this.words[name]);
    this.fillTable();
  }

  /** Read the colours and the font of the page: once a drawing, for they cost a look at the style of an element. */
  resolve() {
    this.theme = themeOf(this.root);
    const { name, font } = this.theme;
    const of = this.themes[name];
    this.tables[name] ??= { sequential: ramp(of.sequential), diverging: ramp(of.diverging) };
    Object.assign(this, { font, ramps: this.tables[name], colours: of.heads });
  }

  /** Choose; everything else follows. */
  select(choice) {
    const { state } = this;
    const all = this.attention.heads > 1 && state.shown.size === this.attention.heads;
    Object.assign(state, { query: null, key: null }, choice);
    this.tip.hide();
    if ("kind" in choice) Object.assign(state, { shown: new Set(), pinned: { query: null, key: null } });
    if ("head" in choice && !("shown" in choice)) state.shown = new Set([choice.head]);
    else if ("layer" in choice && !all) state.shown = new Set([state.head]);
    this.fit();
    this.controls.update();
    this.arrange();
    this.say();
    const { kind, layer, head, view } = state;
    this.host.remember({ kind, layer, head, view });
    if (this.table.open) this.fillTable();
  }

  /** Light a row and a column, of the matrix a cell; `place` is where to say what they hold. */
  light({ query, key }, place = null) {
    const { state } = this;
    const same = state.query === query && state.key === key;
    Object.assign(state, { query, key });
    if (place && query !== null && key !== null) this.hintCell(query, key, place);
    else this.tip.hide();
    if (!same) this.redraw();
  }

  /** Hold on to a token or a cell; the same once more lets go. */
  pin(token) {
    const { pinned } = this.state;
    const same = pinned.query === token.query && pinned.key === token.key;
    this.state.pinned = same ? { query: null, key: null } : token;
    this.redraw();
    this.say();
    if (this.state.view === "steps") this.controls.update(); // the row that is chosen there
    if (this.table.open) this.fillTable();
  }

  /** Query and key whose lines alone are seen: those pointed at, else those pinned. */
  focus() {
    const { query, key, pinned } = this.state;
    return query === null && key === null ? [pinned.query, pinned.key] : [query, key];
  }

  /** Weight below which no line is drawn; before anybody chooses, in long texts half as much again as evenly spread. */
  threshold() {
    return this.state.threshold ?? Math.min(0.02, 1.5 / this.attention.keys);
  }

  /** Which lines can be chosen by the sentences they lead from and to: [name, text]; none in a single sentence. */
  sentencePairs() {
    const { querySentences: from, keySentences: to } = this.attention;
    const count = Math.max(...from, ...to) + 1;
    if (count < 2) return [];
    const { every, within, between } = this.words;
    const pairs = count === 2 ? ["0-0", "0-1", "1-0", "1-1"] : [];
    const named = pairs.map((pair) => [pair, pair.split("-").map((number) => Number(number) + 1).join(" → ")]);
    return [["every", every], ["within", within], ["between", between], ...named];
  }

  /** Return whether a line from a query to a key is wanted, by the sentences they are of: (query, key) => boolean. */
  passes() {
    const { querySentences: from, keySentences: to } = this.attention;
    const wanted = this.state.sentences;
    if (wanted === "every") return () => true;
    if (wanted === "within") return (query, key) => from[query] === to[key];
    if (wanted === "between") return (query, key) => from[query] !== to[key];
    const [one, other] = wanted.split("-").map(Number);
    return (query, key) => from[query] === one && to[key] === other;
  }

  /** The query that is gone through step by step. */
  row() {
    const { query, pinned } = this.state;
    return pinned.query ?? query ?? this.attention.queries - 1;
  }

  /** The chosen head as a matrix; the same object until something else is chosen. */
  scene() {
    const { attention, ramps, state } = this;
    const { layer, head, value, scale } = state;
    const from = [attention, ramps, layer, head, value, scale];
    if (!from.every((each, i) => each === this.drawn?.from[i])) this.drawn = { from, scene: sceneOf(this) };
    return this.drawn.scene;
  }

  redraw() {
    for (const drawn of Object.values(this.surfaces)) drawn.redraw();
    this.title();
  }

  /** Show the panels of the chosen view. */
  arrange() {
    const { view } = this.state;
    this.panels.dataset.view = view;
    for (const [name, { panel }] of Object.entries(this.views)) panel.hidden = view === "all" ? !TOGETHER.includes(name) : view !== name;
    this.redraw();
  }

  title() {
    const { count, of } = this.views.lines.drawn();
    const strongest = fill(this.words.some, { count: thousands(count), of: thousands(of) });
    const some = of === 0 ? ` · ${this.words.no_line}` : count < of ? ` · ${strongest}` : "";
    const titles = {
      grid: fill(this.words.grid_title, { layers: this.attention.layers, heads: this.attention.heads }),
      matrix: `${this.headTitle()} · ${this.words.values[this.state.value]}`,
      lines: this.linesTitle() + some,
      steps: "",
    };
    for (const [name, text] of Object.entries(titles)) this.views[name].title.textContent = text;
  }

  /** What the chosen head is called. */
  headTitle({ layer, head } = this.state) {
    return fill(this.attention.headTitle, { layer: layer + 1, head: head + 1 });
  }

  /** What the layer is called with the heads whose lines are seen. */
  linesTitle() {
    const { layer, head, shown } = this.state;
    if (shown.size === 1 && shown.has(head)) return this.headTitle();
    const numbers = [...shown].sort((a, b) => a - b).map((number) => number + 1);
    const every = numbers.length === this.attention.heads;
    const heads = every ? `1–${numbers.length}` : numbers.join(", ");
    return fill(this.words.lines_title, { layer: layer + 1, heads });
  }

  /** Say in words what the chosen head does, and what is pinned. */
  say() {
    const { layer, head, pinned } = this.state;
    const name = element("strong", { textContent: this.headTitle() + this.words.stop });
    this.says.replaceChildren(name, this.saying(layer, head));
    if (pinned.query !== null && pinned.key !== null) {
      this.says.append(` ${this.words.pinned} ${this.cell(pinned.query, pinned.key)}`);
    }
  }

  saying(layer, head) {
    return this.attention.sayings[layer * this.attention.heads + head];
  }

  /** What one cell holds, in words. */
  cell(query, key) {
    const { layer, head, value } = this.state;
    const names = { query: this.attention.queryTokens[query], key: this.attention.keyTokens[key] };
    const said = fill(this.attention.allowed(head, query, key) ? this.words.cell : this.words.masked_cell, names);
    const number = this.attention.field(layer, head, value).data[query * this.attention.keys + key];
    return Number.isNaN(number) ? said : `${said} ${this.words.values[value]} ${number.toPrecision(4)}`;
  }

  hintCell(query, key, place) {
    const byKey = place === "cell";
    if (byKey) this.spoken.textContent = this.cell(query, key); // who moves by keys may not see the picture
    const at = byKey ? this.views.matrix.middle({ row: query, column: key }) : place;
    this.show(this.views.matrix.panel, at, [this.cell(query, key)]);
  }

  /** Enlarge a thumbnail beside the pointer, with its name and what it does; null: no more. */
  hint(number, place) {
    this.tip.hide();
    if (number === null) return;
    const [layer, head] = [Math.floor(number / this.attention.heads), number % this.attention.heads];
    const { image, columns, rows } = this.views.grid.thumbnail(number);
    const picture = element("canvas", { width: columns, height: rows });
    picture.getContext("2d").drawImage(image, 0, 0);
    const name = element("strong", { textContent: this.headTitle({ layer, head }) });
    const names = Object.keys(this.attention.figures).filter((name) => name !== "role");
    const figures = names.map((name) => `${this.words.sorts[name]} ${this.figure(name, number)}`);
    this.show(this.views.grid.panel, place, [picture, name, this.saying(layer, head), figures.join(" · ")]);
  }

  /** What one head is sorted by, as it is written. */
  figure(name, number) {
    const value = this.attention.figures[name][number];
    if (name === "role") return this.attention.roles[number];
    return value === null ? "–" : value.toPrecision(2);
  }

  show(panel, place, parts) {
    this.tip.show(panel.querySelector(".body canvas"), place, parts);
  }

  /** The chosen head as a table: what each query reads most, for who cannot see the picture. */
  fillTable() {
    this.table.replaceChildren(element("summary", { textContent: this.words.table }));
    if (this.table.open) this.table.append(this.exports.table());
  }

  destroy() {
    for (const drawn of Object.values(this.surfaces)) drawn.destroy();
    this.root.remove();
  }
}

/** Return a sentence with its {names} replaced. */
function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

const thousands = (number) => number.toLocaleString();
