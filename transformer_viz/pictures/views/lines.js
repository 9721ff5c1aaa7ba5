// A layer as lines between two columns of tokens: who reads on the left, who is read on the right, a colour a head.

import { HALF, halfBits } from "./payload.js";
import { fitted, PIXELS, stride, widest } from "./text.js";

const MOST_ROW = 34;
const LEAST_ROW = 2;
const LEAST_WEIGHT = 1e-4; // too faint to be seen
const MOST_HEIGHT = 560;
const MOST_LABEL = 120;
const MOST_LINES = 8000;
const MANY = 1000; // lines from which on they are thin
const STEPS = 4096; // strengths by which the strongest are told where there are too many
const SHADES = 8; // lines of one head are drawn in so many strengths, each in one stroke

/** Return the view; `lens` as for the matrix, and `colours` of the heads. */
export function lines(lens) {
  let layout = null;
  let drawn = { count: 0, of: 0, strongest: 0 };
  const ruler = new OffscreenCanvas(1, 1).getContext("2d");

  function measure(width) {
    const { queries, keys, queryTokens, keyTokens } = lens.attention;
    const most = Math.max(queries, keys);
    ruler.font = `${PIXELS}px ${lens.font}`;
    const room = Math.min(MOST_LABEL, width * 0.34);
    const row = Math.max(LEAST_ROW, Math.min(MOST_ROW, MOST_HEIGHT / most));
    const left = widest(ruler, queryTokens, room) + 10;
    const right = width - widest(ruler, keyTokens, room) - 10;
    return { row, left, right, top: 34, room, height: 34 + row * most + 24 };
  }

  const y = (index) => layout.top + (index + 0.5) * layout.row;

  /** Call `draw(query, key, weight)` for what is to be seen of one head. */
  function each(head, least, draw) {
    const { layer, value } = lens.state;
    const { keys, queries } = lens.attention;
    const [query, key] = lens.focus();
    const passes = lens.passes();
    const field = value === "norms" ? lens.attention.field(layer, head, value) : null;
    const bits = lens.attention.bits(layer, head);
    const enough = halfBits(least);
    const top = field ? field.largest || 1 : 1;
    const [firstKey, endKey] = key === null ? [0, keys] : [key, key + 1];
    for (let q = query ?? 0; q < (query === null ? queries : query + 1); q++) {
      for (let k = firstKey, cell = q * keys + firstKey; k < endKey; k++, cell++) {
        if (!field && bits[cell] < enough) continue;
        const weight = field ? field.data[cell] / top : HALF[bits[cell]];
        if (weight >= least && passes(q, k)) draw(q, k, weight);
      }
    }
  }

  const step = (weight) => Math.ceil(Math.min(1, weight) * STEPS);

  /** Count what is to be drawn; return the step above which all of it is, and how many lines of that step are. */
  function limit(least) {
    const counts = new Uint32Array(STEPS + 1);
    let [all, strongest] = [0, 0];
    for (const head of lens.state.shown) {
      each(head, least, (q, k, weight) => {
        counts[step(weight)]++;
        all++;
        if (weight > strongest) strongest = weight;
      });
    }
    let [level, spare] = [STEPS, MOST_LINES];
    while (level > 0 && counts[level] <= spare) spare -= counts[level--];
    drawn = { count: Math.min(all, MOST_LINES), of: all, strongest };
    return [level, spare];
  }

  function drawTokens(ctx, tokens, x, align, lit) {
    const every = stride(layout.row, PIXELS + 1);
    ctx.textAlign = align;
    tokens.forEach((token, index) => {
      if (index % every && index !== lit) return;
      if (index !== lit && lit !== null && Math.abs(index - lit) * layout.row < PIXELS) return;
      ctx.font = `${index === lit ? 600 : 400} ${PIXELS}px ${lens.font}`;
      ctx.fillStyle = index === lit ? lens.theme.text : lens.theme.soft;
      ctx.fillText(fitted(ctx, token, layout.room), x, y(index));
    });
  }

  const at = (x, place) => {
    if (!layout) return null;
    const { queries, keys } = lens.attention;
    const index = Math.floor((place - layout.top) / layout.row);
    if (index < 0) return null;
    const middle = (layout.left + layout.right) / 2;
    if (x < middle) return index < queries && x < layout.left + 60 ? { query: index, key: null } : null;
    return index < keys && x > layout.right - 60 ? { query: null, key: index } : null;
  };

  return {
    height: (width) => measure(width).height,
    draw(ctx, width) {
      layout = measure(width);
      const least = Math.max(lens.threshold(), LEAST_WEIGHT);
      let [level, spare] = limit(least);
      lens.title();
      const bend = (layout.right - layout.left) * 0.4;
      const widest = drawn.count > MANY ? 1 : 2.2; // without a GPU, wider lines than 1 pixel take 8 times as long
      ctx.lineWidth = Math.max(0.6, Math.min(widest, layout.row / 9));
      for (const head of lens.state.shown) {
        const shades = Array.from({ length: SHADES }, () => []);
        each(head, least, (q, k, weight) => {
          const reached = step(weight);
          if (reached < level || (reached === level && spare-- <= 0)) return;
          shades[Math.min(SHADES - 1, Math.floor((weight / drawn.strongest) * SHADES))].push(q, k);
        });
        ctx.strokeStyle = lens.colours[head % lens.colours.length];
        shades.forEach((edges, shade) => {
          if (!edges.length) return;
          ctx.globalAlpha = 0.06 + 0.9 * ((shade + 0.5) / SHADES) ** 0.8;
          ctx.beginPath();
          for (let i = 0; i < edges.length; i += 2) {
            const [from, to] = [y(edges[i]), y(edges[i + 1])];
            ctx.moveTo(layout.left, from);
            ctx.bezierCurveTo(layout.left + bend, from, layout.right - bend, to, layout.right, to);
          }
          ctx.stroke();
        });
      }
      ctx.globalAlpha = 1;
      ctx.textBaseline = "middle";
      const [query, key] = lens.focus();
      drawTokens(ctx, lens.attention.queryTokens, layout.left - 6, "right", query);
      drawTokens(ctx, lens.attention.keyTokens, layout.right + 6, "left", key);
      ctx.font = `${PIXELS - 1}px ${lens.font}`;
      ctx.fillStyle = lens.theme.muted;
      ctx.textAlign = "left";
      ctx.fillText(fitted(ctx, lens.attention.queryTitle, width * 0.48), 0, 12);
      ctx.textAlign = "right";
      ctx.fillText(fitted(ctx, lens.words.key, width * 0.48), width, 12);
      const strongest = lens.words.strongest.replace("{weight}", drawn.strongest.toPrecision(3));
      ctx.textAlign = "center";
      ctx.fillText(fitted(ctx, strongest, width), (layout.left + layout.right) / 2, layout.height - 8);
    },
    point(x, place) {
      const token = at(x, place);
      lens.light(token ?? { query: null, key: null });
    },
    leave: () => lens.light({ query: null, key: null }),
    press(x, place) {
      lens.pin(at(x, place) ?? { query: null, key: null });
    },
    key(event) {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (event.key === "Escape") lens.pin({ query: null, key: null });
      if (!by) return event.key === "Escape";
      const query = lens.focus()[0];
      const next = query === null ? 0 : Math.max(0, Math.min(lens.attention.queries - 1, query + by));
      lens.pin({ query: next, key: null });
      return true;
    },
    /** How many lines stand there, and how many there are above the filter. */
    drawn: () => drawn,
  };
}
