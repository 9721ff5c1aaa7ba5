// All heads of one kind of attention as thumbnails: a row for each layer, or sorted by a figure.

import { LETTERS, LINE, layoutOf, neighbour } from "./layout.js";
import { layerNumber, placeOf } from "./order.js";
import { newRuler } from "./pen.js";
import { canvasOf, thumbnailsOf } from "./thumbnails.js";

/** @import {Layout, Placed} from "./layout.js" */
/** @import {Pen} from "./pen.js" */
/** @import {Selection, State} from "./selection.js" */
/** @import {View} from "./surface.js" */
/** @import {Look, Theme} from "./theme.js" */
/** @import {Point} from "./tip.js" */

/**
 * @typedef {object} Hovered
 * @property {number} layer
 * @property {number} head
 * @property {number} number Of the head, counted over all layers.
 * @property {ImageData} thumbnail
 */

/**
 * What the grid needs from the lens.
 *
 * @typedef {object} GridHost
 * @property {Selection} selection
 * @property {() => Look} look
 * @property {(choice: Partial<State>) => void} select
 * @property {(head: Hovered | null, place: Point) => void} hover
 * @property {() => number} tall Height of the picture, in pixels, in which all heads are to be seen.
 */

const FAINT = 0.2;

/**
 * Return the view.
 *
 * @param {GridHost} host
 * @returns {View}
 */
export function grid(host) {
  const { selection } = host;
  const thumbnails = thumbnailsOf();
  const ruler = newRuler();
  /** @type {Layout | null} */
  let layout = null;

  /** @param {number} width */
  function arranged(width) {
    ruler.font = fontOf(host.look().theme, true);
    return layoutOf(selection, ruler, width, host.tall());
  }

  const chosen = () => selection.state.layer * selection.attention.heads + selection.state.head;

  /** @param {Point} point @returns {number | undefined} */
  function at([x, y]) {
    const found = layout;
    if (!found) return undefined;
    const { side, across, down } = found;
    const holds = (/** @type {Placed} */ { corner: [left, top] }) =>
      Math.abs(x - left - side / 2) < across / 2 && y >= top && y < top + down;
    return found.placed.find(holds)?.number;
  }

  return {
    height: (width) => arranged(width).height,
    draw(pen, width) {
      layout = arranged(width);
      const { theme } = host.look();
      const pictures = thumbnails(selection.attention, host.look());
      pen.textBaseline = "middle";
      pen.imageSmoothingEnabled = false;
      for (const placed of layout.placed) {
        drawHead(pen, selection, host.look(), layout, placed, pictures[placed.number]);
      }
      if (!layout.sorted) drawNumbers(pen, selection, theme, layout);
      pen.textAlign = "left";
      for (const { text, y } of layout.headings) write(pen, theme, text, 0, y, true);
    },
    point(x, y) {
      const number = at([x, y]);
      if (number === undefined) return host.hover(null, [x, y]);
      const thumbnail = thumbnails(selection.attention, host.look())[number];
      return host.hover({ ...placeOf(selection.attention, number), number, thumbnail }, [x, y]);
    },
    leave: () => host.hover(null, [0, 0]),
    press(x, y) {
      const number = at([x, y]);
      if (number !== undefined) host.select(placeOf(selection.attention, number));
    },
    key({ key }) {
      if (key === "Escape" && selection.state.role !== null) host.select({ role: null });
      if (!layout || !key.startsWith("Arrow")) return false;
      const next = neighbour(
        layout,
        layout.placed.findIndex(({ number }) => number === chosen()),
        key,
      );
      if (next !== undefined) host.select(placeOf(selection.attention, layout.placed[next].number));
      return true;
    },
  };
}

/**
 * Draw a head. If others are lit, its thumbnail and texts are faint.
 *
 * @param {Pen} pen
 * @param {Selection} selection
 * @param {Look} look
 * @param {Layout} layout
 * @param {Placed} placed
 * @param {ImageData} thumbnail
 */
function drawHead(pen, selection, { theme, heads }, { side, tall }, placed, thumbnail) {
  const { attention, state } = selection;
  const { number, texts } = placed;
  const [x, y] = placed.corner;
  const { layer, head } = placeOf(attention, number);
  const role = selection.litRole();
  const isLit = role !== null && attention.roles[number] === role;
  pen.globalAlpha = role === null || isLit ? 1 : FAINT;
  pen.drawImage(canvasOf(thumbnail), 0, 0, thumbnail.width, thumbnail.height, x, y, side, tall);
  const isChosen = layer === state.layer && head === state.head;
  pen.textAlign = "center";
  texts.forEach((text, i) => {
    if (text) write(pen, theme, text, x + side / 2, y + tall + 11 + i * LINE, isChosen || isLit);
  });
  pen.globalAlpha = 1;
  const isShown = isChosen || (layer === state.layer && state.shown.has(head));
  pen.strokeStyle = isShown ? heads[head % heads.length] : isLit ? theme.soft : theme.line;
  pen.lineWidth = isChosen ? 3 : 1;
  pen.strokeRect(x, y, side, tall);
}

/**
 * Write the numbers of the layers and heads beside the thumbnails.
 *
 * @param {Pen} pen
 * @param {Selection} selection
 * @param {Theme} theme
 * @param {Layout} layout
 */
function drawNumbers(pen, { attention, state }, theme, { placed, side, tall }) {
  pen.textAlign = "center";
  for (let head = 0; head < attention.heads; head++) {
    write(pen, theme, String(head + 1), placed[head].corner[0] + side / 2, 12, head === state.head);
  }
  for (let layer = 0; layer < attention.layers; layer++) {
    const y = placed[layer * attention.heads].corner[1] + tall / 2;
    write(pen, theme, String(layerNumber(attention, layer)), 8, y, layer === state.layer);
  }
}

/**
 * @param {Pen} pen
 * @param {Theme} theme
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {boolean} bold
 */
function write(pen, theme, text, x, y, bold) {
  pen.font = fontOf(theme, bold);
  pen.fillStyle = bold ? theme.text : theme.muted;
  pen.fillText(text, x, y);
}

/** @param {Theme} theme @param {boolean} bold */
const fontOf = ({ font }, bold) => `${bold ? 600 : 400} ${LETTERS}px ${font}`;
