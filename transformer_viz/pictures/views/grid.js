// All heads of one kind of attention as thumbnails: a row for each layer, or sorted by a figure.

import { figureText } from "./captions.js";
import { fitted, PIXELS } from "./text.js";
import { thumbnailsOf } from "./thumbnails.js";

/** @import {Attention} from "./payload.js" */
/** @import {Pen} from "./pen.js" */
/** @import {Selection, State} from "./selection.js" */
/** @import {View} from "./surface.js" */
/** @import {Look, Theme} from "./theme.js" */
/** @import {Thumbnail} from "./thumbnails.js" */
/** @import {Point} from "./tip.js" */

/**
 * @typedef {object} Hovered
 * @property {number} layer
 * @property {number} head
 * @property {number} number Of the head, counted over all layers.
 * @property {Thumbnail} thumbnail
 */

/**
 * What the grid needs from the lens.
 *
 * @typedef {object} GridHost
 * @property {Selection} selection
 * @property {() => Look} look
 * @property {(choice: Partial<State>) => void} select
 * @property {(head: Hovered | null, place: Point) => void} hover
 */

/**
 * @typedef {object} Layout
 * @property {boolean} sorted
 * @property {number} left
 * @property {number} top
 * @property {number} columns
 * @property {number} rows
 * @property {number} side Width of a thumbnail.
 * @property {number} tall Height of a thumbnail.
 * @property {number} below Height of the texts below it.
 */

const MOST_SIDE = 96;
const GAP = 6;

/**
 * Return the view.
 *
 * @param {GridHost} host
 * @returns {View}
 */
export function grid(host) {
  const { selection } = host;
  const thumbnails = thumbnailsOf();
  /** @type {Layout | null} */
  let layout = null;

  const order = () => orderOf(selection.attention, selection.state.sort);
  /** @param {number} number */
  const placeOf = (number) => {
    const { heads } = selection.attention;
    return { layer: Math.floor(number / heads), head: number % heads };
  };
  const chosen = () => selection.state.layer * selection.attention.heads + selection.state.head;

  /** @param {Point} point @returns {number | undefined} */
  function at([x, y]) {
    const found = layout;
    if (!found) return undefined;
    const { side, tall, below } = found;
    return order().find((_, place) => {
      const [left, top] = corner(found, place);
      return x >= left && x < left + side + GAP && y >= top && y < top + tall + GAP + below;
    });
  }

  return {
    height(width) {
      const { rows, tall, below, top } = layoutOf(selection, width);
      return top + rows * (tall + GAP + below) + 6;
    },
    draw(pen, width) {
      layout = layoutOf(selection, width);
      const { theme, ramps } = host.look();
      const pictures = thumbnails(selection.attention, ramps.sequential);
      pen.textBaseline = "middle";
      pen.imageSmoothingEnabled = false;
      for (const [place, number] of order().entries()) {
        drawHead(pen, selection, host.look(), layout, place, { ...placeOf(number), number, thumbnail: pictures[number] });
      }
      if (!layout.sorted) drawNumbers(pen, selection, theme, layout);
    },
    point(x, y) {
      const number = at([x, y]);
      if (number === undefined) return host.hover(null, [x, y]);
      const thumbnail = thumbnails(selection.attention, host.look().ramps.sequential)[number];
      return host.hover({ ...placeOf(number), number, thumbnail }, [x, y]);
    },
    leave: () => host.hover(null, [0, 0]),
    press(x, y) {
      const number = at([x, y]);
      if (number !== undefined) host.select(placeOf(number));
    },
    key(event) {
      const down = layout?.columns ?? 1;
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -down, ArrowDown: down }[event.key];
      if (!by) return false;
      const places = order();
      const next = places.indexOf(chosen()) + by;
      if (next >= 0 && next < places.length) host.select(placeOf(places[next]));
      return true;
    },
  };
}

/**
 * Return the heads in the order of a figure, the largest first; without it, by layer.
 *
 * @param {Attention} attention
 * @param {string} sort
 */
export function orderOf({ layers, heads, figures }, sort) {
  const numbers = Array.from({ length: layers * heads }, (_, i) => i);
  const figure = figures[sort];
  if (!figure) return numbers;
  return numbers.sort((a, b) => (figure[b] ?? -Infinity) - (figure[a] ?? -Infinity) || a - b);
}

/**
 * @param {Selection} selection
 * @param {number} width
 * @returns {Layout}
 */
function layoutOf({ attention, state }, width) {
  const { layers, heads } = attention;
  const sorted = Boolean(attention.figures[state.sort]);
  const left = sorted ? 0 : 22;
  const columns = sorted ? Math.max(1, Math.min(layers * heads, Math.floor(width / 70))) : heads;
  const rows = sorted ? Math.ceil((layers * heads) / columns) : layers;
  const shape = Math.max(0.4, Math.min(2.5, attention.queries / attention.keys));
  const side = Math.min(MOST_SIDE, (width - left) / columns - GAP);
  const below = sorted ? 2 * PIXELS + 8 : 0; // the head's name and figure
  return { sorted, left, top: 24, columns, rows, side, tall: side * shape, below };
}

/**
 * @param {Layout} layout
 * @param {number} place
 * @returns {Point}
 */
const corner = ({ left, top, columns, side, tall, below }, place) => [
  left + (place % columns) * (side + GAP),
  top + Math.floor(place / columns) * (tall + GAP + below),
];

/**
 * @param {Pen} pen
 * @param {Selection} selection
 * @param {Look} look
 * @param {Layout} layout
 * @param {number} place
 * @param {Hovered} of
 */
function drawHead(pen, { attention, state }, { theme, heads }, layout, place, { layer, head, number, thumbnail }) {
  const [x, y] = corner(layout, place);
  const { side, tall, sorted } = layout;
  pen.drawImage(thumbnail.image, 0, 0, thumbnail.columns, thumbnail.rows, x, y, side, tall);
  const isChosen = layer === state.layer && head === state.head;
  const isShown = isChosen || (layer === state.layer && state.shown.has(head));
  pen.strokeStyle = isShown ? heads[head % heads.length] : theme.line;
  pen.lineWidth = isChosen ? 3 : 1;
  pen.strokeRect(x, y, side, tall);
  if (!sorted) return;
  write(pen, theme, `L${layer + 1} H${head + 1}`, x + side / 2, y + tall + 11, isChosen);
  write(pen, theme, figureText(attention, state.sort, number), x + side / 2, y + tall + 26, isChosen, side);
}

/**
 * Write the numbers of the layers and heads beside the thumbnails.
 *
 * @param {Pen} pen
 * @param {Selection} selection
 * @param {Theme} theme
 * @param {Layout} layout
 */
function drawNumbers(pen, { attention, state }, theme, layout) {
  for (let head = 0; head < attention.heads; head++) {
    write(pen, theme, String(head + 1), corner(layout, head)[0] + layout.side / 2, 12, head === state.head);
  }
  for (let layer = 0; layer < attention.layers; layer++) {
    const y = corner(layout, layer * attention.heads)[1] + layout.tall / 2;
    write(pen, theme, String(layer + 1), 8, y, layer === state.layer);
  }
}

/**
 * @param {Pen} pen
 * @param {Theme} theme
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {boolean} bold
 * @param {number} room Width that the text may have.
 */
function write(pen, theme, text, x, y, bold, room = Infinity) {
  pen.font = `${bold ? 600 : 400} ${PIXELS - 1}px ${theme.font}`;
  pen.fillStyle = bold ? theme.text : theme.muted;
  pen.textAlign = "center";
  pen.fillText(fitted(pen, text, room), x, y);
}
