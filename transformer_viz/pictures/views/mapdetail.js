// What one step of a model computes: its tensors and, of the output layer, its logits and probabilities.

import { button } from "./buttons.js";
import { element } from "./element.js";
import { picture } from "./maptensor.js";
import { fill } from "./text.js";

/** @import {Answers, Place, Read, Words} from "./map.js" */
/** @import {Numbers} from "./numbers.js" */
/** @import {Look} from "./theme.js" */
/** @import {Tip} from "./tip.js" */
/** @import {Cell} from "./walking.js" */

/**
 * @typedef {object} DetailOf
 * @property {Place} place
 * @property {string[]} tokens
 * @property {number | null} row That is followed.
 * @property {Words} words
 * @property {Numbers} numbers
 * @property {Look} look
 * @property {Read} array
 * @property {(kind: string, layer: number) => void} open Shows the heads of a layer.
 * @property {(key: string, column: number) => Cell} stopOf Where the Tab key stops in a grid.
 * @property {Tip} tip
 */

/** Return a step. @param {DetailOf} shown */
export function detail(shown) {
  const { place, words, open } = shown;
  const { kind, layer } = place;
  const at = layer === null ? "" : ` · ${fill(words.layer, { layer: layer + 1 })}`;
  const title = element("h3", { textContent: place.title + at });
  const about = element("p", { className: "hint", textContent: place.about });
  const head = element("div", { className: "about" }, element("div", {}, title, about));
  if (kind !== null && layer !== null) head.append(button(words.heads, "heads", () => open(kind, layer), {}));
  const pictures = element(
    "div",
    { className: "tensors" },
    ...place.tensors.map((tensor) => picture(tensor, shown)),
  );
  if (place.answers) pictures.append(answered(place.answers, shown));
  return element("section", { className: "detail" }, head, pictures);
}

/**
 * Return the likeliest answers with their logits and probabilities, at the position that is followed.
 *
 * @param {Answers} answers
 * @param {DetailOf} shown
 */
function answered({ title, columns, rows, at }, { row, tokens, numbers }) {
  const which = rows.length > 1 && row !== null ? row : at;
  const head = columns.map((textContent) => element("th", { scope: "col", textContent }));
  const body = rows[which].map(({ label, logit, prob }) => {
    const bar = element("td", { className: "share", textContent: numbers.exactPercent(prob) });
    bar.style.setProperty("--share", `${100 * prob}%`);
    const number = element("td", { textContent: logit === null ? "–" : numbers.hundredths(logit) });
    return element("tr", {}, element("th", { scope: "row", textContent: label }), number, bar);
  });
  return element(
    "table",
    {},
    element("caption", { textContent: fill(title, { position: tokens[which] }) }),
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...body),
  );
}
