// What Python packed (payload.py), as typed arrays over the same bytes: only the header is parsed, nothing is copied.

/** @import {Run} from "./routes.js" */
/** @import {Word} from "./labels.js" */
/** @import {Pipeline} from "./pipeline.js" */
/** @import {ViewName} from "./selection.js" */
/** @import {Palette} from "./theme.js" */

/** @typedef {{float16: Uint16Array, float32: Float32Array, uint8: Uint8Array}} Arrays Type in NumPy -> here. */

/**
 * An array of the payload.
 *
 * @template {keyof Arrays} D
 * @typedef {{dtype: D, shape: number[], at: number}} Where
 */

/**
 * @typedef {"query" | "key" | "value" | "context" | "output" | "stream" | "reads" | "memory" | "token" | "position"
 *   | "error" | "bias" | "unrotated"} VectorName
 */

/**
 * What a matrix shows. "masked": scores after masking; "effects": what each cell does to the answer; "before": weights of
 * the run that is compared with; "change": by how much the weights are larger than those; "effects_before" and
 * "effects_change": the same of the effects.
 *
 * "mask": 1 where a query may attend to a key; "added" and "multiplied": the weights by two other ways to mask.
 *
 * @typedef {"weights" | "scores" | "masked" | "norms" | "effects" | "before" | "change" | "effects_before"
 *   | "effects_change" | "mask" | "added" | "multiplied"} Value
 */

/**
 * What one kind of attention does to an answer, in log-odds.
 *
 * @typedef {object} CellEffects
 * @property {(number | null)[]} heads Of each head, over all layers.
 * @property {boolean} isMeasured Whether these were measured by ablating each; else they are the sums of the cells.
 * @property {(number | null)[] | null} [agreements] Rank correlation of the estimates of each layer's heads with measurements.
 * @property {Uint16Array} [cells] (layer * head * query * key) in half precision; none: there are too many.
 * @property {(number | null)[]} [headsBefore] Of each head, in the run that is compared with.
 * @property {Uint16Array} [before] As `cells`, of the run that is compared with.
 */

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
 * @property {number[] | null} [numbers] Of the layers, from 1, as the model counts them; null: none is left out.
 * @property {boolean} [areNumbers] Whether the weights are no weights but any numbers.
 * @property {boolean} [signed] Whether some of these are negative.
 * @property {number} queries
 * @property {number} keys
 * @property {Partial<Record<VectorName, number>>} sizes Dimension of each vector.
 * @property {boolean} later Whether there are vectors that the page can be asked for.
 * @property {number} maskLayers 1, or one mask for each layer.
 * @property {number} maskHeads 1, or one mask for each head.
 * @property {number | null} cap The scores s are replaced by cap · tanh(s / cap); null: they stay.
 * @property {boolean} hasEdges Whether a cell is an edge of the model, that can be cut.
 * @property {[rows: Pair[], columns: Pair[]]} [places] Of each row and column, its position before and now; none: both
 *   are its number.
 * @property {[layer: number, head: number, query: number] | null} covered A row that is to be predicted first.
 * @property {"no_scores" | "only_weights"} [lacking] Why there are no scores.
 * @property {string[]} queryTokens
 * @property {string[]} keyTokens
 * @property {Word[]} [queryWords] Words of several tokens.
 * @property {Word[]} [keyWords]
 * @property {number[]} querySentences Number of the sentence of each token.
 * @property {number[]} keySentences
 * @property {Record<string, (number | null)[]>} figures Name -> a number of each head, to sort by.
 * @property {string[]} roles Name of the role of each head.
 * @property {string[]} [shares] Share of its usual role; "": it has none. Without shares, the roles are of this text.
 * @property {string[]} sayings What each head does here, in a sentence.
 * @property {string[]} usual What is to be said below of each head: what it usually does; none: of no head.
 * @property {string} rowHelp What a row is, where its label does not say it; else "".
 * @property {Measure[]} [measures] One for each pattern, for the chart of the selected head.
 */

