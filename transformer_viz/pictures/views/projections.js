// The query of a token, and the key and the value of one that it reads: each is a product of the token's vector.

import { tokenOf } from "./openrow.js";
import { sourceOf } from "./row.js";
import { chain, chainHeight, largestOf } from "./strips.js";
import { fill } from "./text.js";
import { mark } from "./worked.js";

/** @import {Attention, Words} from "./payload.js" */
/** @import {Row, Vector} from "./row.js" */
/** @import {Link, Paper} from "./strips.js" */

const BELOW = 8; // pixels below the chains
const WIDE = 2; // width of a query, key or value, as a multiple of that of its vector

/**
 * Return the chains of vectors that lead to the query, the key and the value.
 *
 * @param {Row} row
 * @param {number} key Token whose key and value are shown.
 * @param {number} layer
 * @param {Attention} attention
 * @param {Words} words
 * @returns {Link[][]}
 */
export function projectionsOf(row, key, layer, attention, words) {
  const query = tokenOf(attention.queryTokens[row.query]);
  const read = attention.keyTokens[key];
  const { k, v } = row.cells[key];
  const source = sourceOf(attention, layer, key);
  const what = attention.kind === "cross" ? words.encoder_output : inputName(row, words);
  const given = source && { label: fill(words.input_of, { token: read, what }), vector: source };
  const chains = [
    origin(row, words),
    ofQuery(row, query, words),
    [
      given,
      {
        label: fill(words.key_of, { token: read }),
        vector: k,
        by: row.unrotated ? "· W_K, RoPE →" : "· W_K →",
        share: WIDE,
      },
    ],
    [given, { label: fill(words.value_of, { token: read }), vector: v, by: "· W_V →", share: WIDE }],
  ];
  return chains.map((links) => links.filter((link) => link !== null)).filter((links) => links.length > 0);
}

/**
 * Return the height of these chains.
 *
 * @param {Link[][]} chains
 * @param {number} width
 */
export const projectionsHeight = (chains, width) =>
  chains.reduce((sum, links) => sum + chainHeight(links.length, width), BELOW);

/**
 * Draw the chains one below the other.
 *
 * @param {Paper} paper
 * @param {Link[][]} chains
 * @param {number} width
 */
export function drawProjections(paper, chains, width) {
  let y = 0;
  for (const links of chains) {
    chain(paper, links, y, width);
    y += chainHeight(links.length, width);
  }
}

/** What the vectors are that the projections read. @param {Row} row @param {Words} words */
const inputName = ({ reads, token }, words) => (reads ? words.normalised : token ? words.sum : words.stream);

/**
 * Return the vectors of which the query's is made: the embeddings, and the residual stream if it is normalised.
 *
 * @param {Row} row
 * @param {Words} words
 * @returns {(Link | null)[]}
 */
function origin({ token, position, stream, reads, embedded }, words) {
  const vectors = /** @type {Vector[]} */ ([token, position, stream].filter(Boolean));
  const largest = largestOf(...vectors);
  const none = position && !largestOf(position);
  const checked = embedded ? `${mark(embedded)} ${words.sum}` : words.stream;
  return [
    token && { label: words.token_embedding, vector: token, largest },
    position && { label: none ? `${words.position}: 0` : words.position, vector: position, largest, by: "+" },
    reads && stream && { label: checked, vector: stream, largest, by: token ? "=" : "" },
  ];
}

/**
 * Return the chain from the input of the layer to the query.
 *
 * @param {Row} row
 * @param {string} token
 * @param {Words} words
 * @returns {(Link | null)[]}
 */
function ofQuery(row, token, words) {
  const { stream, reads, embedded, unrotated, q } = row;
  const vector = reads ?? stream;
  const given = fill(words.input_of, { token, what: inputName(row, words) });
  const checked = !reads && embedded ? `${given} ${mark(embedded)}` : given;
  return [
    vector && { label: checked, vector, by: reads ? "LN →" : embedded ? "=" : "" },
    unrotated && { label: words.unrotated, vector: unrotated, by: "· W_Q →" },
    { label: fill(words.query_of, { token }), vector: q, by: unrotated ? "RoPE →" : "· W_Q →", share: WIDE },
  ];
}
