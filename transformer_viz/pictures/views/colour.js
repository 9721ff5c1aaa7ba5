// Colour scales as tables of 256 entries.

/** @typedef {[place: number, colour: string]} Stop Place from 0 to 1, and #rrggbb. */

const UNIFORM = 3; // times the weight of uniform attention

/**
 * Return a scale as 256 colours, packed as in ImageData.
 *
 * @param {Stop[]} stops In ascending order, from 0 to 1.
 */
export function ramp(stops) {
  const table = new Uint32Array(256);
  const parsed = stops.map(([place, hex]) => ({ place, channels: channelsOf(hex) }));
  for (let i = 0; i < 256; i++) {
    const at = i / 255;
    const next = Math.max(
      1,
      parsed.findIndex(({ place }) => place >= at),
    );
    const [low, high] = [parsed[next - 1], parsed[next]];
    const share = (at - low.place) / (high.place - low.place);
    table[i] = packed(
      low.channels.map((channel, c) => Math.round(channel + share * (high.channels[c] - channel))),
    );
  }
  return table;
}

/** Return red, green and blue of #rrggbb. @param {string} hex */
export const channelsOf = (hex) => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));

/** Return a colour as in ImageData. @param {number[]} channels Red, green and blue. */
export const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/**
 * Return an entry of a ramp as a CSS colour.
 *
 * @param {number} packed
 */
export function css(packed) {
  return `rgb(${packed & 255},${(packed >> 8) & 255},${(packed >> 16) & 255})`;
}

/**
 * Return where the scale of attention weights ends: at the largest one, but not below three times the weight of uniform
 * attention, so that a uniform head is pale; at most at 1. `weight_limit` in theme.py is the same.
 *
 * @param {number} largest
 * @param {number} keys Most keys that a query sees.
 */
export function weightLimit(largest, keys) {
  return Math.max(largest, Math.min(1, UNIFORM / keys));
}

/**
 * Return a number's index in a ramp that covers [0, largest] or, if signed, [-largest, largest].
 *
 * @param {number} number
 * @param {number} largest
 * @param {boolean} signed
 */
export function entry(number, largest, signed) {
  const share = largest ? number / largest : 0;
  return Math.max(0, Math.min(255, Math.round(255 * (signed ? (share + 1) / 2 : share))));
}

const [DARK, WHITE] = ["#000000", "#ffffff"];
const EVEN = 0.1791; // luminance of a colour with which both have the same contrast

/**
 * Return a dark ink or white, whichever has more contrast with a colour (WCAG 2.2, contrast ratio).
 *
 * @param {number} packed
 */
export function inkOn(packed) {
  const [r, g, b] = [packed & 255, (packed >> 8) & 255, (packed >> 16) & 255].map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > EVEN ? DARK : WHITE;
}
