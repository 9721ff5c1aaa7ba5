// The map of a model: the steps of its computation, what is read after each, and the tensors of one of them.

import { kept, written } from "./address.js";
import { button, group } from "./buttons.js";
import { css } from "./colour.js";
import { element } from "./element.js";
import { onKey } from "./keys.js";
import { detail } from "./mapdetail.js";
import { table } from "./maptable.js";
import { numbersIn } from "./numbers.js";
import { unpack } from "./payload.js";
import { openHeads, takeWanted } from "./pipeline.js";
import { fill } from "./text.js";
import { looks, PageTheme } from "./theme.js";
import { tipOf } from "./tip.js";

/** @import {Arrays, Said, Where} from "./payload.js" */
/** @import {Look, Palette} from "./theme.js" */
/** @import {Cell as At} from "./walking.js" */

/** @typedef {"reads" | "length" | "values"} Mode */

/** @typedef {{label: string, prob: number, kind: 0 | 1 | 2}} Cell What is read: 0 something else, 1 the token, 2 the answer. */

/**
 * A tensor; some of its positions may be left out.
 *
 * @typedef {object} Tensor
 * @property {string} name
 * @property {[rows: number, columns: number]} shape With all positions.
 * @property {string[]} [rows] Names of its rows; without them, they are positions.
 * @property {Where<"float16">} at
 * @property {number} zeros Share of zeros.
 * @property {[number, number]} limits
 * @property {number} end Of the colour scale.
 */

/**
 * The likeliest answers of the output layer.
 *
 * @typedef {object} Answers
 * @property {string} title
 * @property {[label: string, logit: string, prob: string]} columns
 * @property {{label: string, logit: number | null, prob: number}[][]} rows At each position, or only once.
 * @property {number} at The row of the answer.
 */

/**
 * A step of the computation, as Python packs it (pictures/map.py).
 *
 * @typedef {object} Place
 * @property {string} part
 * @property {number | null} layer
 * @property {string} title
 * @property {string} step Its name in a sentence.
 * @property {string} about
 * @property {string} how What it does to the stream, in a word.
 * @property {boolean} skipped Whether a residual connection leads around it.
 * @property {boolean} normed Whether its input is normalised.
 * @property {boolean} renormed Whether its output is, before the addition.
 * @property {string | null} kind Of attention.
 * @property {number[]} lengths Of the vector at each position.
 * @property {Tensor | null} stream After the step.
 * @property {Tensor[]} tensors
 * @property {Cell[]} [read] At each position.
 * @property {boolean} [whole] Whether the only cell is of all positions.
 * @property {Answers} [answers] Of the output layer.
 */

/**
 * @typedef {object} Stack
 * @property {string} stack
 * @property {string} name
 * @property {string[]} tokens
 * @property {number} of How many there are.
 * @property {number} first Number of the first one that is shown.
 * @property {string} [some] Which are shown, if not all.
 * @property {number} start The row that is followed first.
 * @property {Place[]} places
 */

/** @typedef {Record<string, string> & {modes: Record<Mode, string>}} Words */

/** @typedef {{model: string, language: string, words: Words, says: string, stacks: Stack[], themes: Record<string, Palette>, said?: Said}} Header */

/** @typedef {<D extends keyof Arrays>(where: Where<D>) => Arrays[D]} Read */

/**
 * What is selected.
 *
 * @typedef {object} State
 * @property {Mode} mode
 * @property {number} stack
 * @property {number | null} place Whose tensors are shown.
 * @property {number | null} row That is followed.
 * @property {number} step Place at which it is.
 */

const PACE = 1600; // milliseconds for each step
const MODES = /** @type {const} */ (["reads", "length", "values"]);

export class MapOfModel {
  /** @param {HTMLElement} root @param {Uint8Array} bytes */
  constructor(root, bytes) {
    this.open = (/** @type {string} */ kind, /** @type {number} */ layer) =>
      openHeads(this.header.model, kind, layer);
    this.root = element("div", { className: "map" });
    root.append(this.root);
    this.body = element("div", {});
    this.live = element("p", { className: "live", ariaLive: "polite" });
    this.page = new PageTheme(this.root);
    this.tip = tipOf(this.root);
    this.root.append(this.body, this.tip.element, this.live);
    /** @type {Map<string, At>} */
    this.stops = new Map();
    /** @type {State} */
    this.state = { mode: "reads", stack: 0, place: null, row: null, step: 0 };
    /** @type {number | undefined} */
    this.timer = undefined;
    onKey(this.root, ".follower button", (event) => this.key(event));
    this.root.addEventListener("transitionend", () => this.show()); // another theme has another colour of text
    const { header, array } = unpack(bytes);
    this.bytes = bytes;
    /** @type {Header} */
    this.header = header;
    /** @type {Read} */
    this.array = array;
    this.lookOf = looks(this.header.themes);
    this.numbers = numbersIn(this.header.language);
    this.state.stack = this.header.stacks.length - 1;
    const selected = kept(); // on the page of the heads
    this.selected = selected && selected.model === header.model ? selected : written();
    this.show();
    this.openWanted();
  }

