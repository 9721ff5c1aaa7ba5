// Token texts on a canvas: always set as text, cut with an ellipsis where there is no room.

export const PIXELS = 12.5;

/** Return a text that is no wider than that many pixels. */
export function fitted(ctx, text, room) {
  if (ctx.measureText(text).width <= room) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ctx.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low ? `${text.slice(0, low)}…` : "";
}

/** Return the width of the widest of some texts, at most `most`. */
export function widest(ctx, texts, most) {
  let width = 0;
  for (const text of texts) {
    width = Math.max(width, ctx.measureText(text).width);
    if (width >= most) return most;
  }
  return Math.ceil(width);
}

/** Return how many tokens there are from one that is written to the next, if each needs so many pixels. */
export function stride(step, needed) {
  return Math.max(1, Math.ceil(needed / step));
}
