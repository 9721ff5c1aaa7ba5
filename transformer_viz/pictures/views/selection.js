// The selection of a lens, shared by all its views. Nothing here draws.

import { openingRow, tokenOf } from "./openrow.js";
import { headsByUsualRole } from "./order.js";

const LONG = 60; // keys of a text from which on weak lines are left out

/** @import {Attention, Value} from "./payload.js" */

/**
 * "all": grid, matrix and lines side by side, or two runs and their difference; "masking": the steps of a mask; "ways": two
 * ways to mask.
 *
 * @typedef {"all" | "grid" | "matrix" | "lines" | "steps" | "masking" | "ways"} ViewName
 */

/** @typedef {"before" | "matrix" | "change" | MaskMatrix} MatrixName */

/** @typedef {"scores" | "mask" | "masked" | "softmax" | "added" | "multiplied"} MaskMatrix */

/** @typedef {{query: number | null, key: number | null}} Token A cell, a query alone, a key alone, or nothing. */

/**
 * @typedef {object} State
 * @property {string} kind Of attention.
 * @property {number} layer
 * @property {number} head
 * @property {ViewName} view
 * @property {Value} value What the matrix shows.
 * @property {"head" | "one"} scale Where the colour scale of the weights ends: at the head's own `weightLimit`, or at 1.
 * @property {number | null} threshold Smallest weight that is a line; null: the default.
 * @property {boolean} projected Whether the views are drawn larger, for a projector.
 * @property {string} sort Name of a figure to sort the heads by; any other: by layer and head.
 * @property {string | null} role Its heads stay lit in the view of all heads.
 * @property {string | null} pointedRole Its heads are lit as long as it is pointed at.
 * @property {string} sentences Lines to show: "every", "within", "between", or a pair such as "0-1".
 * @property {Set<number>} shown Heads whose lines are shown.
 * @property {number | null} query Pointed at.
 * @property {number | null} key Pointed at.
 * @property {Token} pinned
 */

/** @typedef {{kind?: string | null, layer?: number | null, head?: number | null}} Place What is unknown is the model's. */

/** @typedef {Partial<Omit<State, keyof Place>> & Place} Start */

/** What the matrix can show of a single run. */
export const VALUES = /** @type {const} */ (["weights", "scores", "masked", "norms", "effects"]);

/** The matrices of the views of a mask. */
export const MASKS = /** @type {const} */ ({
  masking: ["scores", "mask", "masked", "softmax"],
  ways: ["added", "multiplied"],
});

/** @param {string} view @returns {view is keyof typeof MASKS} */
export const isOfMask = (view) => view in MASKS;

/** @type {Token} */
export const NOTHING = { query: null, key: null };

const STILL = 0.0005; // a head of which less weight moved attends as before, as in compared.py

export class Selection {
  /**
   * @param {Record<string, Attention>} attentions
   * @param {Start} start Any layer, head and kind: they are corrected to existing ones.
   */
  constructor(attentions, start) {
    /** @type {State} */
    this.state = {
      ...{ view: "all", value: "weights", scale: "head", threshold: null, sort: "place" },
      projected: false,
      ...{ sentences: "every", shown: new Set(), ...NOTHING, pinned: NOTHING, role: null, pointedRole: null },
      ...start,
      ...{ kind: "", layer: 0, head: 0 },
    };
    /**
     * What was chosen, where less may be shown: mean, maximum and rollout have one head, and a comparison has not every view.
     */
    this.wanted = { layer: 0, head: 0, view: this.state.view };
    this.attentions = attentions;
    /** @type {{attention: Attention, layer: number, head: number, row: number} | null} */
    this.opening = null;
    this.open(start);
  }

  get attention() {
    return this.attentions[this.state.kind];
  }

  /**
   * Select a kind of attention, by default the last, and a head in it, by default the one on which it opens.
   *
   * @param {Start} start
   */
  open({ kind, layer, head, shown = new Set() }) {
    this.state.kind = this.existing(kind);
    const { opening } = this.attention;
    Object.assign(this.wanted, { layer: layer ?? opening[0], head: head ?? opening[1] });
    this.state.shown = shown;
    this.correct();
  }

  /**
   * Return a kind of attention if it exists, else the last.
   *
   * @param {string | null | undefined} kind
   */
  existing(kind) {
    const kinds = Object.keys(this.attentions);
    return kinds.find((each) => each === kind) ?? kinds[kinds.length - 1];
  }

