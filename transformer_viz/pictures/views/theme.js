// The colours and the font of the page around a view, light or dark.

/** Return them, as the style of an element has them. */
export function themeOf(root) {
  const style = getComputedStyle(root);
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const text = read("--st-text-color", style.color);
  const background = read("--st-background-color", "#ffffff");
  return {
    text,
    background,
    soft: mixed(text, background, 0.82),
    muted: mixed(text, background, 0.62),
    line: mixed(text, background, 0.2),
    font: read("--st-font", "system-ui, sans-serif"),
    name: luminance(background) < 0.4 ? "dark" : "light",
  };
}

function channels(colour) {
  const ctx = new OffscreenCanvas(1, 1).getContext("2d");
  ctx.fillStyle = colour;
  ctx.fillRect(0, 0, 1, 1);
  return ctx.getImageData(0, 0, 1, 1).data;
}

const MIXED = new Map();

/** Return so much of one colour over another. */
function mixed(colour, under, share) {
  const key = `${colour}/${under}/${share}`;
  if (!MIXED.has(key)) {
    const [front, back] = [channels(colour), channels(under)];
    const parts = [0, 1, 2].map((i) => Math.round(share * front[i] + (1 - share) * back[i]));
    MIXED.set(key, `rgb(${parts.join()})`);
  }
  return MIXED.get(key);
}

function luminance(colour) {
  const key = `luminance ${colour}`;
  if (!MIXED.has(key)) {
    const [r, g, b] = channels(colour);
    MIXED.set(key, (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255);
  }
  return MIXED.get(key);
}
