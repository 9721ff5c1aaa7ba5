// Exports: the picture as PNG or SVG, and the selected head as CSV.

import { headTitle } from "./captions.js";
import { layerNumber } from "./order.js";
import { SAVED, save } from "./saving.js";
import { csvOf } from "./scene.js";
import { isOfMask, MASKS } from "./selection.js";
import { fill } from "./text.js";

/** @import {FileKind} from "./controls.js" */
/** @import {Answer, Attention, Words} from "./payload.js" */
/** @import {Scene} from "./scene.js" */
/** @import {MatrixName, Selection, ViewName} from "./selection.js" */
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
 * @property {() => string[]} changes What is changed in the run.
 * @property {() => Answer | undefined} answer
 * @property {(views: Drawn[], kind: "png" | "svg", around: Around) => Promise<Blob>} picture Returns the views side by side.
 */

const SIDES = /** @type {Drawn[]} */ (["before", "matrix", "change"]);
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
  const views = viewsOf(attention, view);
  const shown = views.length > 1 ? "compared" : views[0];
  const name = `${host.model()}-${of}-layer${layerNumber(attention, layer)}-head${head + 1}-${kind === "csv" ? value : shown}.${kind}`;
  if (kind === "csv") return save(new Blob([csvOf(host.scene(), DIGITS)], { type: "text/csv" }), name);
  const { background, text: colour, font } = host.theme();
  const titles = titlesOf(host, views);
  return save(
    await host.picture(views, kind, { background, colour, font, titles, titled: SAVED.titled }),
    name,
  );
}

/**
 * Return the views that a picture holds: of a comparison both runs and their difference.
 *
 * @param {Attention} attention
 * @param {ViewName} view
 * @returns {Drawn[]}
 */
function viewsOf({ isCompared }, view) {
  if (isOfMask(view)) return [...MASKS[view]];
  if (view !== "all") return [view];
  return isCompared ? SIDES : ["matrix"];
}

/**
 * Return what a picture shows: its title, what was changed, what the model answers, and the tokens of the keys.
 *
 * @param {ExportsHost} host
 * @param {Drawn[]} views
 */
function titlesOf(host, views) {
  const { selection, model, titles } = host;
  const words = host.words();
  const { attention, attentions, state } = selection;
  const head = headTitle(attention, state);
  const ofSides = isOfMask(state.view) ? head : `${head} · ${words.values[selection.value()]}`;
  const title = views.length > 1 ? ofSides : titles()[views[0]] || head;
  const name = Object.keys(attentions).length > 1 && attention.name;
  return [
    [model(), name, title].filter(Boolean).join(" · "),
    ...toldOf(host.changes(), host.answer(), words),
    `${words.key}${words.colon}${attention.keyTokens.join(" ")}`,
  ];
}

/**
 * Return what was changed, and what the model answers, as far as that is known.
 *
 * @param {string[]} changes
 * @param {Answer | undefined} answer
 * @param {Words} words
 */
function toldOf(changes, answer, words) {
  const changed = changes.length ? [fill(words.changed, { changes: changes.join(" · ") })] : [];
  if (!answer) return changed;
  return [...changed, fill(answer.a === undefined ? words.answer : words.answers, answer)];
}