  /**
   * Select from another payload; the selection is kept where it still exists, and what is pinned where the tokens are the
   * same. The first change of a comparison that leaves the selected head as it was opens the head that moved most.
   *
   * @param {Record<string, Attention>} attentions
   */
  update(attentions) {
    const moved = this.mostMoved().share >= STILL;
    const former = this.attention;
    if (this.isAlone()) this.state.shown = new Set();
    this.attentions = attentions;
    this.state.kind = this.existing(this.state.kind);
    Object.assign(this.state, NOTHING);
    if (!areOfOneText(former, this.attention)) this.state.pinned = NOTHING;
    this.correct();
    const { state, attention } = this;
    const [most, own] = [this.mostMoved(), movedOf(attention)[state.layer * attention.heads + state.head]];
    if (!moved && most.share >= STILL && own < STILL) this.open(most);
  }

  /** Return whether a head is the selected one. @param {Place} place */
  isAt({ kind, layer, head }) {
    return kind === this.state.kind && layer === this.state.layer && head === this.state.head;
  }

  /**
   * What a matrix and the lines show: weights, until effects that are wanted are known.
   *
   * @param {MatrixName} [matrix] Of two runs that are compared: before, now, or the difference; or a step of a mask.
   * @returns {Value}
   */
  value(matrix = "matrix") {
    const { value } = this.state;
    if (matrix === "softmax") return "weights";
    if (matrix !== "matrix" && matrix !== "before" && matrix !== "change") return matrix;
    const isEffect = value === "effects" && this.attention.effects()?.cells !== undefined;
    if (matrix !== "matrix") return isEffect ? `effects_${matrix}` : matrix;
    return value === "effects" && !isEffect ? "weights" : value;
  }

  /** The head that does most to the answer, among all kinds of attention; null: unknown. */
  strongest() {
    /** @type {{kind: string, layer: number, head: number} | null} */
    let found = null;
    let most = 0;
    for (const [kind, { heads, effects }] of Object.entries(this.attentions)) {
      for (const [number, effect] of (effects()?.heads ?? []).entries()) {
        if (Math.abs(effect ?? 0) <= most) continue;
        most = Math.abs(effect ?? 0);
        found = { kind, layer: Math.floor(number / heads), head: number % heads };
      }
    }
    return found;
  }

  /** The head whose weights moved most between two runs, among all kinds of attention; a share of 0: none did. */
  mostMoved() {
    const found = { kind: this.state.kind, layer: 0, head: 0, share: 0 };
    for (const [kind, attention] of Object.entries(this.attentions)) {
      for (const [number, share] of movedOf(attention).entries()) {
        if (share <= found.share) continue;
        Object.assign(found, {
          kind,
          layer: Math.floor(number / attention.heads),
          head: number % attention.heads,
          share,
        });
      }
    }
    return found;
  }

  /** Whether the lines are those of the selected head alone. */
  isAlone() {
    const { head, shown } = this.state;
    return shown.size === 1 && shown.has(head);
  }

  /** Keep all parts of the selection within the selected attention. */
  correct() {
    const { state, attention, wanted } = this;
    state.layer = Math.min(wanted.layer, attention.layers - 1);
    state.head = Math.min(wanted.head, attention.heads - 1);
    const shown = [...state.shown].filter((head) => head < attention.heads);
    state.shown = new Set(shown.length ? shown : [state.head]);
    if (!this.usualRoles().has(state.role ?? "")) state.role = null;
    state.pointedRole = null;
    if (!this.pairs().includes(state.sentences)) state.sentences = "every";
    if (!attention.hasScores && state.value !== "effects") state.value = "weights";
    if (!(state.sort in attention.figures)) state.sort = "place";
    const { query, key } = state.pinned;
    if ((query ?? 0) >= attention.queries || (key ?? 0) >= attention.keys) state.pinned = NOTHING;
    const hasMask = attention.isCompared && attention.hasScores;
    const { view } = wanted;
    const isThere = isOfMask(view) ? hasMask : !attention.isCompared || view === "grid";
    state.view = isThere ? view : "all";
  }

