// The layout of the thumbnails of all heads, and the texts below them.

import { countText, figureText, headName, roleText } from "./captions.js";
import { headsByRole, headsByUsualRole, orderOf } from "./order.js";
import { fitted, PIXELS, widest } from "./text.js";

/** @import {Attention} from "./payload.js" */
/** @import {Ruler} from "./pen.js" */
/** @import {Selection} from "./selection.js" */
/** @import {Point} from "./tip.js" */

/**
 * @typedef {object} Layout
 * @property {boolean} sorted
 * @property {number} side Width of a thumbnail.
 * @property {number} tall Height of a thumbnail.
 * @property {number} across From one thumbnail to the next.
 * @property {number} down From one row to the next.
 * @property {number} height
 * @property {Placed[]} placed The heads in their order.
 * @property {{text: string, y: number}[]} headings Above the heads of each role, if they are sorted by it.
 */

/** @typedef {{number: number, corner: Point, texts: string[]}} Placed A head, its top left, and the texts below it. */

export const LETTERS = PIXELS - 1; // height of the letters
export const LINE = 15; // height of a text
const MOST_SIDE = 140;
const LEAST_SEEN = 56; // width to which thumbnails shrink for all heads to be seen at once
const LEAST_SORTED = 70; // width for a thumbnail and its figure
const LEAST_ROLE = 48; // width for the beginning of a role
const GAP = 6;
const TOP = 24;

/**
 * @param {Selection} selection
 * @param {Ruler} ruler With the font of the texts.
 * @param {number} width
 * @param {number} high Height in which all heads are to be seen, if that can be.
 * @returns {Layout}
 */
export function layoutOf({ attention, state }, ruler, width, high) {
  const { layers, heads, figures } = attention;
  const sorted = Boolean(figures[state.sort]);
  const left = sorted ? 0 : 22;
  const columns = sorted ? Math.max(1, Math.min(layers * heads, Math.floor(width / LEAST_SORTED))) : heads;
  const room = (width - left) / columns;
  const { roles, wide } = rolesIn(attention, ruler, state.sort === "role" ? 0 : room - GAP);
  const texts = (/** @type {number} */ number) => [
    ...(sorted ? [headName(attention, number), figureText(attention, state.sort, number)] : []),
    ...(roles.length ? [roles[number]] : []),
  ];
  const lines = texts(0).length;
  const below = GAP + (lines && lines * LINE + 3);
  const shape = Math.max(0.4, Math.min(2.5, attention.queries / attention.keys));
  const seen = ((high - TOP - GAP) / layers - below) / shape; // width with which all layers are in view
  const side = Math.min(MOST_SIDE, room - GAP, sorted || seen < LEAST_SEEN ? Infinity : seen);
  const [tall, across] = [side * shape, GAP + Math.max(side, wide)];
  const down = tall + below;
  let y = 0;
  /** @type {Placed[]} */
  const placed = [];
  const headings = [];
  for (const [text, numbers] of sectionsOf(attention, state.sort)) {
    if (text) headings.push({ text, y: y + TOP / 2 });
    for (const [i, number] of numbers.entries()) {
      const x = left + (i % columns) * across + (across - GAP - side) / 2;
      const corner = /** @type {Point} */ ([x, y + TOP + Math.floor(i / columns) * down]);
      placed.push({ number, corner, texts: texts(number) });
    }
    y += TOP + Math.ceil(numbers.length / columns) * down;
  }
  return { sorted, side, tall, across, down, height: y + GAP, placed, headings };
}

/**
 * Return the usual role of each head as it fits below a thumbnail, and the width of the widest: with its share if there
 * is room for all of them, else its name or the beginning of it; no texts if there is not even room for that, or no head
 * is known to have one.
 *
 * @param {Attention} attention
 * @param {Ruler} ruler
 * @param {number} room
 * @returns {{roles: string[], wide: number}}
 */
function rolesIn(attention, ruler, room) {
  const groups = [...headsByUsualRole(attention)];
  if (room < LEAST_ROLE || !groups.length) return { roles: [], wide: 0 };
  const strongest = groups.map(([, [number]]) => roleText(attention, number)); // and so the longest
  const wide = widest(ruler, strongest, Infinity);
  if (wide <= room) return { roles: attention.roles.map((_, number) => roleText(attention, number)), wide };
  const names = new Map(groups.map(([role], i) => [role, strongest[i] && fitted(ruler, role, room)]));
  const widestName = Math.min(room, widest(ruler, [...names.values()], room));
  return { roles: attention.roles.map((role) => names.get(role) ?? ""), wide: widestName };
}

/**
 * Return the heads in sections, each with its heading: sorted by role, one for each; else a single one without.
 *
 * @param {Attention} attention
 * @param {string} sort
 * @returns {[heading: string, numbers: number[]][]}
 */
function sectionsOf(attention, sort) {
  if (sort !== "role" || !attention.figures.role) return [["", orderOf(attention, sort)]];
  return [...headsByRole(attention)].map(([role, numbers]) => [countText(role, numbers), numbers]);
}

/**
 * Return the place of the head next to one; undefined: there is none.
 *
 * @param {Layout} layout
 * @param {number} place
 * @param {string} key That was pressed.
 */
export function neighbour({ placed }, place, key) {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (by) return placed[place + by] && place + by;
  const [x, y] = placed[place].corner;
  const tops = placed.map(({ corner }) => corner[1]);
  const row =
    key === "ArrowUp"
      ? Math.max(...tops.filter((top) => top < y))
      : Math.min(...tops.filter((top) => top > y));
  const away = (/** @type {Placed} */ { corner }) => (corner[1] === row ? Math.abs(corner[0] - x) : Infinity);
  const nearest = placed.reduce((best, each, i) => (away(each) < away(placed[best]) ? i : best), place);
  return nearest === place ? undefined : nearest;
}