  /** Show another payload; what was selected stays so in the same model. @param {Uint8Array} bytes */
  update(bytes) {
    if (bytes === this.bytes) return;
    this.stop();
    const { header, array } = unpack(bytes);
    const isSame = header.model === this.header.model;
    Object.assign(this, { bytes, header, array, lookOf: looks(header.themes) });
    this.numbers = numbersIn(header.language);
    this.selected = written(); // the text may be another one
    Object.assign(
      this.state,
      { row: null, step: 0 },
      isSame ? {} : { stack: header.stacks.length - 1, place: null },
    );
    this.show();
  }

  /** What the cells can show: a model without an output layer predicts nothing. @returns {readonly Mode[]} */
  get modes() {
    const predicts = this.header.stacks.some(({ places }) => places.some(({ read }) => read));
    return predicts ? MODES : MODES.filter((mode) => mode !== "reads");
  }

  get stack() {
    return this.header.stacks[this.state.stack];
  }

  /** Show the tensors of the step that was pressed on another page. */
  openWanted() {
    const wanted = takeWanted();
    if (!wanted) return;
    const stack = this.header.stacks.findIndex((each) => each.stack === wanted.stack);
    const places = this.header.stacks[stack]?.places ?? [];
    const place = places.findIndex(
      ({ part, layer }) => part === wanted.part && [null, wanted.layer].includes(layer),
    );
    if (place >= 0) this.select({ stack, place });
  }

  /** Change the selection. @param {Partial<State>} choice */
  select = (choice) => {
    Object.assign(this.state, choice);
    this.show();
    if (choice.place !== undefined) this.root.querySelector(".detail")?.scrollIntoView({ block: "nearest" });
  };

  show() {
    const { header, state, numbers, stopOf } = this;
    const { words } = header;
    this.page.read();
    if (!this.modes.includes(state.mode)) state.mode = "length";
    const look = this.lookOf(this.page.theme);
    const focused = this.focused()?.dataset.key;
    const says = element("h2", { className: "says", textContent: header.says });
    const told = state.row === null ? words.hint : this.told(state.row);
    const hint = element("p", {
      className: state.row === null ? "hint" : "hint told",
      textContent: told,
    });
    const modes = group(
      words.mode,
      ...this.modes.map((mode) =>
        button(words.modes[mode], mode, () => this.select({ mode }), { pressed: mode === state.mode }),
      ),
    );
    const said = element("div", { className: "said" }, says, hint);
    const above = element("div", { className: "above" }, said, this.follower(), modes);
    const select = this.select;
    const { array, start, tip } = this;
    const tables = header.stacks.map((stack, number) =>
      table({ stack, number, state, start, words, numbers, look, array, select, stopOf, tip }),
    );
    const place = state.place === null ? null : this.stack.places[state.place];
    const below = place
      ? detail({
          place,
          tokens: this.stack.tokens,
          row: state.row,
          words,
          numbers,
          look,
          array,
          open: this.open,
          stopOf,
          tip,
        })
      : element("p", { className: "hint", textContent: words.choose });
    const scrolled = [...this.body.querySelectorAll(".scroll")].map(({ scrollLeft }) => scrollLeft);
    this.body.replaceChildren(above, ...tables, this.legend(look), below);
    for (const [number, table] of tables.entries()) table.scrollLeft = scrolled[number] ?? 0;
    this.live.textContent = state.row === null ? "" : told;
    this.tip.hide();
    const again = focused && this.root.querySelector(`[data-key="${CSS.escape(focused)}"]`);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }

  /** @returns {HTMLElement | null} */
  focused = () => this.root.querySelector(":focus");

  /** Where the Tab key stops in a grid, at first in the first row; it is kept. @param {string} key @param {number} column */
  stopOf = (key, column) => {
    const stop = this.stops.get(key) ?? { row: 0, column };
    this.stops.set(key, stop);
    return stop;
  };

