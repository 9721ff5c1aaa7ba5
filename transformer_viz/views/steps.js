// One query row step by step, with its own numbers: from two vectors to a weight, from weights to the context.

import { css, entry } from "./colour.js";
import { fitted, PIXELS } from "./text.js";

const ROW = 26;
const HEAD = 62; // height of the row of formulas
const MOST_ROWS = 20;
const TOKEN = 96;
const NUMBER = 82;
const EXACT = 1e-5; // how close what is computed here must come to what the layer has computed

/** Return the view; `lens` as for the matrix. */
export function steps(lens) {
  const rowsOf = () => Math.min(MOST_ROWS, lens.attention.keys);
  let found = null;

  /** Compute a row anew from its vectors, in double precision. */
  function compute(query) {
    const { attention, state } = lens;
    const { keys, headDim, valueDim } = attention;
    const at = state.layer * attention.heads + state.head;
    const q = attention.query.subarray((at * attention.queries + query) * headDim).subarray(0, headDim);
    const row = [];
    for (let key = 0; key < keys; key++) {
      const k = attention.key.subarray((at * keys + key) * headDim).subarray(0, headDim);
      const v = attention.value.subarray((at * keys + key) * valueDim).subarray(0, valueDim);
      const product = q.reduce((sum, number, i) => sum + number * k[i], 0);
      const allowed = attention.allowed(state.head, query, key);
      row.push({ key, k, v, product, score: product / Math.sqrt(headDim), allowed });
    }
    const open = row.filter((cell) => cell.allowed);
    const top = Math.max(...open.map((cell) => cell.score));
    for (const cell of row) cell.exp = cell.allowed ? Math.exp(cell.score - top) : 0;
    const sum = row.reduce((total, cell) => total + cell.exp, 0);
    const context = new Float64Array(valueDim);
    for (const cell of row) {
      cell.weight = sum ? cell.exp / sum : 0;
      cell.weighted = Float64Array.from(cell.v, (number) => number * cell.weight);
      cell.weighted.forEach((number, i) => {
        context[i] += number;
      });
    }
    const own = attention.context.subarray((at * attention.queries + query) * valueDim).subarray(0, valueDim);
    const error = Math.max(...own.map((number, i) => Math.abs(number - context[i])));
    const shown = [...row].sort((a, b) => b.weight - a.weight || a.key - b.key).slice(0, MOST_ROWS);
    shown.sort((a, b) => a.key - b.key);
    return { query, q, row, shown, top, sum, context, error };
  }

  function measure(width) {
    const numbers = ["product", "score", "exp", "weight"];
    const fixed = TOKEN + numbers.length * NUMBER + 24;
    const strip = Math.min(190, (width - fixed) / 3 - 14);
    const has = strip >= 36;
    const places = {};
    let x = TOKEN;
    const take = (name, size) => {
      places[name] = x;
      x += size;
    };
    if (has) take("k", strip + 14);
    for (const name of numbers) take(name, NUMBER);
    if (has) {
      take("v", strip + 14);
      take("weighted", strip + 14);
    }
    return { places, strip: has ? strip : 0 };
  }

  function strip(ctx, numbers, x, y, width, largest) {
    const step = width / numbers.length;
    numbers.forEach((number, i) => {
      ctx.fillStyle = css(lens.ramps.diverging[entry(number, largest, true)]);
      ctx.fillRect(x + i * step, y, step + 0.4, ROW - 8);
    });
  }

  const largestOf = (...vectors) => vectors.reduce((top, v) => v.reduce((t, n) => Math.max(t, Math.abs(n)), top), 0);

  function text(ctx, words, x, y, { align = "left", colour = lens.theme.soft, bold = false, room = 400 } = {}) {
    ctx.font = `${bold ? 600 : 400} ${PIXELS}px ${lens.font}`;
    ctx.fillStyle = colour;
    ctx.textAlign = align;
    ctx.fillText(fitted(ctx, String(words), room), x, y);
  }

  function drawHeader(ctx, { places, strip: size }) {
    const { attention, words } = lens;
    const token = attention.queryTokens[found.query];
    text(ctx, words.query_of.replace("{token}", token), 0, 14, { bold: true, colour: lens.theme.text });
    if (size) strip(ctx, found.q, places.k, 6, size, largestOf(found.q, ...found.shown.map((cell) => cell.k)));
    const formulas = {
      k: words.key_vector,
      product: "q · k",
      score: `÷ √${attention.headDim}`,
      exp: "exp(s − max)",
      weight: "÷ Σ",
      v: words.value_vector,
      weighted: words.weighted_value,
    };
    for (const [name, x] of Object.entries(places)) {
      const isNumber = ["product", "score", "exp", "weight"].includes(name);
      const [align, at] = isNumber ? ["right", x + NUMBER - 10] : ["left", x];
      text(ctx, formulas[name], at, 46, { align, colour: lens.theme.muted, room: isNumber ? NUMBER : size });
    }
  }

  function drawRow(ctx, cell, y, { places, strip: size }, tops) {
    const { attention, state, words } = lens;
    const lit = cell.key === state.key || cell.key === state.pinned.key;
    const middle = y + ROW / 2 - 1;
    const colour = cell.allowed ? lens.theme.text : lens.theme.muted;
    text(ctx, attention.keyTokens[cell.key], TOKEN - 12, middle, { align: "right", bold: lit, colour, room: TOKEN - 14 });
    if (size) {
      strip(ctx, cell.k, places.k, y + 3, size, tops.k);
      strip(ctx, cell.v, places.v, y + 3, size, tops.v);
      strip(ctx, cell.weighted, places.weighted, y + 3, size, tops.weighted);
    }
    const number = (name, value) =>
      text(ctx, value, places[name] + NUMBER - 10, middle, { align: "right", bold: lit, colour, room: NUMBER });
    number("product", cell.product.toFixed(3));
    number("score", cell.score.toFixed(3));
    number("exp", cell.allowed ? cell.exp.toFixed(3) : words.masked);
    ctx.fillStyle = css(lens.ramps.sequential[90]);
    ctx.globalAlpha = 0.5;
    ctx.fillRect(places.weight + 4, y + 4, (NUMBER - 12) * cell.weight, ROW - 10);
    ctx.globalAlpha = 1;
    number("weight", cell.weight.toFixed(3));
  }

  function drawSum(ctx, y, { places, strip: size }, width) {
    const { words } = lens;
    const middle = y + ROW / 2 - 1;
    ctx.strokeStyle = lens.theme.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(0, y - 2);
    ctx.lineTo(width, y - 2);
    ctx.stroke();
    text(ctx, "Σ", TOKEN - 12, middle, { align: "right", bold: true, colour: lens.theme.text });
    text(ctx, found.sum.toFixed(3), places.exp + NUMBER - 10, middle, { align: "right", bold: true });
    const total = found.row.reduce((sum, cell) => sum + cell.weight, 0);
    text(ctx, total.toFixed(3), places.weight + NUMBER - 10, middle, { align: "right", bold: true });
    if (size) strip(ctx, found.context, places.weighted, y + 3, size, largestOf(found.context));
    const exact = found.error < EXACT;
    const said = (exact ? words.equal : words.unequal).replace("{error}", found.error.toExponential(1));
    text(ctx, `${exact ? "✓" : "✗"} ${said}`, 0, y + ROW + 14, { colour: lens.theme.text, room: width });
    if (found.shown.length < found.row.length) {
      const rest = words.strongest_rows.replace("{count}", found.shown.length).replace("{of}", found.row.length);
      text(ctx, rest, 0, y + ROW + 36, { colour: lens.theme.muted, room: width });
    }
  }

  return {
    height: () => (lens.attention.context ? HEAD + (rowsOf() + 1) * ROW + 54 : 40),
    draw(ctx, width) {
      ctx.textBaseline = "middle";
      if (!lens.attention.context) {
        text(ctx, lens.words.too_long, 0, 16, { room: width });
        return;
      }
      const layout = measure(width);
      found = compute(lens.row());
      const tops = {
        k: largestOf(found.q, ...found.shown.map((cell) => cell.k)),
        v: largestOf(...found.shown.map((cell) => cell.v)),
        weighted: largestOf(found.context, ...found.shown.map((cell) => cell.weighted)),
      };
      drawHeader(ctx, layout);
      found.shown.forEach((cell, i) => drawRow(ctx, cell, HEAD + i * ROW, layout, tops));
      drawSum(ctx, HEAD + found.shown.length * ROW + 2, layout, width);
    },
    point(x, y) {
      const cell = found?.shown[Math.floor((y - HEAD) / ROW)];
      lens.light(cell && y >= HEAD ? { query: found.query, key: cell.key } : { query: null, key: null });
    },
    leave: () => lens.light({ query: null, key: null }),
    press(x, y) {
      const cell = found?.shown[Math.floor((y - HEAD) / ROW)];
      if (cell && y >= HEAD) lens.pin({ query: found.query, key: cell.key });
    },
    key(event) {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by || !found) return false;
      const query = Math.max(0, Math.min(lens.attention.queries - 1, found.query + by));
      lens.pin({ query, key: null });
      return true;
    },
  };
}
