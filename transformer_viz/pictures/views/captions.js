// The texts of a lens: titles, tooltips and names of choices.

import { tokenOf } from "./openrow.js";
import { headsByRole, layerNumber, placeOf } from "./order.js";
import { isOfMask } from "./selection.js";
import { fill, percent } from "./text.js";

/** @import {Attention, Value, Words} from "./payload.js" */
/** @import {MatrixName, Selection} from "./selection.js" */

const LEAST_EFFECT = 0.0005; // log-odds that are written as more than 0
const ARROW = " → "; // between a token and the next one, as in labels.py
const GOOD = 0.8; // rank correlation of estimates with measurements below which a layer's are rough

const SHARES = ["previous", "moved"]; // figures that are weights

/** @typedef {{count: number, of: number}} Count Lines drawn, of those above the threshold. */

const thousands = (/** @type {number} */ number) => number.toLocaleString();

/**
 * Return the name of a head.
 *
 * @param {Attention} attention
 * @param {{layer: number, head: number}} place
 */
export function headTitle(attention, { layer, head }) {
  return fill(attention.headTitle, { layer: layerNumber(attention, layer), head: head + 1 });
}

/**
 * Return the short name of a head.
 *
 * @param {Attention} attention
 * @param {number} number Of the head, counted over all layers.
 */
export function headName(attention, number) {
  const { layer, head } = placeOf(attention, number);
  return `L${layerNumber(attention, layer)} H${head + 1}`;
}

/**
 * Return the sentence about what a head does here.
 *
 * @param {Attention} attention
 * @param {{layer: number, head: number}} place
 */
export const saying = (attention, { layer, head }) => attention.sayings[layer * attention.heads + head];

/**
 * Return what is to be said below it: what the head usually does; "": nothing.
 *
 * @param {Attention} attention
 * @param {{layer: number, head: number}} place
 */
export const usually = ({ usual, heads }, { layer, head }) => usual[layer * heads + head] ?? "";

/**
 * Return the title of each view.
 *
 * @param {Selection} selection
 * @param {Words} words
 * @param {Count} lines
 */
export function titlesOf(selection, words, { count, of }) {
  const { attention, state } = selection;
  const { layers, heads } = attention;
  const lit = selection.litRole();
  const role = lit === null ? "" : ` · ${countText(lit, headsByRole(attention).get(lit) ?? [])}`;
  const strongest = fill(words.some, { count: thousands(count), of: thousands(of) });
  const some = of === 0 ? ` · ${words.no_line}` : count < of ? ` · ${strongest}` : "";
  return {
    grid: fill(words.grid_title, { layers, heads }) + role,
    before: "A",
    matrix: attention.isCompared
      ? "B"
      : `${headTitle(attention, state)} · ${words.values[selection.value()]}`,
    change: selection.value() === "effects" ? words.side_effects : words.side_change,
    ...{ scores: "", mask: "", masked: "", softmax: "", added: "", multiplied: "" },
    lines: linesTitle(attention, state, words) + some,
    steps: fill(words.steps_title, {
      head: headTitle(attention, state),
      token: tokenOf(attention.queryTokens[selection.row()]),
    }),
  };
}

/**
 * @param {Attention} attention
 * @param {{layer: number, head: number, shown: Set<number>}} state
 * @param {Words} words
 */
function linesTitle(attention, { layer, head, shown }, words) {
  if (shown.size === 1 && shown.has(head)) return headTitle(attention, { layer, head });
  return fill(words.lines_title, {
    layer: layerNumber(attention, layer),
    heads: numbersOf(attention, shown),
  });
}

/**
 * Return which heads have lines, as a text.
 *
 * @param {Attention} attention
 * @param {Set<number>} shown
 * @param {Words} words
 */
export const linesOf = (attention, shown, words) =>
  fill(words.lines_heads, { heads: numbersOf(attention, shown) });

/** @param {Attention} attention @param {Set<number>} shown */
function numbersOf(attention, shown) {
  const numbers = [...shown].sort((a, b) => a - b).map((number) => number + 1);
  return numbers.length === attention.heads ? `1–${numbers.length}` : numbers.join(", ");
}

/**
 * Return the tokens and the value of a cell of the selected head.
 *
 * @param {Selection} selection
 * @param {Words} words
 * @param {number} query
 * @param {number} key
 * @param {MatrixName} [within] The matrix with the cell.
 */
