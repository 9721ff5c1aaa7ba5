// Probabilities before and after a change, as two bars for each name.

import { element } from "./element.js";

/** @import {Component} from "./streamlit.js" */

/**
 * What Python packs (ui/shell/bars.py).
 *
 * @typedef {object} Header
 * @property {{name: string, before: number, after: number}[]} rows Probabilities, from 0 to 1.
 * @property {{before: string, after: string}} labels
 * @property {string} alt
 * @property {boolean} projected
 */

/** @type {WeakMap<Element, HTMLElement>} */
const DRAWN = new WeakMap();
const SIDES = /** @type {const} */ (["before", "after"]);

/** @param {Component<Header>} component */
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector("div");
  if (!root) return;
  const [before, drawn] = [DRAWN.get(parentElement), bars(data)];
  if (before?.isConnected) before.replaceWith(drawn);
  else root.append(drawn);
  DRAWN.set(parentElement, drawn);
}

/** @param {Header} header */
function bars({ rows, labels, alt, projected }) {
  const legend = SIDES.map((side) =>
    element("span", {}, element("span", { className: `mark ${side}` }), labels[side]),
  );
  const table = element("table", { ariaLabel: alt }, element("tbody", {}));
  for (const { name, ...shares } of rows) {
    const title = SIDES.map((side) => `${labels[side]}: ${(100 * shares[side]).toFixed(2)}%`).join("\n");
    const tracks = SIDES.map((side) => track(side, shares[side]));
    const row = element(
      "tr",
      { title: `${name}\n${title}` },
      element("th", { scope: "row", textContent: name }),
    );
    row.append(element("td", {}, ...tracks));
    table.tBodies[0].append(row);
  }
  const className = projected ? "bars projected" : "bars";
  return element("div", { className }, element("p", { className: "legend" }, ...legend), table);
}

/** @param {"before" | "after"} side @param {number} share */
function track(side, share) {
  const bar = element("span", { className: `bar ${side}` });
  bar.style.width = `${100 * share}%`;
  const number = element("span", { className: "share", textContent: `${(100 * share).toFixed(1)}%` });
  return element("div", { className: "line" }, element("span", { className: "track" }, bar), number);
}
