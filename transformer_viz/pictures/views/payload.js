// What Python packed (payload.py), as typed arrays over the same bytes: only the header is parsed, nothing is copied.

/** @import {Palette} from "./theme.js" */

/** @typedef {{float16: Uint16Array, float32: Float32Array, uint8: Uint8Array}} Arrays Type in NumPy -> here. */

/**
 * An array of the payload.
 *
 * @template {keyof Arrays} D
 * @typedef {{dtype: D, shape: number[], at: number}} Where
 */

/**
 * @typedef {"query" | "key" | "value" | "context" | "output" | "stream" | "reads" | "token" | "position"
 *   | "projected"} VectorName
 */

/** @typedef {"weights" | "scores" | "masked" | "norms"} Value What a matrix shows; "masked": scores after masking. */

/**
 * What the header has of one kind of attention.
 *
 * @typedef {object} Facts
 * @property {string} kind
 * @property {string} name
 * @property {string} queryTitle
 * @property {string} headTitle With {layer} and {head}.
 * @property {[layer: number, head: number]} opening The head that is shown first.
 * @property {number} layers
 * @property {number} heads
 * @property {number} queries
 * @property {number} keys
 * @property {Partial<Record<VectorName, number>>} sizes Dimension of each vector.
 * @property {number} maskHeads 1, or one mask for each head.
 * @property {string[]} queryTokens
 * @property {string[]} keyTokens
 * @property {number[]} querySentences Number of the sentence of each token.
 * @property {number[]} keySentences
 * @property {Record<string, (number | null)[]>} figures Name -> a number of each head, to sort by.
 * @property {string[]} roles Name of the role of each head.
 * @property {string[]} [shares] Share of its usual role; "": it has none. Without shares, the roles are of this text.
 * @property {string[]} sayings What each head does, in a sentence.
 * @property {Measure[]} [measures] One for each pattern, for the chart of the selected head.
 */

/**
 * A measure of what heads do.
 *
 * @typedef {object} Measure
 * @property {string} name
 * @property {string} meaning
 * @property {number} texts Texts that could show it; 0: it was not measured over many.
 */

/**
 * A measure of one head, with shares from 0 to 1; NaN: unknown.
 *
 * @typedef {Measure & {mean: number, spread: number, held: number, uniform: number, here: number}} Measured
 */

/**
 * @typedef {{weights: Where<"float16">, mask: Where<"uint8">, scores?: Where<"float16">, norms?: Where<"float16">,
 *   evidence?: Where<"float32">}
 *   & Partial<Record<VectorName, Where<"float32">>>} Described
 */

/**
 * One head as numbers.
 *
 * @typedef {object} Field
 * @property {number} layer
 * @property {number} head
 * @property {Float32Array} data (query * key); NaN is a gap.
 * @property {number} largest Largest absolute value.
 * @property {boolean} signed
 */

/** @typedef {"view" | "kind" | "layer" | "head" | "value" | "scale" | "sort" | "sentences" | "row" | "threshold"} Label */

/**
 * Texts of the views: `lens.*` in language/en.json.
 *
 * @typedef {Record<"views" | "values" | "sorts" | "others" | "files", Record<string, string>> & Record<Label
 *   | "lines_of" | "all_heads" | "scale_head" | "scale_one" | "download" | "key" | "grid" | "matrix" | "lines" | "steps"
 *   | "grid_title" | "lines_title" | "stop" | "some" | "no_line" | "strongest" | "pinned" | "cell" | "masked_cell"
 *   | "table" | "table_query" | "table_keys" | "query_of" | "key_vector" | "value_vector" | "weighted_value" | "masked"
 *   | "equal" | "unequal" | "too_long" | "token_embedding" | "position" | "sum" | "stream" | "normalised"
 *   | "joined" | "output" | "projected" | "unprojected" | "every" | "within" | "between" | "evidence" | "evidence_here"
 *   | "measured" | "measured_here" | "unshown" | "mean" | "uniform" | "here" | "usual_role", string>} Words
 */

/**
 * @typedef {object} Payload
 * @property {string} model
 * @property {Words} words
 * @property {Record<string, Palette>} themes
 * @property {Record<string, Attention>} attentions By kind.
 */

const KINDS = { float16: Uint16Array, float32: Float32Array, uint8: Uint8Array };

/** Half-precision number by its 16 bits. The bits of positive numbers are in the order of the numbers. */
export const HALF = new Float32Array(65536);
for (let bits = 0; bits < 65536; bits++) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  let size = fraction * 2 ** -24;
  if (exponent === 31) size = fraction ? NaN : Infinity;
  else if (exponent) size = (1 + fraction / 1024) * 2 ** (exponent - 15);
  HALF[bits] = bits & 0x8000 ? -size : size;
}

/**
 * Return the bits of the smallest half-precision number that is at least a number from 0 to 1.
 *
 * @param {number} number
 */
