// Where a model looked at one step: the tokens it could read, tinted by the weight of one head or the mean of all.

import { weightLimit } from "./colour.js";
import { layOut } from "./direction.js";
import { element } from "./element.js";
import { contextOf } from "./pen.js";
import { fill } from "./text.js";
import { themeOf } from "./theme.js";

/** @import {Labels} from "./candidates.js" */

/**
 * The attention of one step, of one kind.
 *
 * @typedef {object} Looked
 * @property {string} name
 * @property {string[]} tokens The keys.
 * @property {number} layers
 * @property {number} heads
 * @property {string} weights float32 (layer, head, key) in base64.
 * @property {[layer: number, head: number] | null} opening The head that is shown first; null: the mean.
 */

/** @typedef {Looked & {numbers: Float32Array}} Unpacked */

const STRONGEST = 55; // percent of the primary colour behind the token with the most weight, on which letters can be read
const LEAST = 0.05; // smallest weight that is written below a token

/** The attention of a step, with the choice of a head, which stays when the step changes. */
export class LookedAt {
  constructor() {
    this.kinds = element("div", { className: "kinds", role: "group" });
    this.said = element("p", { className: "said" });
    this.text = element("p", { className: "tokens" });
    this.grid = element("div", { className: "heads", role: "group" });
    this.element = element("div", { className: "looked" }, this.kinds, this.said, this.text, this.grid);
    this.kind = "";
    /** @type {Record<string, [layer: number, head: number] | null>} */
    this.chosen = {};
    /** @type {Record<string, Unpacked>} */
    this.attention = {};
    /** @type {Labels} */
    this.labels = {};
  }

  /**
   * @param {Record<string, Looked>} attention By kind.
   * @param {Labels} labels
   */
  update(attention, labels) {
    this.labels = labels;
    this.attention = Object.fromEntries(
      Object.entries(attention).map(([kind, looked]) => [kind, unpacked(looked)]),
    );
    if (!(this.kind in attention)) this.kind = Object.keys(attention)[0];
    for (const [kind, { opening }] of Object.entries(attention))
      if (!(kind in this.chosen)) this.chosen[kind] = opening;
    this.show();
  }

  show() {
    const focused = this.element.querySelector(":focus")?.getAttribute("data-key");
    const looked = this.attention[this.kind];
    const [layer, head] = this.chosen[this.kind] ?? [-1, -1];
    const names = Object.entries(this.attention);
    this.kinds.replaceChildren(
      ...(names.length > 1 ? names : []).map(([kind, { name }]) => {
        return this.button(`kind-${kind}`, name, kind === this.kind, () => (this.kind = kind));
      }),
    );
    const weights = layer < 0 ? mean(looked) : weightsOf(looked, layer, head);
    this.said.textContent =
      layer < 0 ? this.labels.mean_said : fill(this.labels.head, { layer: layer + 1, head: head + 1 });
    layOut(this.text, looked.tokens, tinted(looked.tokens, weights));
    this.reveal(weights.indexOf(Math.max(...weights)));
    this.grid.ariaLabel = this.labels.heads;
    const choose = (/** @type {[number, number] | null} */ place) => () => (this.chosen[this.kind] = place);
    const rows = Array.from({ length: looked.layers }, (_, row) => {
      const strips = Array.from({ length: looked.heads }, (_, column) => {
        const said = fill(this.labels.head, { layer: row + 1, head: column + 1 });
        const button = this.button(
          `${row}-${column}`,
          "",
          row === layer && column === head,
          choose([row, column]),
        );
        Object.assign(button, { className: "strip", title: said, ariaLabel: said });
        button.append(this.strip(weightsOf(looked, row, column)));
        return button;
      });
      return element(
        "div",
        { className: "layer" },
        element("span", { textContent: fill(this.labels.layer, { layer: row + 1 }) }),
        ...strips,
      );
    });
    this.grid.replaceChildren(this.button("mean", this.labels.mean, layer < 0, choose(null)), ...rows);
    /** @type {HTMLElement | null} */
    const again = focused ? this.element.querySelector(`[data-key="${focused}"]`) : null;
    again?.focus({ preventScroll: true });
  }

  /**
   * Scroll the text, if it is long, to a token; only then it takes the keyboard.
   *
   * @param {number} key
   */
  reveal(key) {
    const { text } = this;
    const token = text.querySelectorAll("span")[key];
    if (token) text.scrollTop = token.offsetTop - text.clientHeight / 2;
    if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
    else text.removeAttribute("tabindex");
  }

  /**
   * @param {string} key
   * @param {string} label
   * @param {boolean} isPressed
   * @param {() => void} choose
   */
  button(key, label, isPressed, choose) {
    const button = element("button", { textContent: label, ariaPressed: `${isPressed}` });
    button.dataset.key = key;
    button.onclick = () => {
      choose();
      this.show();
    };
    return button;
  }

  /**
   * Return the weights of a head as a strip, one pixel for each key.
   *
   * @param {Float32Array} weights
   */
  strip(weights) {
    const canvas = element("canvas", { width: weights.length, height: 1 });
    const pen = contextOf(canvas);
    const limit = limitOf(weights);
    pen.fillStyle =
      getComputedStyle(this.element).getPropertyValue("--st-primary-color").trim() ||
      themeOf(this.element).text;
    for (const [key, weight] of weights.entries()) {
      pen.globalAlpha = weight / limit;
      pen.fillRect(key, 0, 1, 1);
    }
    return canvas;
  }
}

/**
 * Return tokens with their weights, as elements.
 *
 * @param {string[]} tokens
 * @param {Float32Array} weights
 */
function tinted(tokens, weights) {
  const limit = limitOf(weights);
  return tokens.map((token, key) => {
    const share = `${Math.round(100 * weights[key])}%`;
    const said = weights[key] >= LEAST ? share : "";
    const shown = element(
      "span",
      { title: `${token}: ${share}` },
      token,
      element("small", { textContent: said }),
    );
    shown.style.setProperty("--tint", `${(STRONGEST * weights[key]) / limit}%`);
    return shown;
  });
}

/** @param {Float32Array} weights */
const limitOf = (weights) => weightLimit(Math.max(...weights), weights.length);

/**
 * @param {Looked} looked
 * @returns {Unpacked}
 */
function unpacked(looked) {
  return { ...looked, numbers: floats(looked.weights) };
}

/**
 * Return the numbers of a float32 array in base64.
 *
 * @param {string} text
 */
export function floats(text) {
  return new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

/**
 * @param {Unpacked} looked
 * @param {number} layer
 * @param {number} head
 */
function weightsOf({ numbers, heads, tokens }, layer, head) {
  const begin = (layer * heads + head) * tokens.length;
  return numbers.subarray(begin, begin + tokens.length);
}

/** @param {Unpacked} looked */
function mean({ numbers, tokens }) {
  const sums = new Float32Array(tokens.length);
  for (const [place, weight] of numbers.entries()) sums[place % tokens.length] += weight;
  return sums.map((sum) => (sum * tokens.length) / numbers.length);
}
