// Attention of one query, recomputed from the vectors of the trace in double precision.

/** @import {Attention, VectorName} from "./payload.js" */

/** @typedef {Float32Array | Float64Array} Vector */

/**
 * @typedef {object} KeyCell One key as the query sees it.
 * @property {number} key
 * @property {Vector} k
 * @property {Vector} v
 * @property {number} product q · k
 * @property {number} bias Relative position bias; 0 without one.
 * @property {number} score product / √(dimension), capped, + bias
 * @property {boolean} allowed
 * @property {number} exp exp(score - largest score); 0 if masked.
 * @property {number} weight
 * @property {Vector} weighted weight × v
 */

/** @typedef {{error: number, exact: boolean}} Compared Largest difference, and whether it is only rounding. */

/** @typedef {ReturnType<typeof rowOf>} Row */

const EXACT = 1e-5; // largest difference that counts as rounding
const DIGITS = 1e-6; // and as much more, times the largest number: float32 has seven digits

/**
 * Return every step from the input of the layer to its output, for one query.
 *
 * @param {Attention} attention With vectors.
 * @param {number} layer
 * @param {number} head
 * @param {number} query
 */
export function rowOf(attention, layer, head, query) {
  const { heads, queries, keys, cap } = attention;
  const at = layer * heads + head;
  const vector = known(attention);
  const q = vector("query", at * queries + query);
  const biases = attention.vector("bias", head * queries + query);
  /** @type {KeyCell[]} */
  const cells = Array.from({ length: keys }, (_, key) => {
    const k = vector("key", at * keys + key);
    const v = vector("value", at * keys + key);
    const product = q.reduce((sum, number, i) => sum + number * k[i], 0);
    const allowed = attention.allowed(layer, head, query, key);
    const bias = biases?.[key] ?? 0;
    const scaled = product / Math.sqrt(q.length);
    const score = (cap ? cap * Math.tanh(scaled / cap) : scaled) + bias;
    return { key, k, v, product, bias, score, allowed, exp: 0, weight: 0, weighted: v };
  });
  const top = Math.max(...cells.filter((cell) => cell.allowed).map((cell) => cell.score));
  for (const cell of cells) cell.exp = cell.allowed ? Math.exp(cell.score - top) : 0;
  const sum = cells.reduce((total, cell) => total + cell.exp, 0);
  const own = vector("context", at * queries + query);
  const context = new Float64Array(own.length);
  for (const cell of cells) {
    cell.weight = sum ? cell.exp / sum : 0;
    cell.weighted = Float64Array.from(cell.v, (number) => number * cell.weight);
    for (let i = 0; i < context.length; i++) context[i] += cell.weighted[i];
  }
  const unrotated = attention.vector("unrotated", at * queries + query);
  return {
    query,
    q,
    unrotated,
    cells,
    sum,
    context,
    equal: compared(context, own),
    ...around(attention, layer, query),
  };
}

/**
 * Return the vector that the projections make a key and a value of: the input of the layer at its token, or in
 * cross-attention the encoder's output; null if the trace lacks it.
 *
 * @param {Attention} attention
 * @param {number} layer
 * @param {number} key
 */
export function sourceOf(attention, layer, key) {
  if (attention.kind === "cross") return attention.vector("memory", key);
  return attention.vector("reads", layer * attention.queries + key);
}

/**
 * Return the vectors before and after the heads, as far as the trace has them.
 *
 * @param {Attention} attention
 * @param {number} layer
 * @param {number} query
 */
function around(attention, layer, query) {
  const { queries, heads } = attention;
  const [vector, number] = [known(attention), layer * queries + query];
  const stream = attention.vector("stream", number);
  const reads = attention.vector("reads", number);
  const token = layer === 0 ? attention.vector("token", query) : null;
  const position = token && attention.vector("position", query);
  const sum = token && position && token.map((part, i) => part + position[i]);
  const joined = Array.from({ length: heads }, (_, head) => {
    return [...vector("context", (layer * heads + head) * queries + query)];
  });
  const output = attention.vector("output", number);
  const error = attention.vector("error", number);
  return {
    token,
    position,
    stream,
    reads: reads && stream && compared(reads, stream).error ? reads : null,
    embedded: sum && stream ? compared(sum, stream) : null,
    joined: Float64Array.from(joined.flat()),
    output,
    passed: error && output ? judged(error[0], output) : null,
  };
}

/**
 * @param {Attention} attention
 * @returns {(name: VectorName, number: number) => Float32Array}
 */
const known = (attention) => (name, number) => /** @type {Float32Array} */ (attention.vector(name, number));

/**
 * @param {Vector} one
 * @param {Vector} other
 * @returns {Compared}
 */
function compared(one, other) {
  let error = 0;
  for (let i = 0; i < one.length; i++) error = Math.max(error, Math.abs(one[i] - other[i]));
  return judged(error, other);
}

/**
 * @param {number} error Largest difference from the vector.
 * @param {Vector} vector
 * @returns {Compared}
 */
function judged(error, vector) {
  let size = 0;
  for (const number of vector) size = Math.max(size, Math.abs(number));
  return { error, exact: error < EXACT + DIGITS * size };
}