export function halfBits(number) {
  let [low, high] = [0, 0x3c00]; // 0 and 1
  while (low < high) {
    const middle = (low + high) >> 1;
    if (HALF[middle] >= number) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Return the header, and a function that returns an array described there.
 *
 * @param {Uint8Array} bytes
 */
export function unpack(bytes) {
  const aligned = /** @type {Uint8Array<ArrayBuffer>} */ (bytes.byteOffset % 8 ? bytes.slice() : bytes);
  const length = new DataView(aligned.buffer, aligned.byteOffset, 8).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(aligned.subarray(8, 8 + length)));
  const begin = aligned.byteOffset + 8 + length;
  /** @type {<D extends keyof Arrays>(where: Where<D>) => Arrays[D]} */
  const array = ({ dtype, shape, at }) => {
    const count = shape.reduce((product, size) => product * size, 1);
    return /** @type {any} */ (new KINDS[dtype](aligned.buffer, begin + at, count));
  };
  return { header, array };
}

/**
 * Return what a lens shows.
 *
 * @param {Uint8Array} bytes
 * @returns {Payload}
 */
export function parse(bytes) {
  const { header, array } = unpack(bytes);
  /** @type {(Facts & {arrays: Described})[]} */
  const kinds = header.attentions;
  return { ...header, attentions: Object.fromEntries(kinds.map((facts) => [facts.kind, attentionOf(facts, array)])) };
}

/** @typedef {ReturnType<typeof attentionOf>} Attention One kind of attention, with functions that read one head. */

/**
 * @param {Facts & {arrays: Described}} described
 * @param {<D extends keyof Arrays>(where: Where<D>) => Arrays[D]} array
 */
function attentionOf({ arrays, ...facts }, array) {
  const { heads, queries, keys, sizes, maskHeads } = facts;
  const cells = queries * keys;
  const [weights, mask] = [array(arrays.weights), array(arrays.mask)];
  const scores = arrays.scores ? array(arrays.scores) : null;
  const norms = arrays.norms ? array(arrays.norms) : null;
  const evidence = arrays.evidence ? array(arrays.evidence) : null;
  const names = /** @type {VectorName[]} */ (Object.keys(sizes));
  const vectors = new Map(names.flatMap((name) => (arrays[name] ? [[name, array(arrays[name])]] : [])));
  /** @type {Partial<Record<Value, Field>>} */
  const cached = {};

  /** @type {(head: number, query: number, key: number) => boolean} */
  const allowed = (head, query, key) => mask[(maskHeads > 1 ? head * cells : 0) + query * keys + key] > 0;

  const rows = Array.from({ length: maskHeads * queries }, (_, row) => mask.subarray(row * keys, (row + 1) * keys));
  const counts = rows.map((row) => row.reduce((count, isAllowed) => count + isAllowed, 0));
  const countsOf = (/** @type {number} */ head) => counts.slice(head * queries, (head + 1) * queries);
  const widest = Array.from({ length: maskHeads }, (_, head) => Math.max(...countsOf(head)));

  /** @type {(layer: number, head: number, value: Value) => Field} */
  function computed(layer, head, value) {
    const at = (layer * heads + head) * cells;
    const source = (value === "scores" || value === "masked" ? scores : null) ?? weights;
    const lengths = value === "norms" ? norms : null;
    const data = new Float32Array(cells);
    let largest = 0;
    for (let cell = 0; cell < cells; cell++) {
      let number = HALF[source[at + cell]];
      if (lengths) number *= HALF[lengths[(layer * heads + head) * keys + (cell % keys)]];
      if (value !== "scores" && !allowed(head, (cell / keys) | 0, cell % keys)) number = NaN;
      data[cell] = number;
      if (Math.abs(number) > largest) largest = Math.abs(number);
    }
    return { layer, head, data, largest, signed: source === scores };
  }

  return {
    ...facts,
    hasScores: Boolean(scores),
    hasVectors: vectors.has("context"),

    /** Whether a query may attend to a key. */
    allowed,

    /**
     * Return the number of keys that the query with the most of them may attend to.
     *
     * @param {number} head
     */
    seen: (head) => widest[maskHeads > 1 ? head : 0],

    /**
     * Return the measures of one head that it can have and that are known.
     *
     * @param {number} layer
     * @param {number} head
     * @returns {Measured[]}
     */
    measured(layer, head) {
      const measures = facts.measures ?? [];
      const step = facts.layers * heads * measures.length;
      const found = measures.map((measure, number) => {
        const at = (layer * heads + head) * measures.length + number;
        const [mean, spread, held, uniform, here] = [0, 1, 2, 3, 4].map((row) => evidence?.[row * step + at] ?? NaN);
        return { ...measure, mean, spread, held, uniform, here };
      });
      return found.filter(({ mean, here }) => !Number.isNaN(mean) || !Number.isNaN(here));
    },

    /**
     * Return the half-precision bits of one head's weights: (query * key).
     *
     * @param {number} layer
     * @param {number} head
     */
    bits(layer, head) {
      const at = (layer * heads + head) * cells;
      return weights.subarray(at, at + cells);
    },

    /**
     * Return one of the vectors of a name; null if the trace has none.
     *
     * @param {VectorName} name
     * @param {number} number
     */
    vector(name, number) {
      const size = sizes[name] ?? 0;
      return vectors.get(name)?.subarray(number * size, (number + 1) * size) ?? null;
    },

    /**
     * Return one head as numbers; the same object for the same head.
     *
     * @param {number} layer
     * @param {number} head
     * @param {Value} value
     */
    field(layer, head, value) {
      const found = cached[value];
      if (found && found.layer === layer && found.head === head) return found;
      return (cached[value] = computed(layer, head, value));
    },
  };
}
