// One query row step by step, with its own numbers: from its vector to weights, from weights to what the layer adds.

import { css } from "./colour.js";
import { rowOf } from "./row.js";
import { chain, chainHeight, largestOf, strip, write } from "./strips.js";

const ROW = 26;
const HEAD = 34; // height of the row of formulas
const MOST_ROWS = 20;
const TOKEN = 96;
const NUMBER = 90;
const NARROW = 62; // width of a number where there is little room
const NUMBERS = ["product", "score", "exp", "weight"];

/** Return the view; `lens` as for the matrix. */
export function steps(lens) {
  let found = null;
  let shown = [];
  let rest = null; // what is not among the shown, added up
  let top = 0; // of the first row

  /** Compute the row that is chosen, once, and how high what stands around the table is. */
  function compute(width) {
    const { attention, state } = lens;
    const asked = [attention, state.layer, state.head, lens.row()];
    if (!found || asked.some((part, i) => part !== found.asked[i])) {
      found = { ...rowOf(...asked), asked };
      shown = [...found.cells].sort((a, b) => b.weight - a.weight || a.key - b.key).slice(0, MOST_ROWS);
      shown.sort((a, b) => a.key - b.key);
      rest = restOf(found.cells.filter((cell) => !shown.includes(cell)));
    }
    top = HEAD + (found.stream ? chainHeight(before().length, width) : 0);
  }

  const at = (y) => (y >= top ? shown[Math.floor((y - top) / ROW)] : undefined);

  /** Return where the columns stand, and how wide a strip is; 0: there is no room for strips. */
  function measure(width) {
    const number = width < 640 ? NARROW : NUMBER;
    const free = (width - TOKEN - NUMBERS.length * number - 8) / 3 - 14;
    const size = free >= 30 ? Math.min(190, free) : 0;
    const columns = [["k", size && size + 14], ...NUMBERS.map((name) => [name, number])];
    columns.push(["v", size && size + 14], ["weighted", size && size + 14]);
    const places = {};
    let x = TOKEN;
    for (const [name, wide] of columns) {
      if (wide) places[name] = x;
      x += wide;
    }
    return { places, size, number };
  }

  /** The vector of the query, of what it is made, and what its head makes of it. */
  function before() {
    const { words, attention } = lens;
    const { token, position, stream, reads, q, embedded } = found;
    const largest = largestOf(...[token, position, stream].filter(Boolean));
    const none = position && !largestOf(position);
    const parts = [
      token && { words: words.token_embedding, vector: token, largest },
      position && { words: none ? `${words.position}: 0` : words.position, vector: position, largest, by: "+" },
      { words: embedded ? `${mark(embedded)} ${words.sum}` : words.stream, vector: stream, largest, by: "=" },
      reads && { words: words.normalised, vector: reads, by: "LN →" },
      { words: words.query_of.replace("{token}", attention.queryTokens[found.query].split(" → ")[0]), vector: q, by: "· W_Q →" },
    ];
    return parts.filter(Boolean);
  }

  function drawHeader(ctx, { places, size, number }) {
    const { words, attention } = lens;
    const formulas = {
      k: words.key_vector,
      product: "q · k",
      score: `÷ √${attention.sizes.query}`,
      exp: "exp(s − max)",
      weight: "÷ Σ",
      v: words.value_vector,
      weighted: words.weighted_value,
      ...(number === NARROW && { k: "k", exp: "exp", v: "v", weighted: "w · v" }),
    };
    const style = { colour: lens.theme.muted };
    for (const [name, x] of Object.entries(places)) {
      const y = top - HEAD + 18;
      if (NUMBERS.includes(name)) write(ctx, lens, formulas[name], x + number - 10, y, { ...style, align: "right", room: number });
      else write(ctx, lens, formulas[name], x, y, { ...style, room: size });
    }
  }

  function drawRow(ctx, cell, y, { places, size, number }, tops) {
    const { attention, state, words } = lens;
    const middle = y + ROW / 2 - 1;
    const style = {
      align: "right",
      bold: cell.key === state.key || cell.key === state.pinned.key,
      colour: cell.allowed ? lens.theme.text : lens.theme.muted,
    };
    write(ctx, lens, attention.keyTokens[cell.key], TOKEN - 12, middle, { ...style, room: TOKEN - 14 });
    if (size) {
      for (const name of ["k", "v", "weighted"]) strip(ctx, lens, cell[name], places[name], y + 3, size, tops[name]);
    }
    ctx.fillStyle = css(lens.ramps.sequential[150]);
    ctx.globalAlpha = 0.5;
    ctx.fillRect(places.weight + 4, y + 4, (number - 12) * cell.weight, ROW - 10);
    ctx.globalAlpha = 1;
    for (const name of NUMBERS) {
      const text = name === "exp" && !cell.allowed ? words.masked : cell[name].toFixed(3);
      write(ctx, lens, text, places[name] + number - 10, middle, { ...style, room: number });
    }
  }

  function drawSum(ctx, y, { places, size, number }, width) {
    const { words } = lens;
    const middle = y + ROW / 2 - 1;
    ctx.strokeStyle = lens.theme.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(0, y - 2);
    ctx.lineTo(width, y - 2);
    ctx.stroke();
    const style = { align: "right", bold: true, colour: lens.theme.text };
    write(ctx, lens, "Σ", TOKEN - 12, middle, style);
    write(ctx, lens, found.sum.toFixed(3), places.exp + number - 10, middle, style);
    const total = found.cells.reduce((sum, cell) => sum + cell.weight, 0);
    write(ctx, lens, total.toFixed(3), places.weight + number - 10, middle, style);
    if (size) strip(ctx, lens, found.context, places.weighted, y + 3, size, largestOf(found.context));
    say(ctx, found.equal, words.equal, words.unequal, y + ROW + 14, width);
  }

  /** The keys with the smallest weights as one row. */
  function drawRest(ctx, y, { places, size, number }, largest) {
    const middle = y + ROW / 2 - 1;
    const style = { align: "right", colour: lens.theme.soft };
    const { one, other } = lens.words.others;
    const text = rest.count === 1 && one ? one : other.replace("{count}", rest.count);
    write(ctx, lens, text, TOKEN - 12, middle, { ...style, room: TOKEN - 14 });
    for (const name of ["exp", "weight"]) write(ctx, lens, rest[name].toFixed(3), places[name] + number - 10, middle, style);
    if (size) strip(ctx, lens, rest.weighted, places.weighted, y + 3, size, largest);
  }

  /** All heads of the layer side by side, the chosen one marked, and what the layer adds to the residual stream. */
  function drawAfter(ctx, y, width) {
    const { words, state, attention } = lens;
    const part = 1 / attention.heads;
    const marked = [state.head * part, (state.head + 1) * part];
    const parts = [
      { words: words.joined, vector: found.joined, marked },
      { words: words.output, vector: found.output, by: "· W_O →" },
    ];
    chain(ctx, lens, parts, y, width);
    if (found.passed) say(ctx, found.passed, words.projected, words.unprojected, y + chainHeight(parts.length, width), width);
  }

  const mark = ({ exact }) => (exact ? "✓" : "✗");

  function say(ctx, compared, equal, unequal, y, width) {
    const said = (compared.exact ? equal : unequal).replace("{error}", compared.error.toExponential(1));
    write(ctx, lens, `${mark(compared)} ${said}`, 0, y, { colour: lens.theme.text, room: width });
  }

  return {
    height(width) {
      if (!lens.attention.context) return 40;
      compute(width);
      const after = found.output ? chainHeight(2, width) + 20 : 0;
      return top + (shown.length + (rest ? 2 : 1)) * ROW + 34 + after;
    },
    draw(ctx, width) {
      ctx.textBaseline = "middle";
      if (!lens.attention.context) {
        write(ctx, lens, lens.words.too_long, 0, 16, { room: width });
        return;
      }
      compute(width);
      const layout = measure(width);
      const tops = {
        k: largestOf(found.q, ...shown.map((cell) => cell.k)),
        v: largestOf(...shown.map((cell) => cell.v)),
        weighted: largestOf(found.context, ...shown.map((cell) => cell.weighted)),
      };
      if (found.stream) chain(ctx, lens, before(), 0, width);
      drawHeader(ctx, layout);
      shown.forEach((cell, i) => drawRow(ctx, cell, top + i * ROW, layout, tops));
      const last = top + shown.length * ROW;
      if (rest) drawRest(ctx, last, layout, tops.weighted);
      const end = last + (rest ? ROW : 0) + 2;
      drawSum(ctx, end, layout, width);
      if (found.output) drawAfter(ctx, end + ROW + 32, width);
    },
    point(_, y) {
      const cell = at(y);
      lens.light(cell ? { query: found.query, key: cell.key } : { query: null, key: null });
    },
    leave: () => lens.light({ query: null, key: null }),
    press(_, y) {
      const cell = at(y);
      if (cell) lens.pin({ query: found.query, key: cell.key });
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

/** Return what some cells come to together; null for none. */
function restOf(cells) {
  if (!cells.length) return null;
  const sum = (name) => cells.reduce((total, cell) => total + cell[name], 0);
  const weighted = Float64Array.from(cells[0].weighted, (_, i) => cells.reduce((total, cell) => total + cell.weighted[i], 0));
  return { count: cells.length, exp: sum("exp"), weight: sum("weight"), weighted };
}
