// What each cell and head does to the answer of a run: worked out after the run, it finds the views that show it.

import { received, unpack } from "./payload.js";

/** @import {CellEffects, DescribedEffects} from "./payload.js" */
/** @import {Component} from "./streamlit.js" */

/** @typedef {{run: string, kinds: Record<string, CellEffects>}} Effects */

/** @type {Effects | null} */
let last = null;

/** @type {Set<(found: Effects) => boolean>} */
const FOLLOWERS = new Set();

/** @param {Component<Uint8Array>} component */
export default function ({ data }) {
  const { header, array } = unpack(data);
  /** @type {Record<string, DescribedEffects>} */
  const kinds = header.kinds;
  const found = Object.entries(kinds).map(([kind, effects]) => [kind, received(effects, array)]);
  const arrived = { run: header.run, kinds: Object.fromEntries(found) };
  last = arrived;
  for (const told of FOLLOWERS) if (!told(arrived)) FOLLOWERS.delete(told);
}

/** Return the effects that arrived last; null: none yet. */
export const lastEffects = () => last;

/**
 * Follow the effects that arrive.
 *
 * @param {(found: Effects) => boolean} told Not called again once it returns false.
 */
export function followEffects(told) {
  FOLLOWERS.add(told);
}
