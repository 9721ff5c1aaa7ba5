// A matrix as an HTML table for screen readers.

import { element } from "./element.js";
import { readMost } from "./scene.js";

/** @import {Scene} from "./scene.js" */

/**
 * Return a table of the largest values of each row.
 *
 * @param {Scene} scene
 * @param {string} rowHeading
 * @param {string} valuesHeading
 */
export function tableOf(scene, rowHeading, valuesHeading) {
  const heading = (/** @type {string} */ text) => element("th", { textContent: text, scope: "col" });
  const head = element("thead", {}, element("tr", {}, heading(rowHeading), heading(valuesHeading)));
  const body = element("tbody", {});
  for (const [name, text] of readMost(scene)) {
    const cell = element("td", { textContent: text });
    body.append(element("tr", {}, element("th", { textContent: name, scope: "row" }), cell));
  }
  return element("table", {}, head, body);
}
