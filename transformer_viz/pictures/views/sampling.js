// The distribution from which the next token is drawn; `distribution` in explorer/sampling.py is the same.

/**
 * @typedef {object} Settings
 * @property {number} temperature 0: the likeliest token alone.
 * @property {number | null} topK Null: all tokens.
 * @property {number} topP Above 0; 1: all tokens.
 */

/**
 * Return the probabilities with which the tokens are drawn, in the same order; those that are cut are 0 and come last.
 *
 * @param {Float32Array} ranked Log probabilities, the likeliest first.
 * @param {Settings} settings
 */
export function distribution(ranked, { temperature, topK, topP }) {
  const count = temperature ? Math.min(topK ?? ranked.length, ranked.length) : 1;
  const shares = new Float64Array(ranked.length);
  for (let rank = 0; rank < count; rank++)
    shares[rank] = rank ? Math.exp((ranked[rank] - ranked[0]) / temperature) : 1;
  normalise(shares);
  if (topP >= 1) return shares;
  let reached = 0;
  for (let rank = 0; rank < count; rank++) {
    reached += shares[rank];
    if (reached - shares[rank] >= topP) shares[rank] = 0;
  }
  normalise(shares);
  return shares;
}

/**
 * Return the rank of the token that is drawn.
 *
 * @param {Float64Array} shares As `distribution` returns them.
 * @param {number} random In [0, 1).
 */
export function drawn(shares, random) {
  let reached = 0;
  for (let rank = 0; rank < shares.length; rank++) {
    reached += shares[rank];
    if (random < reached) return rank;
  }
  return 0; // the sum was rounded to less than 1
}

/** @param {Float64Array} shares */
function normalise(shares) {
  const sum = shares.reduce((total, share) => total + share, 0);
  for (let i = 0; i < shares.length; i++) shares[i] /= sum;
}

/**
 * Read settings as the address has them.
 *
 * @param {string} text Temperature, k (0: all) and p, such as "0.8-40-0.95".
 * @returns {Settings}
 */
export function settingsOf(text) {
  const [temperature, topK, topP] = text.split("-").map(Number);
  return { temperature, topK: topK || null, topP };
}

/** @param {Settings} settings */
export function textOf({ temperature, topK, topP }) {
  return [temperature, topK ?? 0, topP].join("-");
}
