// The colours and the font of the page around a view, light or dark.

import { ramp } from "./colour.js";
import { contextOf } from "./pen.js";

/** @import {Stop} from "./colour.js" */

/**
 * @typedef {object} Theme
 * @property {string} text Colour of the text; `soft`, `muted` and `line` are fainter and fainter.
 * @property {string} background
 * @property {string} soft
 * @property {string} muted
 * @property {string} line
 * @property {string} font
 * @property {"light" | "dark"} name
 */

/**
 * @typedef {{sequential: Stop[], diverging: Stop[], effects: Stop[], heads: string[], gap: string, text: string, background: string}} Palette The
 *   colours of one theme, from Python.
 */

/**
 * A theme with the colours of the data in it.
 *
 * @typedef {object} Look
 * @property {Theme} theme
 * @property {{sequential: Uint32Array, diverging: Uint32Array, effects: Uint32Array}} ramps `effects`: from what
 *   speaks against an answer to what speaks for it.
 * @property {string[]} heads Colours of the heads, repeated as often as needed.
 * @property {string} gap Colour of masked cells.
 */

/** The theme around an element: `read` is called once before each draw, as a style lookup is slow. */
export class PageTheme {
  /** @param {Element} root */
  constructor(root) {
    this.root = root;
    this.theme = themeOf(root);
  }

  read = () => {
    this.theme = themeOf(this.root);
  };

  /**
   * Draw something in another theme, and return it.
   *
   * @template T
   * @param {Theme} theme
   * @param {() => T} draw
   */
  within(theme, draw) {
    const own = this.theme;
    this.theme = theme;
    try {
      return draw();
    } finally {
      this.theme = own;
    }
  }
}

/**
 * Return the theme, from the style of an element.
 *
 * @param {Element} root
 * @returns {Theme}
 */
export function themeOf(root) {
  const style = getComputedStyle(root);
  /** @type {(name: string, otherwise: string) => string} */
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const [text, background] = [read("--st-text-color", style.color), read("--st-background-color", "#ffffff")];
  return themeWith({ text, background }, read("--st-font", "system-ui, sans-serif"));
}

/**
 * Return the theme with some colours and a font.
 *
 * @param {{text: string, background: string}} colours
 * @param {string} font
 * @returns {Theme}
 */
export function themeWith({ text, background }, font) {
  return {
    text,
    background,
    soft: mixed(text, background, 0.82),
    muted: mixed(text, background, 0.68),
    line: mixed(text, background, 0.2),
    font,
    name: luminance(background) < 0.4 ? "dark" : "light",
  };
}

/**
 * Return a function that adds the colours of the data to a theme; the same theme gives the same ramps.
 *
 * @param {Record<string, Palette>} palettes
 * @returns {(theme: Theme) => Look}
 */
export function looks(palettes) {
  /** @type {Record<string, Look["ramps"]>} */
  const ramps = {};
  return (theme) => {
    const { sequential, diverging, effects, heads, gap } = palettes[theme.name];
    ramps[theme.name] ??= {
      sequential: ramp(sequential),
      diverging: ramp(diverging),
      effects: ramp(effects),
    };
    return { theme, ramps: ramps[theme.name], heads, gap };
  };
}

/** @type {Map<string, Uint8ClampedArray>} */
const CHANNELS = new Map();

/**
 * Return red, green, blue and alpha of a CSS colour.
 *
 * @param {string} colour
 */
function channels(colour) {
  const known = CHANNELS.get(colour);
  if (known) return known;
  const pen = contextOf(new OffscreenCanvas(1, 1));
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const found = pen.getImageData(0, 0, 1, 1).data;
  CHANNELS.set(colour, found);
  return found;
}

/**
 * Return a colour laid over another with an opacity.
 *
 * @param {string} colour
 * @param {string} under
 * @param {number} share
 */
function mixed(colour, under, share) {
  const [front, back] = [channels(colour), channels(under)];
  const parts = [0, 1, 2].map((i) => Math.round(share * front[i] + (1 - share) * back[i]));
  return `rgb(${parts.join()})`;
}

/** @param {string} colour */
function luminance(colour) {
  const [r, g, b] = channels(colour);
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}
