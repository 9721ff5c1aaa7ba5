// A tensor as a picture: rows are positions, columns the numbers of each vector; the pointer and the keys read them.

import { entry } from "./colour.js";
import { element } from "./element.js";
import { onKey } from "./keys.js";
import { HALF } from "./payload.js";
import { contextOf } from "./pen.js";
import { fill } from "./text.js";
import { led, within } from "./walking.js";

/** @import {Tensor} from "./map.js" */
/** @import {DetailOf} from "./mapdetail.js" */
/** @import {Look} from "./theme.js" */
/** @import {Cell} from "./walking.js" */

/**
 * Return a tensor with its shape and its range.
 *
 * @param {Tensor} tensor
 * @param {DetailOf} shown
 */
export function picture({ name, shape, rows: own, at, zeros, limits, end }, shown) {
  const { words, look, array, tip, numbers } = shown;
  const labels = own ?? shown.tokens;
  const [rows, columns] = at.shape;
  const bits = array(at);
  const [least, most] = limits.map(numbers.short);
  const facts = [
    fill(own ? words.vector : words.shape, { rows: shape[0], columns: shape[1] }),
    fill(words.range, { least, most }),
  ];
  if (zeros >= 0.01) facts.push(fill(words.zeros, { percent: `${Math.round(100 * zeros)}%` }));
  facts.push(fill(words.ends, { end: numbers.short(end) }));
  const canvas = heat(bits, columns, look, end);
  canvas.setAttribute("role", "img");
  canvas.ariaLabel = fill(words.picture, { name });
  const said = (/** @type {Cell} */ { row, column }) =>
    fill(words.cell, {
      token: labels[row],
      number: column + 1,
      value: numbers.short(HALF[bits[row * columns + column]]),
    });
  canvas.onpointermove = ({ offsetX: x, offsetY: y }) => {
    const { width, height } = canvas.getBoundingClientRect();
    const cell = { row: Math.floor((y / height) * rows), column: Math.floor((x / width) * columns) };
    tip.show(canvas, [x, y], [said(within(cell, rows, columns))]);
  };
  canvas.onpointerleave = () => tip.hide();
  const beside = element(
    "div",
    { className: "rows" },
    ...labels.map((label) => element("span", { textContent: label })),
  );
  const caption = element("figcaption", {}, element("b", { textContent: name }), ` ${facts.join(" · ")}`);
  const plot = element("div", { className: "plot" }, canvas, reader(name, [rows, columns], said, shown));
  return element("figure", {}, caption, element("div", { className: "heat" }, beside, plot));
}

/**
 * Return a grid over a picture, of as many cells as that has numbers; only the one at which the keyboard is exists.
 *
 * @param {string} name
 * @param {[rows: number, columns: number]} size
 * @param {(cell: Cell) => string} said What a cell says.
 * @param {DetailOf} shown
 */
function reader(name, [rows, columns], said, { place, tip, stopOf }) {
  const key = `${place.step}: ${name}`;
  const grid = element("div", {
    className: "reader",
    role: "grid",
    ariaLabel: name,
    ariaRowCount: `${rows}`,
    ariaColCount: `${columns}`,
  });
  const at = stopOf(key, 0);
  Object.assign(at, within(at, rows, columns));
  const put = () => {
    const text = said(at);
    const cell = element("div", {
      role: "gridcell",
      tabIndex: 0,
      ariaColIndex: `${at.column + 1}`,
      ariaLabel: text,
    });
    cell.dataset.key = key;
    Object.assign(cell.style, {
      left: `${(100 * at.column) / columns}%`,
      top: `${(100 * at.row) / rows}%`,
      width: `${100 / columns}%`,
      height: `${100 / rows}%`,
    });
    cell.addEventListener("focus", () => tip.show(cell, [0, cell.offsetHeight], [text]));
    cell.addEventListener("blur", () => tip.hide());
    grid.replaceChildren(element("div", { role: "row", ariaRowIndex: `${at.row + 1}` }, cell));
    return cell;
  };
  onKey(grid, '[role="gridcell"]', ({ key }) => {
    const to = led(key, at, rows, columns);
    if (!to) return false;
    Object.assign(at, to);
    put().focus({ preventScroll: true });
    return true;
  });
  put();
  return grid;
}

/**
 * Return half-precision numbers as a picture, one pixel for each.
 *
 * @param {Uint16Array} bits
 * @param {number} columns
 * @param {Look} look
 * @param {number} end Where the colours end.
 */
export function heat(bits, columns, look, end) {
  const canvas = element("canvas", { width: columns, height: bits.length / columns });
  const image = new ImageData(columns, bits.length / columns);
  new Uint32Array(image.data.buffer).set(
    Uint32Array.from(bits, (each) => look.ramps.diverging[entry(HALF[each], end, true)]),
  );
  contextOf(canvas).putImageData(image, 0, 0);
  return canvas;
}