/** @typedef {[before: number, now: number]} Pair Positions of a token in two texts; -1: it is not there. */

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
 * @typedef {{weights: Where<"float16">, mask: Where<"uint8">, before?: Where<"float16">, beforeMask?: Where<"uint8">, scores?: Where<"float16">, norms?: Where<"float16">,
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
 *   | "lines_of" | "lines_heads" | "this_head" | "all_heads" | "scale_head" | "scale_one" | "size" | "projector" | "download" | "titled" | "light" | "key" | "grid" | "matrix" | "lines" | "steps"
 *   | "grid_title" | "lines_title" | "stop" | "colon" | "changed" | "answer" | "answers" | "some" | "no_line" | "strongest" | "pinned" | "cell" | "masked_cell"
 *   | "table" | "table_query" | "table_keys" | "steps_title" | "query_of" | "key_of" | "value_of" | "input_of" | "encoder_output" | "unrotated"
 *   | "key_vector" | "rotated_key" | "value_vector" | "weighted_sum" | "product" | "score" | "scaled_score" | "mask" | "weight" | "masked"
 *   | "equal" | "unequal" | "too_long" | "fetching" | "no_scores" | "only_weights" | "token_embedding" | "position" | "sum" | "stream" | "normalised"
 *   | "joined" | "output" | "position_bias" | "projected" | "unprojected" | "every" | "within" | "between" | "evidence" | "evidence_here"
 *   | "measured" | "measured_here" | "unshown" | "mean" | "uniform" | "here" | "usual_role" | "before" | "change" | "side_change"
 *   | "side_effects" | "compared_effects" | "compared_measured" | "compared_cell" | "switch_off" | "switch_on" | "covered" | "looks" | "does" | "does_help"
 *   | "bars" | "speaks_for" | "speaks_against" | "measured_effect" | "estimated_effect" | "rough_effect" | "row_sum", string>} Words
 */

/**
 * @typedef {object} Payload
 * @property {string} model
 * @property {Words} words
 * @property {Record<string, Palette>} themes
 * @property {Record<string, Attention>} attentions By kind.
 * @property {Pipeline} [pipeline] The steps of the model; none: they are unknown.
 * @property {Acts} [acts] What can be changed in the run; none: nothing.
 * @property {LessonStart} [lesson] The lesson that the views open on.
 * @property {Answer} [answer] What the model answers, for saved pictures; none: it is not said.
 * @property {string} [run] Name of the run, if its effects on the answer may follow.
 * @property {Said} [said] What is said of the run beside the views.
 */

/**
 * A sentence, a bar or a button (ui/workbench/said.py). In a sentence, ** stands around what is bold.
 *
 * @typedef {object} Item
 * @property {string} [said]
 * @property {boolean} [small]
 * @property {boolean} [warns]
 * @property {"lost" | "gained" | ""} [way]
 * @property {number} [bar] Share from 0 to 1.
 * @property {string} [text] Of the bar.
 * @property {string} [press] Text of a button.
 * @property {Act} [act] What it does.
 * @property {string} [open] The model that it opens.
 * @property {boolean} [off] Whether it cannot be pressed.
 * @property {string} [tip]
 * @property {[text: string, isOther: boolean][]} [parts] A text, and what of it another text lacks.
 */

/**
 * What is said of a run (ui/workbench/view.py).
 *
 * @typedef {object} Said
 * @property {string} text As the model has read it.
 * @property {string} target
 * @property {SpokenWord[]} words Of the text.
 * @property {boolean} leaves_out Whether a hidden word is left out of the run; else [MASK] is written into the text.
 * @property {string} stands_in What stands for a word that is hidden; "": nothing can.
 * @property {[begin: number, end: number][]} restored Parts of the text in whose place something else stood.
 * @property {Item[]} answer
 * @property {{text: string, words: SpokenWord[], answer: Item[]}} [before] The run that it is compared with.
 * @property {Item[][]} gaps A line for each [MASK].
 * @property {Item[]} notes
 * @property {[name: string, label: string][]} looks Other ways to show the run.
 * @property {string} ablations What offers to ablate each head; "": nothing does.
 * @property {boolean} explains Whether the answer has reasons.
 * @property {string} why_not Why they are not told; "": they are.
 * @property {Experiment} [experiment]
 * @property {{text: string, act: Act}[]} [chips] What is changed in the run, where no view has it.
 */

/**
 * The menu of an experiment, and what it tells (ui/workbench/experiment.py).
 *
 * @typedef {object} Experiment
 * @property {Record<string, string>} kept What is chosen, by the names of the address, without what is as usual.
 * @property {{name: string, label: string, tip: string, options: [value: string, text: string][], chosen: string}[]} groups
 * @property {{name: string, label: string, tip: string, low: number, high: number, value: number}[]} sliders
 * @property {{name: string, label: string, tip: string, on: boolean}[]} switches
 * @property {{label: string, name: string, value: string} | null} again
 * @property {string} note
 * @property {string} [of] Kind of attention that is masked.
 * @property {string} [painted] How its mask is painted; "": it cannot be.
 * @property {string} [bits] Of its mask in the first layer.
 * @property {Record<string, string>} [titles] Of the matrices.
 * @property {Record<"sums" | "same" | "little" | "blocked" | "not_blocked", string>} [ways] Sentences on two ways to mask.
 * @property {{said: string, tip: string}} [asks] The question of the experiment.
 * @property {string[][]} [table] Rows of texts; the first has the headings.
 * @property {Run & {before: Run} | null} there Both runs as the Attention page asks them; null: it cannot.
 */

/** @typedef {{start: number, end: number, tokens: number[], gap: boolean}} SpokenWord */

/** @typedef {{a?: string, b: string}} Answer Of the run that is compared with, if there is one, and of this one. */

/** Return the softmax of a row. @param {Float32Array} row */
function softmax(row) {
  const largest = Math.max(...row);
  const exps = row.map((score) => Math.exp(score - largest));
  const sum = exps.reduce((total, exp) => total + exp, 0);
  return exps.map((exp) => exp / sum);
}

/** @typedef {{name: string, kind: string, layer: number, head: number, view: ViewName}} LessonStart */

/** @typedef {Record<string, unknown> & {do: string}} Act Something that the server is asked to do. */

/**
 * What can be changed in a run, and what is (changes.py).
 *
 * @typedef {object} Acts
 * @property {string} title
 * @property {string} this_head
 * @property {{name: string, label: string, among: string[]}[]} heads Changes of the selected head, and the heads that have
 *   them, as "kind-number".
 * @property {{name: string, label: string}[]} edges Changes of a cell, their labels with {query} and {key}.
 * @property {string} no_edge
 * @property {{title: string, choices: {label: string, act: Act, pressed: boolean}[]}[]} groups
 * @property {{text: string, act: Act}[]} chips
 * @property {{label: string, act: Act}} compare
 */

const LARGE = 1e9; // taken from masked scores, as in most tutorials

const EFFECTS = /** @type {const} */ (["effects", "effects_before", "effects_change"]);

/** Vectors that all layers share. @type {VectorName[]} */
const SHARED = ["token", "position", "bias", "memory"];

/** @typedef {{sizes: Partial<Record<VectorName, number>>, vectors: Map<VectorName, Float32Array>}} Vectors Of a layer. */

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
  return {
    ...header,
    attentions: Object.fromEntries(kinds.map((facts) => [facts.kind, attentionOf(facts, array)])),
  };
}

