// A layer as lines between two columns of tokens: queries on the left, keys on the right, a colour for each head.

import { css } from "./colour.js";
import { eachEdge, limitOf, strongestOf } from "./edges.js";
import { labelled } from "./labels.js";
import { newRuler } from "./pen.js";
import { NOTHING } from "./selection.js";
import { fill, fitted, PIXELS, percent, stride, widest } from "./text.js";

/** @import {Count} from "./captions.js" */
/** @import {Limit} from "./edges.js" */
/** @import {Word} from "./labels.js" */
/** @import {Attention, Words} from "./payload.js" */
/** @import {Pen, Ruler} from "./pen.js" */
/** @import {Place} from "./place.js" */
/** @import {Selection, Token} from "./selection.js" */
/** @import {View} from "./surface.js" */
/** @import {Look, Theme} from "./theme.js" */

/**
 * What the lines need from the lens.
 *
 * @typedef {object} LinesHost
 * @property {Selection} selection
 * @property {() => Words} words
 * @property {() => Look} look
 * @property {(token: Token) => void} point
 * @property {(token: Token) => void} pin
 * @property {() => number} tall Height of the picture, in pixels.
 * @property {() => Place | undefined} aligned The layout of the matrix beside them; undefined: there is none.
 * @property {(count: Count) => void} counted Called with the number of lines before they are drawn.
 */

/**
 * @typedef {object} Layout
 * @property {number} row Height of a query.
 * @property {number} keyRow Height of a key.
 * @property {number} left Where the lines begin.
 * @property {number} right Where they end.
 * @property {number} top
 * @property {number} room Width of a token.
 * @property {number} height
 */

const MOST_ROW = 76;
const LEAST_ROW = 2;
const [TOP, BOTTOM] = [34, 24]; // pixels above and below the tokens
const MOST_LABEL = 120;
const REACH = 60; // pixels beside a token's text that still point at it
const WIDEST = 7; // pixels
const SHARE = { usual: 1 / 9, projected: 1 / 5 }; // of the height of a row: the widest line
const MANY = 1000; // from so many lines on they are thin
const FAINTEST = { usual: 0.06, projected: 0.3 }; // opacity of the weakest lines
const STRONGEST = 0.96; // opacity
const EVEN = 0.8; // exponent of a weight that gives the opacity of its line
const CROWD = 100; // lines from which on weak ones fade, the more the more lines there are
const [FADING, MOST_FADED] = [0.4, 3]; // what each doubling of the lines adds to the exponent, and how many doublings do
const THINNEST = { usual: 0.6, projected: 1.2 }; // pixels of the weakest lines
const SHADES = 8; // opacities; the lines of one head and opacity are one stroke

/**
 * Return the view.
 *
 * @param {LinesHost} host
 * @returns {View}
 */
export function lines(host) {
  const { selection } = host;
  const ruler = newRuler();
  /** @type {Layout | null} */
  let layout = null;

  /** @param {number} width */
  const measured = (width) => {
    return (layout = layoutOf(
      selection.attention,
      ruler,
      host.look().theme,
      width,
      host.tall(),
      host.aligned(),
    ));
  };

  /** @param {number} x @param {number} y @returns {Token} */
  function at(x, y) {
    if (!layout) return NOTHING;
    const { queries, keys } = selection.attention;
    const isQuery = x < (layout.left + layout.right) / 2;
    const index = Math.floor((y - layout.top) / (isQuery ? layout.row : layout.keyRow));
    if (index < 0) return NOTHING;
    if (isQuery) return index < queries && x < layout.left + REACH ? { query: index, key: null } : NOTHING;
    return index < keys && x > layout.right - REACH ? { query: null, key: index } : NOTHING;
  }

  return {
    height: (width) => measured(width).height,
    draw(pen, width) {
      const [limit, look, found] = [limitOf(selection), host.look(), measured(width)];
      host.counted(limit);
      drawEdges(pen, selection, look, found, limit);
      pen.textBaseline = "middle";
      const { query, key } = selection.focus();
      const { queryTokens, queryWords, keyTokens, keyWords } = selection.attention;
      drawTokens(pen, queryTokens, queryWords, found.left - 6, "right", query, look.theme, found, found.row);
      drawTokens(pen, keyTokens, keyWords, found.right + 6, "left", key, look.theme, found, found.keyRow);
      const hasNumbers = selection.attention.areNumbers || selection.value() === "effects";
      drawTexts(
        pen,
        selection.attention,
        host.words(),
        look.theme,
        found,
        width,
        limit.strongest,
        hasNumbers,
      );
    },
    point: (x, y) => host.point(at(x, y)),
    leave: () => host.point(NOTHING),
    press: (x, y) => host.pin(at(x, y)),
    key(event) {
      const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
      if (event.key === "Escape") host.pin(NOTHING);
      if (!by) return event.key === "Escape";
      const { query } = selection.focus();
      const next = query === null ? 0 : Math.max(0, Math.min(selection.attention.queries - 1, query + by));
      host.pin({ query: next, key: null });
      return true;
    },
  };
}

/**
 * @param {Attention} attention
 * @param {Ruler} ruler
 * @param {Theme} theme
 * @param {number} width
 * @param {number} tall
 * @param {Place | undefined} aligned
 * @returns {Layout}
 */
function layoutOf({ queries, keys, queryTokens, keyTokens }, ruler, theme, width, tall, aligned) {
  const most = Math.max(queries, keys);
  const top = aligned?.top ?? TOP;
  const down = aligned?.down ?? most * Math.max(LEAST_ROW, Math.min(MOST_ROW, (tall - TOP - BOTTOM) / most));
  const [row, keyRow] = [down / queries, down / keys];
  const pixels = lettersOf(Math.min(row, keyRow));
  ruler.font = `${pixels}px ${theme.font}`;
  const room = Math.min((MOST_LABEL * pixels) / PIXELS, width * 0.34);
  const left = widest(ruler, queryTokens, room) + 10;
  const right = width - widest(ruler, keyTokens, room) - 10;
  return { row, keyRow, left, right, top, room, height: top + down + BOTTOM };
}

