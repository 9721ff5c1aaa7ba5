// Exports: the picture as PNG or SVG, and the selected head as CSV.

import { headTitle } from "./captions.js";
import { layerNumber } from "./order.js";
import { SAVED, save } from "./saving.js";
import { csvOf } from "./scene.js";
import { isOfMask, MASKS } from "./selection.js";

/** @import {FileKind} from "./controls.js" */
/** @import {Words} from "./payload.js" */
/** @import {Scene} from "./scene.js" */
/** @import {MatrixName, Selection} from "./selection.js" */
/** @import {Around} from "./surface.js" */
/** @import {Theme} from "./theme.js" */

/** @typedef {MatrixName | "grid" | "lines" | "steps"} Drawn */

/**
 * What the exports need from the lens.
 *
 * @typedef {object} ExportsHost
 * @property {Selection} selection
 * @property {() => string} model
 * @property {() => Words} words
 * @property {() => Theme} theme
 * @property {() => Scene} scene
 * @property {() => Record<Drawn, string>} titles
 * @property {(view: Drawn, kind: "png" | "svg", around: Around) => Promise<Blob>} picture
 */

const DIGITS = 4; // significant digits; half precision has no more

/**
 * Download the selected view or head.
 *
 * @param {ExportsHost} host
 * @param {FileKind} kind
 */
export async function download(host, kind) {
  const { attention, state } = host.selection;
  const { view, layer, head, kind: of, value } = state;
  const shown = view === "all" ? "matrix" : isOfMask(view) ? MASKS[view][0] : view;
  const name = `${host.model()}-${of}-layer${layerNumber(attention, layer)}-head${head + 1}-${kind === "csv" ? value : shown}.${kind}`;
  if (kind === "csv") return save(new Blob([csvOf(host.scene(), DIGITS)], { type: "text/csv" }), name);
  const { background, text: colour, font } = host.theme();
  const titles = titlesOf(host, shown);
  return save(
    await host.picture(shown, kind, { background, colour, font, titles, titled: SAVED.titled }),
    name,
  );
}

/**
 * Return what a picture shows: its title, and the tokens of the keys.
 *
 * @param {ExportsHost} host
 * @param {Drawn} shown
 */
function titlesOf({ selection, model, words, titles }, shown) {
  const { attention, attentions, state } = selection;
  const title = titles()[shown] || headTitle(attention, state);
  const name = Object.keys(attentions).length > 1 && attention.name;
  return [
    [model(), name, title].filter(Boolean).join(" · "),
    `${words().key}${words().colon}${attention.keyTokens.join(" ")}`,
  ];
}