/** @typedef {ReturnType<typeof attentionOf>} Attention One kind of attention, with functions that read one head. */

/**
 * Return effects with the array of their cells.
 *
 * @param {DescribedEffects} described
 * @param {(where: Where<"float16">) => Uint16Array} array
 * @returns {CellEffects}
 */
export function received({ cells, before, ...effects }, array) {
  const found = cells ? { ...effects, cells: array(cells) } : effects;
  return before ? { ...found, before: array(before) } : found;
}

/** @typedef {Omit<CellEffects, "cells" | "before"> & {cells?: Where<"float16">, before?: Where<"float16">}} DescribedEffects */

/**
 * @param {Facts & {arrays: Described, effects?: DescribedEffects}} described
 * @param {<D extends keyof Arrays>(where: Where<D>) => Arrays[D]} array
 */
function attentionOf({ arrays, effects: described, ...facts }, array) {
  const { heads, queries, keys, sizes, maskLayers, maskHeads } = facts;
  const cells = queries * keys;
  const [weights, mask] = [array(arrays.weights), array(arrays.mask)];
  const scores = arrays.scores ? array(arrays.scores) : null;
  const norms = arrays.norms ? array(arrays.norms) : null;
  const evidence = arrays.evidence ? array(arrays.evidence) : null;
  const before =
    arrays.before && arrays.beforeMask
      ? { weights: array(arrays.before), mask: array(arrays.beforeMask) }
      : null;
  const [rowPlaces, columnPlaces] = facts.places ?? [null, null];
  /** @type {(query: number, key: number, side: 0 | 1) => boolean} */
  const exists = (query, key, side) =>
    (rowPlaces?.[query][side] ?? 0) >= 0 && (columnPlaces?.[key][side] ?? 0) >= 0;
  const names = /** @type {VectorName[]} */ (Object.keys(sizes));
  const whole = new Map(names.flatMap((name) => (arrays[name] ? [[name, array(arrays[name])]] : [])));
  /** @type {Map<number, Vectors>} */
  const byLayer = new Map();
  /** @type {Partial<Record<Value, Field>>} */
  const cached = {};
  const figures = { ...facts.figures };
  /** @type {CellEffects | null} */
  let effects = null;

  /** @type {(layer: number, head: number, query: number) => boolean} */
  const isCovered = (...row) => facts.covered?.every((number, i) => number === row[i]) ?? false;

  const maskOf = (/** @type {number} */ layer, /** @type {number} */ head) => {
    return (maskLayers > 1 ? layer * maskHeads : 0) + (maskHeads > 1 ? head : 0);
  };
  /** @type {(mask: Uint8Array) => (layer: number, head: number, query: number, key: number) => boolean} */
  const isAllowed = (mask) => (layer, head, query, key) =>
    mask[maskOf(layer, head) * cells + query * keys + key] > 0;
  const allowed = isAllowed(mask);

  const masks = maskLayers * maskHeads;
  const rows = Array.from({ length: masks * queries }, (_, row) =>
    mask.subarray(row * keys, (row + 1) * keys),
  );
  const counts = rows.map((row) => row.reduce((count, isAllowed) => count + isAllowed, 0));
  const countsOf = (/** @type {number} */ number) => counts.slice(number * queries, (number + 1) * queries);
  const widest = Array.from({ length: masks }, (_, number) => Math.max(...countsOf(number)));
  const ofHeads = Array.from({ length: masks }, (_, number) =>
    mask.subarray(number * cells, (number + 1) * cells),
  );

  const isAlone = Array.from(
    { length: queries },
    (_, query) => rowPlaces?.[query].some((place) => place < 0) ?? false,
  );

  /** @type {(layer: number, head: number, ...values: [Value, Value]) => Field} */
  function difference(layer, head, ...values) {
    const [one, other] = values.map((value) => computed(layer, head, value).data);
    const data = new Float32Array(cells).fill(NaN); // a row without counterpart, or masked in both
    let largest = 0;
    for (let query = 0, cell = 0; query < queries; query++) {
      if (isAlone[query]) cell += keys;
      else {
        for (let key = 0; key < keys; key++, cell++) {
          const [from, to] = [one[cell], other[cell]];
          if (Number.isNaN(from) && Number.isNaN(to)) continue;
          data[cell] = (to || 0) - (from || 0);
          largest = Math.max(largest, Math.abs(data[cell]));
        }
      }
    }
    return { layer, head, data, largest, signed: true };
  }

  /**
   * The mask itself; or the weights if a large number is taken from masked scores before the softmax, or the weights
   * are multiplied by the mask after it.
   *
   * @type {(layer: number, head: number, value: "mask" | "added" | "multiplied") => Field}
   */
  function maskedBy(layer, head, value) {
    const data = new Float32Array(cells);
    const from = (layer * heads + head) * cells;
    let largest = 0;
    for (let query = 0; query < queries; query++) {
      const row = data.subarray(query * keys, (query + 1) * keys);
      const may = (/** @type {number} */ key) => allowed(layer, head, query, key);
      if (value === "mask") row.forEach((_, key) => (row[key] = may(key) ? 1 : NaN));
      else {
        const hides = (/** @type {number} */ key) => (value === "added" && !may(key) ? LARGE : 0);
        row.forEach((_, key) => (row[key] = HALF[scores?.[from + query * keys + key] ?? 0]));
        softmax(row.map((score, key) => Math.fround(score - hides(key)))).forEach((weight, key) => {
          row[key] = value === "multiplied" && !may(key) ? 0 : weight;
          if (!may(key) && row[key] === 0) row[key] = NaN;
        });
      }
      for (const number of row) if (number > largest) largest = number;
    }
    return { layer, head, data, largest, signed: false };
  }

  /** @type {(layer: number, head: number, value: Value) => Field} */
  function computed(layer, head, value) {
    if (value === "change") return difference(layer, head, "before", "weights");
    if (value === "effects_change") return difference(layer, head, "effects_before", "effects");
    if (value === "effects" && !effects?.cells) return computed(layer, head, "weights");
    if (value === "mask" || value === "added" || value === "multiplied") return maskedBy(layer, head, value);
    const isBefore = (value === "before" || value === "effects_before") && before;
    const seen = isBefore ? isAllowed(before.mask) : allowed;
    const at = (layer * heads + head) * cells;
    const others = { scores, masked: scores, effects: effects?.cells };
    const now = others[/** @type {keyof typeof others} */ (value)] ?? weights;
    const source = value === "effects_before" ? (effects?.before ?? now) : isBefore ? before.weights : now;
    const lengths = value === "norms" ? norms : null;
    const data = new Float32Array(cells);
    let largest = 0;
    for (let cell = 0; cell < cells; cell++) {
      let number = HALF[source[at + cell]];
      if (lengths) number *= HALF[lengths[(layer * heads + head) * keys + (cell % keys)]];
      if (isCovered(layer, head, (cell / keys) | 0)) number = NaN;
      if (value !== "scores" && !seen(layer, head, (cell / keys) | 0, cell % keys)) number = NaN;
      data[cell] = number;
      if (Math.abs(number) > largest) largest = Math.abs(number);
    }
    return {
      layer,
      head,
      data,
      largest,
      signed: facts.signed === true || (source !== weights && source !== before?.weights),
    };
  }

  /** @type {(name: VectorName, number: number) => Vectors | undefined} */
  function partOf(name, number) {
    const [some] = byLayer.values();
    const count = (some?.vectors.get(name)?.length ?? 0) / (some?.sizes[name] ?? 1);
    return SHARED.includes(name) ? some : byLayer.get(Math.floor(number / count));
  }

  const attention = {
    ...facts,
    figures,
    hasScores: Boolean(scores),
    /** Whether the vectors of a layer are there. @param {number} layer */
    hasVectors: (layer) => whole.has("context") || (byLayer.get(layer)?.vectors.has("context") ?? false),
    isCompared: Boolean(before),

    /** Whether both tokens of a cell are in the text before (0), or in this one (1). */
    exists,

    /** Whether a row of a head is to be predicted before it is shown. */
    isCovered,

    /** Whether a query may attend to a key. */
    allowed,

    /** Whether a head may not attend to some key. @param {number} layer @param {number} head */
    hasMasked: (layer, head) => countsOf(maskOf(layer, head)).some((count) => count < keys),

    /**
     * Return the mask of a head: (query * key), 1 where it may attend; the same object for all heads that share it.
     *
     * @param {number} layer
     * @param {number} head
     */
    mask: (layer, head) => ofHeads[maskOf(layer, head)],

    /**
     * Return the number of keys that the query with the most of them may attend to.
     *
     * @param {number} layer
     * @param {number} head
     */
    seen: (layer, head) => widest[maskOf(layer, head)],

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
        const [mean, spread, held, uniform, here] = [0, 1, 2, 3, 4].map(
          (row) => evidence?.[row * step + at] ?? NaN,
        );
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
     * @param {number} number Among those of all layers.
     */
    vector(name, number) {
      const from = whole.size ? { sizes, vectors: whole } : partOf(name, number);
      const size = from?.sizes[name] ?? 0;
      const found = from?.vectors.get(name);
      if (!found) return null;
      const place = whole.size || SHARED.includes(name) ? number : number % (found.length / size);
      return found.subarray(place * size, (place + 1) * size);
    },

    /**
     * Take the vectors of a layer, which arrive after the run.
     *
     * @param {Uint8Array} bytes
     */
    receiveVectors(bytes) {
      const { header, array: part } = unpack(bytes);
      const described = /** @type {[VectorName, Where<"float32">][]} */ (Object.entries(header.arrays));
      const vectors = new Map(described.map(([name, where]) => [name, part(where)]));
      Object.assign(sizes, header.sizes);
      byLayer.set(header.layer, { sizes: header.sizes, vectors });
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

    /** What each cell and head does to the answer; null: not known yet. */
    effects: () => effects,

    /**
     * Add the effects on the answer, and those of the heads to the figures, unless they were measured.
     *
     * @param {CellEffects} found
     */
    receive(found) {
      const { heads, isMeasured } = effects ?? found;
      effects = isMeasured ? { ...found, heads, isMeasured } : found; // an estimate does not replace what was measured
      for (const value of EFFECTS) delete cached[value];
      if (!facts.figures.effect) figures.effect = found.heads;
    },

    /** Whether the effects of the heads are those of ablating each. */
    isMeasured: "effect" in facts.figures,
  };
  if (described) attention.receive(received(described, array));
  return attention;
}
