// One query computed anew from the vectors of the trace, in double precision.

const EXACT = 1e-5; // how close what is computed here must come to what the layer has computed

/** Return everything on the way from what a query reads to what its layer passes on.
 *
 * `cells` has one entry for each key: its vectors, product, score, exp, weight and weighted value.
 */
export function rowOf(attention, layer, head, query) {
  const at = layer * attention.heads + head;
  const q = attention.vector("query", at * attention.queries + query);
  const cells = [];
  for (let key = 0; key < attention.keys; key++) {
    const k = attention.vector("key", at * attention.keys + key);
    const v = attention.vector("value", at * attention.keys + key);
    const product = q.reduce((sum, number, i) => sum + number * k[i], 0);
    cells.push({ key, k, v, product, score: product / Math.sqrt(q.length), allowed: attention.allowed(head, query, key) });
  }
  const top = Math.max(...cells.filter((cell) => cell.allowed).map((cell) => cell.score));
  for (const cell of cells) cell.exp = cell.allowed ? Math.exp(cell.score - top) : 0;
  const sum = cells.reduce((total, cell) => total + cell.exp, 0);
  const context = new Float64Array(attention.sizes.value);
  for (const cell of cells) {
    cell.weight = sum ? cell.exp / sum : 0;
    cell.weighted = Float64Array.from(cell.v, (number) => number * cell.weight);
    for (let i = 0; i < context.length; i++) context[i] += cell.weighted[i];
  }
  const own = attention.vector("context", at * attention.queries + query);
  return { query, q, cells, sum, context, equal: compared(context, own), ...around(attention, layer, query) };
}

/** Return what is before the heads and after them, as far as the trace has it. */
function around(attention, layer, query) {
  const { queries, heads } = attention;
  const stream = attention.vector("stream", layer * queries + query);
  const reads = attention.vector("reads", layer * queries + query);
  const first = layer === 0 && attention.token;
  const token = first ? attention.vector("token", query) : null;
  const position = first ? attention.vector("position", query) : null;
  const sum = first ? token.map((number, i) => number + position[i]) : null;
  const joined = Array.from({ length: heads }, (_, head) => [
    ...attention.vector("context", (layer * heads + head) * queries + query),
  ]).flat();
  const output = attention.vector("output", layer * queries + query);
  const projected = attention.vector("projected", layer * queries + query);
  return {
    token,
    position,
    stream,
    reads: reads && stream && compared(reads, stream).error ? reads : null,
    embedded: first && stream ? compared(sum, stream) : null,
    joined,
    output,
    passed: projected && output ? compared(projected, output) : null,
  };
}

/** Return the largest difference of two vectors, and whether it is none but that of rounding. */
function compared(one, other) {
  const error = one.reduce((most, number, i) => Math.max(most, Math.abs(number - other[i])), 0);
  return { error, exact: error < EXACT };
}