  /**
   * Change a part of the selection.
   *
   * @param {Partial<State>} choice
   */
  select(choice) {
    const { state } = this;
    const all = this.attention.heads > 1 && state.shown.size === this.attention.heads;
    Object.assign(state, NOTHING, choice);
    const head = this.attention.heads > 1 ? choice.head : undefined; // a single one is no choice
    const { layer, view } = choice;
    this.wanted = {
      layer: layer ?? this.wanted.layer,
      head: head ?? this.wanted.head,
      view: view ?? this.wanted.view,
    };
    if ("kind" in choice) Object.assign(state, { shown: new Set(), pinned: NOTHING });
    if (choice.head !== undefined && !choice.shown) state.shown = new Set([choice.head]);
    else if ("layer" in choice && !all) state.shown = new Set([state.head]);
    this.correct();
  }

  /**
   * Point at a token or a cell; return whether it is another than before.
   *
   * @param {Token} token
   */
  point({ query, key }) {
    const { state } = this;
    const changed = state.query !== query || state.key !== key;
    Object.assign(state, { query, key });
    return changed;
  }

  /**
   * Pin a token or a cell; release it if it is pinned already.
   *
   * @param {Token} token
   */
  pin(token) {
    const { pinned } = this.state;
    const same = pinned.query === token.query && pinned.key === token.key;
    this.state.pinned = same ? NOTHING : token;
  }

  /** The token or cell that alone has lines: the one pointed at, else the pinned one. */
  focus() {
    const { query, key, pinned } = this.state;
    return query === null && key === null ? pinned : { query, key };
  }

  /**
   * The usual roles that can be lit, with the heads of each: only the view of all heads shows them.
   *
   * @returns {Map<string, number[]>}
   */
  usualRoles() {
    return this.state.view === "grid" ? headsByUsualRole(this.attention) : new Map();
  }

  /** The role whose heads are lit: the one pointed at, else the one that is kept; null: all heads are alike. */
  litRole() {
    return this.state.pointedRole ?? this.state.role;
  }

  /**
   * Smallest weight that is a line. By default at most 0.02, and not more than 1.5 times the uniform weight; in long
   * texts 0.05, as thousands of weak lines hide the strong ones.
   */
  threshold() {
    const { keys } = this.attention;
    return this.state.threshold ?? (keys > LONG ? 0.05 : Math.min(0.02, 1.5 / keys));
  }

  /** Choices of `sentences`; none in a text of one sentence. */
  pairs() {
    const { querySentences, keySentences } = this.attention;
    const count = Math.max(...querySentences, ...keySentences) + 1;
    if (count < 2) return [];
    return ["every", "within", "between", ...(count === 2 ? ["0-0", "0-1", "1-0", "1-1"] : [])];
  }

  /**
   * Return whether lines from a query to a key are shown, by the sentences of both.
   *
   * @returns {(query: number, key: number) => boolean}
   */
  passes() {
    const { querySentences: from, keySentences: to } = this.attention;
    const { sentences } = this.state;
    if (sentences === "every") return () => true;
    if (sentences === "within") return (query, key) => from[query] === to[key];
    if (sentences === "between") return (query, key) => from[query] !== to[key];
    const [one, other] = sentences.split("-").map(Number);
    return (query, key) => from[query] === one && to[key] === other;
  }

  /** The query whose row is shown step by step: the pinned one, else the one pointed at, else the one that says most. */
  row() {
    const { query, pinned } = this.state;
    return pinned.query ?? query ?? this.openingRow();
  }

  /** The row on which the selected head opens; it is looked for once. */
  openingRow() {
    const { attention, state, opening } = this;
    const { layer, head } = state;
    if (opening?.attention === attention && opening.layer === layer && opening.head === head)
      return opening.row;
    const row = openingRow(attention, layer, head);
    this.opening = { attention, layer, head, row };
    return row;
  }
}

/**
 * Return whether two payloads are of the same tokens, whatever is predicted after each.
 *
 * @param {Attention} one
 * @param {Attention} other
 */
function areOfOneText(one, other) {
  const textOf = (/** @type {Attention} */ { kind, queryTokens, keyTokens }) =>
    JSON.stringify([kind, queryTokens.map(tokenOf), keyTokens]);
  return textOf(one) === textOf(other);
}

/**
 * Return how much of each head's weight moved between two runs, as a share; none for a single run.
 *
 * @param {Attention} attention
 */
function movedOf({ figures }) {
  return (figures.moved ?? []).map((share) => share ?? 0);
}
