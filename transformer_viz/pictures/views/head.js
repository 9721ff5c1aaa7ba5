// The chosen head of a lens as a matrix.

import { PIXELS } from "./text.js";

/** @typedef {import("./scene.js").Scene} Scene */

/** The chosen head, as `matrix` asks for it. */
export class Head {
  constructor(lens) {
    this.lens = lens;
  }

  get theme() {
    return this.lens.theme;
  }

  scene = () => this.lens.scene();
  lit = () => ({ row: this.lens.state.query, column: this.lens.state.key });
  light = ({ row, column }, place) => this.lens.light({ query: row, key: column }, place);
  pin = ({ row, column }) => this.lens.pin({ query: row, key: column });
  redraw = () => this.lens.redraw();
}

/** Return the chosen head of a lens as a scene.
 *
 * @returns {Scene}
 */
export function sceneOf({ attention, ramps, state, words }) {
  const { data, largest, signed } = attention.field(state.layer, state.head, state.value);
  const limit = state.scale === "one" && state.value === "weights" ? 1 : largest;
  const { queryTokens: rows, keyTokens: columns } = attention;
  const end = `${limit.toPrecision(3)} ${words.values[state.value]}`;
  return {
    key: `${attention.kind}/${attention.queries}/${attention.keys}`,
    rows,
    columns,
    rowTitle: attention.queryTitle,
    columnTitle: words.key,
    values: data,
    scale: { ramp: signed ? ramps.diverging : ramps.sequential, limit, signed, ticks: [signed ? (-limit).toPrecision(3) : "0", end] },
    fit: "bounded",
    pixels: PIXELS,
  };
}
