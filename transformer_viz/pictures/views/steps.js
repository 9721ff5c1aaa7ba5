// One row step by step: the query's vector, its weights, and the vector that the layer adds.

import { rowOf } from "./row.js";
import { NOTHING } from "./selection.js";
import { chain, chainHeight, largestOf, write } from "./strips.js";
import { fill } from "./text.js";
import { drawWorked, HEAD, mark, ROW, workedHeight, workedOf, writeCheck } from "./worked.js";

/** @import {Attention, Words} from "./payload.js" */
/** @import {Row, Vector} from "./row.js" */
/** @import {Selection, Token} from "./selection.js" */
/** @import {Link} from "./strips.js" */
/** @import {View} from "./surface.js" */
/** @import {Look} from "./theme.js" */
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

  /** Recompute the row if another is selected. @param {number} width @returns {Worked | null} */
  function computed(width) {
    const { attention, state } = selection;
    if (!attention.hasVectors(state.layer)) return (worked = null);
    const now = [attention, state.layer, state.head, selection.row()];
    if (!worked || now.some((part, i) => part !== from[i])) {
      worked = workedOf(rowOf(attention, state.layer, state.head, selection.row()));
      from = now;
    }
    top = worked.row.stream ? chainHeight(before(worked.row, attention, host.words()).length, width) : 0;
    return worked;
  }

  /** @param {number} y */
  const at = (y) => (y >= top + HEAD ? worked?.shown[Math.floor((y - top - HEAD) / ROW)] : undefined);

  return {
    height(width) {
      const found = computed(width);
      if (!found) return 40;
      return top + workedHeight(found) + (found.row.output ? chainHeight(2, width) + 20 : 0);
    },
    draw(pen, width) {
      const [words, look, { attention, state }] = [host.words(), host.look(), selection];
      pen.textBaseline = "middle";
      const found = computed(width);
      const isCovered = found && attention.isCovered(state.layer, state.head, found.row.query);
      if (isCovered) return write(pen, look, words.covered, 0, 16, { room: width });
      if (!found)
        return write(pen, look, attention.later ? words.fetching : words.too_long, 0, 16, { room: width });
      const { row } = found;
      if (row.stream) chain(pen, look, before(row, attention, words), 0, width);
      drawWorked(pen, { look, words, attention, marked: state }, found, top, width);
      if (!row.output) return undefined;
      const [end, links] = [top + workedHeight(found), after(row, row.output, attention, state.head, words)];
      chain(pen, look, links, end, width);
      const below = end + chainHeight(links.length, width);
      if (row.passed) writeCheck(pen, look, row.passed, words.projected, words.unprojected, below, width);
      return undefined;
    },
    point(_, y) {
      const cell = at(y);
      host.point(cell && worked ? { query: worked.row.query, key: cell.key } : NOTHING);
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
 * Return the chain from the embeddings to the query's vector.
 *
 * @param {Row} row
 * @param {Attention} attention
 * @param {Words} words
 * @returns {Link[]}
 */
function before({ token, position, stream, reads, unrotated, q, query, embedded }, attention, words) {
  const vectors = /** @type {Vector[]} */ ([token, position, stream].filter(Boolean));
  const largest = largestOf(...vectors);
  const none = position && !largestOf(position);
  const of = fill(words.query_of, { token: attention.queryTokens[query].split(" → ")[0] });
  /** @type {(Link | null)[]} */
  const links = [
    token && { label: words.token_embedding, vector: token, largest },
    position && { label: none ? `${words.position}: 0` : words.position, vector: position, largest, by: "+" },
    stream && {
      label: embedded ? `${mark(embedded)} ${words.sum}` : words.stream,
      vector: stream,
      largest,
      by: "=",
    },
    reads && { label: words.normalised, vector: reads, by: "LN →" },
    unrotated && { label: words.unrotated, vector: unrotated, by: "· W_Q →" },
    { label: of, vector: q, by: unrotated ? "RoPE →" : "· W_Q →" },
  ];
  return links.filter((link) => link !== null);
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
