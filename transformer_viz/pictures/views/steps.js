// One row step by step: the query, key and value, the weights, and the vector that the layer adds.

import { drawProjections, projectionsHeight, projectionsOf } from "./projections.js";
import { rowOf } from "./row.js";
import { NOTHING } from "./selection.js";
import { chain, chainHeight, numberAt, write } from "./strips.js";
import { drawWorked, HEAD, ROW, workedHeight, workedOf, writeCheck } from "./worked.js";

/** @import {Attention, Words} from "./payload.js" */
/** @import {Row, Vector} from "./row.js" */
/** @import {Selection, Token} from "./selection.js" */
/** @import {Link, Strip} from "./strips.js" */
/** @import {View} from "./surface.js" */
/** @import {Look} from "./theme.js" */
/** @import {Point} from "./tip.js" */
/** @import {Worked} from "./worked.js" */

/**
 * What the steps need from the lens.
 *
 * @typedef {object} StepsHost
 * @property {Selection} selection
 * @property {() => Words} words
 * @property {() => Look} look
 * @property {(token: Token) => void} point
 * @property {(token: Token) => void} pin
 * @property {(text: string, place: Point) => void} tell Shows a text beside a point.
 */

/**
 * Return the view.
 *
 * @param {StepsHost} host
 * @returns {View}
 */
export function steps(host) {
  const { selection } = host;
  /** @type {Worked | null} */
  let worked = null;
  /** @type {unknown[]} */
  let from = [];
  let top = 0; // of the table
  /** @type {Strip[]} */
  let strips = [];

  /** Recompute the row if another is selected. @returns {Worked | null} */
  function computed() {
    const { attention, state } = selection;
    if (!attention.hasVectors(state.layer)) return (worked = null);
    const now = [attention, state.layer, state.head, selection.row()];
    if (!worked || now.some((part, i) => part !== from[i])) {
      worked = workedOf(rowOf(attention, state.layer, state.head, selection.row()));
      from = now;
    }
    return worked;
  }

  /** Return the token whose key and value are shown: that pointed at, else the pinned one, else that most attended to. */
  const keyOf = (/** @type {Row} */ { cells }) => {
    const { key, pinned } = selection.state;
    const most = cells.reduce((best, cell) => (cell.weight > best.weight ? cell : best));
    return key ?? pinned.key ?? most.key;
  };

  /** @param {Row} row */
  const projected = (row) =>
    projectionsOf(row, keyOf(row), selection.state.layer, selection.attention, host.words());

  /** @param {number} y */
  const at = (y) => (y >= top + HEAD ? worked?.shown[Math.floor((y - top - HEAD) / ROW)] : undefined);

  return {
    height(width) {
      const found = computed();
      if (!found) return 40;
      top = projectionsHeight(projected(found.row), width);
      return top + workedHeight(found) + (found.row.output ? chainHeight(2, width) + 20 : 0);
    },
    draw(pen, width) {
      const [words, look, { attention, state }] = [host.words(), host.look(), selection];
      strips = [];
      const paper = { pen, look, strips };
      pen.textBaseline = "middle";
      const found = computed();
      const isCovered = found && attention.isCovered(state.layer, state.head, found.row.query);
      if (isCovered) return write(paper, words.covered, 0, 16, { room: width });
      if (!found)
        return write(paper, attention.later ? words.fetching : words.too_long, 0, 16, { room: width });
      const { row } = found;
      const chains = projected(row);
      drawProjections(paper, chains, width);
      const isMasked = attention.hasMasked(state.layer, state.head);
      top = projectionsHeight(chains, width);
      drawWorked({ ...paper, words, attention, isMasked, key: keyOf(row) }, found, top, width);
      if (!row.output) return undefined;
      const [end, links] = [top + workedHeight(found), after(row, row.output, attention, state.head, words)];
      chain(paper, links, end, width);
      const below = end + chainHeight(links.length, width);
      if (row.passed) writeCheck(paper, row.passed, words.projected, words.unprojected, below, width);
      return undefined;
    },
    point(x, y) {
      const cell = at(y);
      host.point(cell && worked ? { query: worked.row.query, key: cell.key } : NOTHING);
      const number = numberAt(strips, x, y);
      if (number) host.tell(number, [x, y]);
    },
    leave: () => host.point(NOTHING),
    press(_, y) {
      const cell = at(y);
      if (cell && worked) host.pin({ query: worked.row.query, key: cell.key });
    },
    key(event) {
      const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
      if (!by || !worked) return false;
      const query = Math.max(0, Math.min(selection.attention.queries - 1, worked.row.query + by));
      host.pin({ query, key: null });
      return true;
    },
  };
}

/**
 * Return all heads of the layer concatenated, the selected one marked, and the vector added to the residual stream.
 *
 * @param {Row} row
 * @param {Vector} output
 * @param {Attention} attention
 * @param {number} head
 * @param {Words} words
 * @returns {Link[]}
 */
function after({ joined }, output, { heads }, head, words) {
  return [
    { label: words.joined, vector: joined, marked: [head / heads, (head + 1) / heads] },
    { label: words.output, vector: output, by: "· W_O →" },
  ];
}