/** @param {number} row */
const lettersOf = (row) => Math.min(16, Math.max(PIXELS, 0.26 * row));

/**
 * @param {Pen} pen
 * @param {Selection} selection
 * @param {Look} look
 * @param {Layout} layout
 * @param {Limit} limit
 */
function drawEdges(pen, selection, look, layout, limit) {
  const size = selection.state.projected ? "projected" : "usual";
  const widest = limit.count > MANY ? 1 : WIDEST; // without a GPU, lines wider than 1 pixel take 8 times as long
  const isStrong = strongestOf(limit);
  const most = Math.max(THINNEST[size], Math.min(widest, SHARE[size] * Math.min(layout.row, layout.keyRow)));
  const crowded = Math.max(1, limit.count / CROWD);
  const exponent = EVEN + FADING * Math.min(MOST_FADED, Math.log2(crowded));
  const faintest = FAINTEST[size] / crowded;
  for (const head of selection.state.shown) {
    /** @type {number[][]} */
    const shades = Array.from({ length: 2 * SHADES }, () => []); // those of negative numbers come last
    eachEdge(selection, head, (query, key, weight, isNegative) => {
      if (!isStrong(weight)) return;
      const shade = Math.min(SHADES - 1, Math.floor((weight / limit.strongest) * SHADES));
      shades[shade + (isNegative ? SHADES : 0)].push(query, key);
    });
    shades.forEach((edges, number) => {
      if (!edges.length) return;
      const share = ((number % SHADES) + 0.5) / SHADES;
      pen.strokeStyle = colourOf(selection, look, head, number >= SHADES);
      pen.globalAlpha = faintest + (STRONGEST - faintest) * share ** exponent;
      pen.lineWidth = Math.max(THINNEST[size], most * share);
      drawShade(pen, edges, layout);
    });
  }
  pen.globalAlpha = 1;
}

/**
 * Return the colour of a head's lines, or, if there are negative numbers, that of their sign.
 *
 * @param {Selection} selection
 * @param {Look} look
 * @param {number} head
 * @param {boolean} isNegative
 */
function colourOf(selection, { heads, ramps }, head, isNegative) {
  const ramp =
    selection.value() === "effects" ? ramps.effects : selection.attention.signed && ramps.diverging;
  return ramp ? css(ramp[isNegative ? 0 : 255]) : heads[head % heads.length];
}

/**
 * Draw lines in one stroke.
 *
 * @param {Pen} pen
 * @param {number[]} edges Query and key of each.
 * @param {Layout} layout
 */
function drawShade(pen, edges, layout) {
  const { left, right } = layout;
  const bend = (right - left) * 0.4;
  pen.beginPath();
  for (let i = 0; i < edges.length; i += 2) {
    const [from, to] = [
      middleOf(layout.top, layout.row, edges[i]),
      middleOf(layout.top, layout.keyRow, edges[i + 1]),
    ];
    pen.moveTo(left, from);
    pen.bezierCurveTo(left + bend, from, right - bend, to, right, to);
  }
  pen.stroke();
}

/** @type {(top: number, row: number, index: number) => number} */
const middleOf = (top, row, index) => top + (index + 0.5) * row;

/**
 * Draw as many tokens as have room, or words where some have none, and the highlighted one.
 *
 * @param {Pen} pen
 * @param {string[]} tokens
 * @param {Word[] | undefined} words
 * @param {number} x
 * @param {"left" | "right"} align
 * @param {number | null} highlighted
 * @param {Theme} theme
 * @param {Layout} layout
 * @param {number} row Height of a token.
 */
function drawTokens(pen, tokens, words, x, align, highlighted, theme, layout, row) {
  const pixels = lettersOf(Math.min(layout.row, layout.keyRow));
  const every = stride(row, pixels + 1);
  pen.textAlign = align;
  for (const { index, text, isHighlighted } of labelled(
    tokens,
    words,
    [0, tokens.length],
    every,
    highlighted,
    pixels / row,
  )) {
    pen.font = `${isHighlighted ? 600 : 400} ${pixels}px ${theme.font}`;
    pen.fillStyle = isHighlighted ? theme.text : theme.soft;
    pen.fillText(fitted(pen, text, layout.room), x, middleOf(layout.top, row, index));
  }
}

/**
 * Write what the columns are, and how strong the strongest line is, or that there is none.
 *
 * @param {Pen} pen
 * @param {Attention} attention
 * @param {Words} words
 * @param {Theme} theme
 * @param {Layout} layout
 * @param {number} width
 * @param {number} strongest
 * @param {boolean | undefined} hasNumbers Whether the lines are no weights.
 */
function drawTexts(pen, { queryTitle }, words, theme, layout, width, strongest, hasNumbers) {
  pen.font = `${PIXELS - 1}px ${theme.font}`;
  pen.fillStyle = theme.muted;
  pen.textAlign = "left";
  pen.fillText(fitted(pen, queryTitle, width * 0.48), 0, 12);
  pen.textAlign = "right";
  pen.fillText(fitted(pen, words.key, width * 0.48), width, 12);
  pen.textAlign = "center";
  const said = hasNumbers ? "" : fill(words.strongest, { weight: percent(strongest) });
  const text = strongest ? said : words.no_line;
  pen.fillText(fitted(pen, text, width), (layout.left + layout.right) / 2, layout.height - 8);
}