  /** What the colours of the cells mean. @param {Look} look */
  legend({ ramps }) {
    const { words } = this.header;
    const { mode } = this.state;
    const isClass = this.header.stacks.some(({ places }) => places.some(({ whole }) => whole));
    const reads = isClass ? ["final", "another"] : ["final", "own", "other"];
    const entries = { reads, length: ["lengths"], values: ["numbers"] }[mode];
    const [another, answer] = [ramps.diverging.slice(0, 128).reverse(), ramps.diverging.slice(128)];
    /** @type {Record<string, Uint32Array>} */
    const colours = { final: isClass ? answer : ramps.sequential, another };
    const marks = entries.map((name) => {
      const mark = element("i", { className: `mark ${name}` });
      if (colours[name]) mark.style.background = gradient(colours[name]);
      return element("span", {}, mark, element("span", { textContent: words[name] }));
    });
    return element("div", { className: "legend" }, ...marks);
  }

  /**
   * The row that is followed first: that of the pinned cell, else the one that Python has chosen.
   *
   * @returns {number}
   */
  get start() {
    const { stack, tokens, first, start } = this.stack;
    const { kind, pinned } = this.selected;
    const isOfStack = kind === null || (kind === "cross" ? "decoder" : kind) === stack;
    const row = (pinned?.query ?? Number.NaN) - first;
    return isOfStack && row in tokens ? row : start;
  }

  /** The buttons that carry one token through the model. */
  follower() {
    const { header, state, stack } = this;
    const { words } = header;
    const row = state.row ?? this.start;
    const last = stack.places.length - 1;
    const isRunning = this.timer !== undefined;
    const name = isRunning ? words.stop : fill(words.follow, { token: stack.tokens[row] });
    const follow = button(name, "follow", () => (isRunning ? this.stop(true) : this.follow(row)), {});
    if (state.row === null) follow.title = words.starts;
    const step = (/** @type {number} */ by) => () => this.step(row, state.row === null ? 0 : state.step + by);
    const [back, next] = [button("‹", "back", step(-1), {}), button("›", "next", step(1), {})];
    Object.assign(back, {
      ariaLabel: words.back,
      title: words.back,
      disabled: state.row === null || state.step === 0,
    });
    Object.assign(next, {
      ariaLabel: words.next,
      title: words.next,
      disabled: state.row !== null && state.step === last,
    });
    return element("div", { className: "follower" }, follow, back, next);
  }

  /** What happened to a position in the step at which it is. @param {number} row */
  told(row) {
    const { words } = this.header;
    const { places, tokens } = this.stack;
    const place = places[this.state.step];
    const cell = place.read?.[place.whole ? 0 : row];
    const facts = {
      step: place.title,
      token: tokens[row],
      length: this.numbers.decimal(place.lengths[row] ?? 0),
    };
    const at = place.layer === null ? "" : `${fill(words.layer, { layer: place.layer + 1 })} · `;
    if (!cell) return at + fill(words.told_length, facts);
    const read = { ...facts, label: cell.label, percent: this.numbers.percent(cell.prob) };
    return at + fill(place.part === "output" ? words.told_output : words.told, read);
  }

  /** Carry a token through the model; whoever wants less motion presses for each step. @param {number} row */
  follow(row) {
    this.step(row, 0);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.timer = window.setInterval(() => {
      if (!this.root.isConnected || this.state.step >= this.stack.places.length - 1) this.stop(true);
      else this.step(row, this.state.step + 1);
    }, PACE);
    this.show();
  }

  /** @param {number} row @param {number} step */
  step(row, step) {
    this.select({ row, step: Math.max(0, Math.min(step, this.stack.places.length - 1)) });
  }

  /** @param {boolean} [shown] Whether to draw that it has stopped. */
  stop(shown = false) {
    clearInterval(this.timer);
    this.timer = undefined;
    if (shown) this.show();
  }

  /** On the buttons that follow a token, the arrow keys go from step to step and from token to token. @param {KeyboardEvent} event */
  key({ key }) {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
    if (!by) return false;
    this.stop();
    const { row, step } = this.state;
    const last = this.stack.tokens.length - 1;
    if (row === null) this.step(this.start, 0);
    else this.step(Math.max(0, Math.min(row + by[0], last)), step + by[1]);
    return true;
  }
}

/** Return a ramp as a CSS image, from what is hardly sure to what is sure. @param {Uint32Array} ramp */
function gradient(ramp) {
  const colours = [0.3, 0.65, 1].map((share) => css(ramp[Math.round(share * (ramp.length - 1))]));
  return `linear-gradient(to right, ${colours.join()})`;
}