export function cellText(selection, words, query, key, within = "matrix") {
  const { attention, state } = selection;
  const { layer, head } = state;
  const tokens = { query: attention.queryTokens[query], key: attention.keyTokens[key] };
  if (isOfMask(state.view))
    return `${fill(words.cell, tokens)} ${valueText(selection, words, query, key, within)}`;
  if (attention.isCompared) return comparedAt(selection, words, query, key, tokens);
  const pair = fill(attention.allowed(layer, head, query, key) ? words.cell : words.masked_cell, tokens);
  /** @type {Value[]} */
  const values = attention.effects()?.cells ? ["weights", "effects"] : [];
  const shown = [...new Set([selection.value(), ...values])].map((value) => {
    const number = attention.field(layer, head, value).data[query * attention.keys + key];
    if (Number.isNaN(number)) return "";
    const isWeight = value === "weights" && !attention.areNumbers;
    const text = isWeight ? percent(number) : number.toPrecision(value === "effects" ? 2 : 4);
    return `${words.values[value]} ${text}`;
  });
  return [pair, shown.filter(Boolean).join(", ")].filter(Boolean).join(" ");
}

/**
 * Return the value of a cell in one of the matrices of a mask, with its name.
 *
 * @param {Selection} selection
 * @param {Words} words
 * @param {number} query
 * @param {number} key
 * @param {MatrixName} within
 */
function valueText(selection, words, query, key, within) {
  const { attention, state } = selection;
  const shown = selection.value(within);
  const number = attention.field(state.layer, state.head, shown).data[query * attention.keys + key];
  if (Number.isNaN(number)) return words.masked;
  if (shown === "mask") return words.values.mask;
  if (!["weights", "added", "multiplied"].includes(shown))
    return `${words.values[shown]} ${number.toPrecision(4)}`;
  const sum = sumsOf(attention, state.layer, state.head, shown)[query].toFixed(2);
  return `${words.values[shown]} ${percent(number)}, ${words.row_sum} ${sum}`;
}

/**
 * Return what is different between two ways to mask a head.
 *
 * @param {Attention} attention
 * @param {{layer: number, head: number}} place
 * @param {Record<"sums" | "same" | "little" | "blocked" | "not_blocked", string>} said
 */
export function waysText(attention, { layer, head }, said) {
  const { queries, keys, queryTokens } = attention;
  if (!attention.hasMasked(layer, head)) return said.same;
  const rows = (/** @type {Value} */ value) => {
    const { data } = attention.field(layer, head, value);
    return Array.from({ length: queries }, (_, query) => data.subarray(query * keys, (query + 1) * keys));
  };
  const sums = sumsOf(attention, layer, head, "multiplied");
  const worst = sums.indexOf(Math.min(...sums));
  const sum = sums[worst].toFixed(2);
  if (sum === "1.00") return said.little;
  const first = fill(said.sums, { token: queryTokens[worst], sum }).replaceAll("**", "");
  const blocked = rows("mask").findIndex((row) => row.every(Number.isNaN));
  if (blocked < 0) return `${first} ${said.not_blocked}`;
  const most = Math.max(...rows("added")[blocked]);
  return `${first} ${fill(said.blocked, { token: queryTokens[blocked], share: most.toFixed(3) })}`;
}

/**
 * Return the sum of each row of a head.
 *
 * @param {Attention} attention
 * @param {number} layer
 * @param {number} head
 * @param {Value} value
 */
export function sumsOf(attention, layer, head, value) {
  const { data } = attention.field(layer, head, value);
  return Array.from({ length: attention.queries }, (_, query) =>
    data
      .subarray(query * attention.keys, (query + 1) * attention.keys)
      .reduce((sum, weight) => sum + (weight || 0), 0),
  );
}

/**
 * Return what a row is whose label names the next token too; "" if there is nothing to say.
 *
 * @param {Attention} attention
 * @param {number} query
 */
export function rowText({ queryTokens, rowHelp }, query) {
  const [token, next] = queryTokens[query].split(ARROW);
  return next && rowHelp ? fill(rowHelp, { token, next }) : "";
}

/**
 * Return what the selected head does to the answer, as a text; "" if that is unknown.
 *
 * @param {Selection} selection
 * @param {Words} words
 */
