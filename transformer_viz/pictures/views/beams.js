// A beam search as a tree: a column for each step, with the tokens that were kept above those that were dropped.

import { element } from "./element.js";
import { fill, percent } from "./text.js";

/** @import {Labels} from "./candidates.js" */
/** @import {Component} from "./streamlit.js" */

/**
 * A token of the tree, as Python packs it (pictures/beams.py).
 *
 * @typedef {object} BeamNode
 * @property {number} parent Number of the node before it; -1: the beginning.
 * @property {number} column
 * @property {number} row
 * @property {string} word
 * @property {number} share Its probability after its parent.
 * @property {number} total Log probability of the text up to it.
 * @property {number} score
 * @property {"kept" | "finished" | "dropped"} fate
 * @property {boolean} best Whether it is in the best text.
 * @property {number[]} ids The tokens up to it.
 */

/** @typedef {{words: string[], total: number, score: number, best: boolean, ended: boolean}} BeamText */

/**
 * @typedef {object} Beams
 * @property {string} of What is written, for Python.
 * @property {string} prompt
 * @property {BeamNode[]} nodes
 * @property {number} columns
 * @property {number} rows
 * @property {BeamText[]} texts
 * @property {string} cut That the search could go on; "": it has ended.
 * @property {boolean} projected
 * @property {Labels} labels
 */

const [COLUMN, ROW, HALF] = [8.6, 2.7, 1.1]; // distances, and half the height of a node, in letters
const GAP = 2.2; // width of the edges between two columns
const SVG = "http://www.w3.org/2000/svg";

/** @param {number} number */
const signed = (number) => number.toFixed(2).replace("-", "−");

/** @param {Component<Beams>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".beams") ?? element("div", {});
  if (!root.isConnected) parentElement.querySelector("div")?.append(root);
  const { prompt, nodes, columns, rows, labels, of } = data;
  const left = root.querySelector(".tree")?.scrollLeft ?? 0;
  root.className = `beams${data.projected ? " projected" : ""}`;
  const size = [COLUMN * columns, ROW * rows];
  const tree = element("div", { className: "nodes", role: "group", ariaLabel: labels.tree });
  Object.assign(tree.style, { width: `${size[0]}em`, height: `${size[1]}em` });
  tree.append(
    edges(nodes, size),
    ...nodes.map((node) =>
      buttonOf(node, labels, () => setTriggerValue("acted", { do: "take", ids: node.ids, of })),
    ),
  );
  const scrolled = element("div", { className: "tree" }, tree);
  const goesOn = element("p", { className: "cut", textContent: data.cut });
  goesOn.hidden = !data.cut;
  root.replaceChildren(
    element("p", { className: "prompt", textContent: prompt }),
    scrolled,
    goesOn,
    tableOf(data),
  );
  scrolled.scrollLeft = left;
}

/**
 * @param {BeamNode} node
 * @param {Labels} labels
 * @param {() => void} press
 */
function buttonOf({ column, row, word, share, total, score, fate, best }, labels, press) {
  const title = fill(labels[fate], {
    word,
    percent: percent(share),
    total: signed(total),
    score: signed(score),
  });
  const button = element(
    "button",
    { className: `${fate}${best ? " best" : ""}`, title, onclick: press },
    element("span", { textContent: word }),
    element("small", { textContent: `${percent(share)} · Σ ${signed(total)}` }),
  );
  Object.assign(button.style, {
    left: `${COLUMN * column}em`,
    top: `${ROW * row}em`,
    width: `${COLUMN - GAP}em`,
  });
  return button;
}

/**
 * Return the edges from each node to its parent, those of the best text on top.
 *
 * @param {BeamNode[]} nodes
 * @param {number[]} size
 */
function edges(nodes, [width, height]) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-hidden", "true");
  const linked = nodes
    .filter(({ parent }) => parent >= 0)
    .sort((one, other) => Number(one.best) - Number(other.best));
  for (const { parent, column, row, fate, best } of linked) {
    const path = document.createElementNS(SVG, "path");
    const [x, y, from] = [COLUMN * column, ROW * row + HALF, ROW * nodes[parent].row + HALF];
    path.setAttribute("d", `M${x - GAP},${from} C${x - GAP / 2},${from} ${x - GAP / 2},${y} ${x},${y}`);
    path.setAttribute("class", `${fate}${best ? " best" : ""}`);
    svg.append(path);
  }
  return svg;
}

/**
 * Return the texts that are left at the end, with their scores.
 *
 * @param {Beams} beams
 */
function tableOf({ texts, labels }) {
  const head = [labels.text, labels.sum, labels.points].map((textContent) => element("th", { textContent }));
  const rows = texts.map(({ words, total, score, best, ended }) => {
    const written = element("td", { textContent: words.join(" ") + (ended ? "" : " …") });
    return element(
      "tr",
      { className: best ? "best" : "" },
      written,
      element("td", { textContent: signed(total) }),
      element("td", { textContent: signed(score) }),
    );
  });
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows),
  );
}
