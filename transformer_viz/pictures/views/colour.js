// Colour scales as tables of 256 entries.

/** Return a scale as 256 colours, packed as ImageData wants them: Uint32Array. */
export function ramp(stops) {
  const table = new Uint32Array(256);
  const parsed = stops.map(([at, hex]) => [at, [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16))]);
  for (let i = 0; i < 256; i++) {
    const at = i / 255;
    const next = Math.max(1, parsed.findIndex(([place]) => place >= at));
    const [[from, low], [to, high]] = [parsed[next - 1], parsed[next]];
    const share = (at - from) / (to - from);
    const [r, g, b] = low.map((channel, c) => Math.round(channel + share * (high[c] - channel)));
    table[i] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
  return table;
}

/** Return an entry of a ramp as a colour of CSS. */
export function css(packed) {
  return `rgb(${packed & 255},${(packed >> 8) & 255},${(packed >> 16) & 255})`;
}

/** Return the index in a ramp: of [0, largest], or, of what is signed, of [-largest, largest]. */
export function entry(number, largest, signed) {
  const share = largest ? number / largest : 0;
  return Math.max(0, Math.min(255, Math.round(255 * (signed ? (share + 1) / 2 : share))));
}
