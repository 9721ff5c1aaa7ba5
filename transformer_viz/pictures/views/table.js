// A matrix as a table to be read aloud.

import { element } from "./element.js";
import { readMost } from "./scene.js";

/** Return what each row reads most, under two headings. */
export function tableOf(scene, rowHeading, valuesHeading) {
  const heading = (text) => element("th", { textContent: text, scope: "col" });
  const head = element("thead", {}, element("tr", {}, heading(rowHeading), heading(valuesHeading)));
  const body = element("tbody", {});
  for (const [name, read] of readMost(scene)) {
    const row = element("tr", {}, element("th", { textContent: name, scope: "row" }));
    row.append(element("td", { textContent: read }));
    body.append(row);
  }
  return element("table", {}, head, body);
}