export function effectOfHead({ attention, state }, words) {
  const effects = attention.effects();
  const effect = effects?.heads[state.layer * attention.heads + state.head] ?? null;
  if (effect === null) return "";
  const before = effects?.headsBefore?.[state.layer * attention.heads + state.head] ?? null;
  if (before !== null) {
    const compared = effects?.isMeasured ? words.compared_measured : words.compared_effects;
    return fill(compared, { before: signedText(before), after: signedText(effect) });
  }
  const agreement = effects?.agreements?.[state.layer] ?? 1;
  const estimated = agreement < GOOD ? words.rough_effect : words.estimated_effect;
  const facts = { effect: signedText(effect), agreement: agreement.toFixed(2) };
  return fill(effects?.isMeasured ? words.measured_effect : estimated, facts);
}

/**
 * Return an effect with its sign, to one decimal from 1 on, below with two significant digits, as `signed` in effects.py.
 *
 * @param {number} effect
 */
export function signedText(effect) {
  const size = Math.abs(effect);
  const digits =
    size >= 1 ? size.toFixed(1) : size >= 0.1 ? size.toFixed(2) : String(Number(size.toPrecision(2)));
  return `${effect < 0 ? "−" : "+"}${digits}`;
}

/**
 * Return the weight or the effect of a cell before and now, and the change; "–" where there is none.
 *
 * @param {Selection} selection
 * @param {Words} words
 * @param {number} query
 * @param {number} key
 * @param {{query: string, key: string}} tokens
 */
function comparedAt(selection, words, query, key, tokens) {
  const { attention, state } = selection;
  const isEffect = selection.value() === "effects";
  const read = (/** @type {"before" | "matrix" | "change"} */ matrix) => {
    const number = attention.field(state.layer, state.head, selection.value(matrix)).data[
      query * attention.keys + key
    ];
    if (Number.isNaN(number)) return "–";
    if (isEffect) return Math.abs(number) < LEAST_EFFECT ? "0" : signedText(number);
    return `${matrix === "change" && number > 0 ? "+" : ""}${percent(number)}`;
  };
  const text = fill(words.compared_cell, {
    ...tokens,
    before: read("before"),
    after: read("matrix"),
    change: read("change"),
  });
  return isEffect ? `${text} · ${words.values.effects}` : text;
}

/**
 * Return what follows the description of a head if a cell is pinned.
 *
 * @param {Selection} selection
 * @param {Words} words
 */
export function pinnedText(selection, words) {
  const { query, key } = selection.state.pinned;
  return query === null || key === null ? "" : ` ${words.pinned} ${cellText(selection, words, query, key)}`;
}

/**
 * Return one figure of a head as a text.
 *
 * @param {Attention} attention
 * @param {string} name
 * @param {number} number Of the head, counted over all layers.
 */
export function figureText(attention, name, number) {
  if (name === "role") return attention.shares?.[number] ?? "";
  const figure = attention.figures[name][number] ?? null;
  if (figure === null) return "–";
  return SHARES.includes(name) ? percent(figure) : figure.toPrecision(2);
}

/**
 * Return the usual role of a head with its share; "" if it has none, or none is known.
 *
 * @param {Attention} attention
 * @param {number} number Of the head, counted over all layers.
 */
export function roleText({ roles, shares }, number) {
  const share = shares?.[number];
  return share ? `${roles[number]} · ${share}` : "";
}

/**
 * Return a role with the number of heads that have it.
 *
 * @param {string} role
 * @param {number[]} numbers Of the heads.
 */
export const countText = (role, numbers) => `${role} ${numbers.length}`;

/**
 * Return all figures of a head that are numbers, as a text.
 *
 * @param {Attention} attention
 * @param {Words} words
 * @param {number} number
 */
export function figuresText(attention, words, number) {
  const names = Object.keys(attention.figures).filter((name) => name !== "role");
  return names.map((name) => `${words.sorts[name]} ${figureText(attention, name, number)}`).join(" · ");
}

/**
 * Return the name of a choice of sentences.
 *
 * @param {string} pair
 * @param {Words} words
 */
export function pairName(pair, { every, within, between }) {
  /** @type {Record<string, string>} */
  const named = { every, within, between };
  return (
    named[pair] ??
    pair
      .split("-")
      .map((number) => Number(number) + 1)
      .join(" → ")
  );
}

/**
 * Return the choices of sentences with their names.
 *
 * @param {string[]} pairs As `Selection.pairs` returns them.
 * @param {Words} words
 * @returns {[pair: string, name: string][]}
 */
export const pairNames = (pairs, words) => pairs.map((pair) => [pair, pairName(pair, words)]);
