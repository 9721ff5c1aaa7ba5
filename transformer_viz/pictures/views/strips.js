// Vectors as strips of colour, with words beside them.

import { css, entry } from "./colour.js";
import { fitted, PIXELS } from "./text.js";

const HIGH = 18;
const LABEL = 20; // what a vector is, above it
const LINE = 58; // from one line of a chain to the next
const LEAST = 110; // width of a strip in which a vector can be told from another
const OPERATOR = 68; // pixels between two strips, where it says what makes one of the other

/** Return the largest size of any number in some vectors. */
export const largestOf = (...vectors) => vectors.reduce((top, v) => v.reduce((t, n) => Math.max(t, Math.abs(n)), top), 0);

/** Draw a vector from (x, y), a column of colour for each number; `largest` is where the colours end. */
export function strip(ctx, lens, numbers, x, y, width, largest) {
  const step = width / numbers.length;
  numbers.forEach((number, i) => {
    ctx.fillStyle = css(lens.ramps.diverging[entry(number, largest, true)]);
    ctx.fillRect(x + i * step, y, step + 0.4, HIGH);
  });
}

/** Write some words, cut where there is no room for them. */
export function write(ctx, lens, words, x, y, { align = "left", colour = lens.theme.soft, bold = false, room = 400 } = {}) {
  ctx.font = `${bold ? 600 : 400} ${PIXELS}px ${lens.font}`;
  ctx.fillStyle = colour;
  ctx.textAlign = align;
  ctx.fillText(fitted(ctx, String(words), room), x, y);
}

/** Return how high a chain of so many vectors is. */
export function chainHeight(count, width) {
  return Math.ceil(count / perLine(width)) * LINE;
}

/** Draw a chain of vectors, in lines: each has `words` above it, and `by`, what stands before it. */
export function chain(ctx, lens, parts, y, width) {
  const columns = Math.min(parts.length, perLine(width));
  const wide = (width - (columns - 1) * OPERATOR) / columns;
  parts.forEach(({ words, by, vector, largest, marked }, i) => {
    const column = i % columns;
    const [x, top] = [column * (wide + OPERATOR), y + Math.floor(i / columns) * LINE];
    const sign = i && !column ? `${by} ` : "";
    if (column) {
      const style = { align: "center", colour: lens.theme.text, room: OPERATOR - 6 };
      write(ctx, lens, by, x - OPERATOR / 2, top + LABEL + HIGH / 2, style);
    }
    write(ctx, lens, sign + words, x, top + LABEL / 2, { colour: lens.theme.muted, room: Math.min(wide + OPERATOR - 8, width - x) });
    strip(ctx, lens, vector, x, top + LABEL, wide, largest ?? largestOf(vector));
    if (!marked) return;
    ctx.strokeStyle = lens.theme.text;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(x + marked[0] * wide, top + LABEL - 1, (marked[1] - marked[0]) * wide, HIGH + 2);
  });
}

const perLine = (width) => Math.max(1, Math.floor((width + OPERATOR) / (LEAST + OPERATOR)));
