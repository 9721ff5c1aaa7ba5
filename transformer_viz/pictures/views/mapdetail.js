// The tensors of one step of a model as pictures: rows are positions, columns the numbers of each vector.

import { button } from "./buttons.js";
import { entry } from "./colour.js";
import { element } from "./element.js";
import { HALF } from "./payload.js";
import { contextOf } from "./pen.js";
import { fill } from "./text.js";

/** @import {Place, Read, Tensor, Words} from "./map.js" */
/** @import {Look} from "./theme.js" */
/** @import {Tip} from "./tip.js" */

/**
 * @typedef {object} DetailOf
 * @property {Place} place
 * @property {string[]} tokens
 * @property {Words} words
 * @property {Look} look
 * @property {Read} array
 * @property {(kind: string, layer: number) => void} open Shows the heads of a layer.
 * @property {Tip} tip
 */

/** Return the tensors of a step. @param {DetailOf} shown */
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
  return element("section", { className: "detail" }, head, pictures);
}

/**
 * Return a tensor with its shape and its range; the pointer reads its numbers.
 *
 * @param {Tensor} tensor
 * @param {DetailOf} shown
 */
function picture({ name, shape, at, zeros, limits, end }, { tokens, words, look, array, tip }) {
  const [rows, columns] = at.shape;
  const bits = array(at);
  const [least, most] = limits.map(short);
  const facts = [
    fill(words.shape, { rows: shape[0], columns: shape[1] }),
    fill(words.range, { least, most }),
  ];
  if (zeros >= 0.01) facts.push(fill(words.zeros, { percent: `${Math.round(100 * zeros)}%` }));
  facts.push(fill(words.ends, { end: short(end) }));
  const canvas = heat(bits, columns, look, end);
  canvas.setAttribute("role", "img");
  canvas.ariaLabel = fill(words.picture, { name });
  canvas.onpointermove = (event) => {
    const { width, height } = canvas.getBoundingClientRect();
    const column = Math.min(columns - 1, Math.floor((event.offsetX / width) * columns));
    const row = Math.min(rows - 1, Math.floor((event.offsetY / height) * rows));
    const value = short(HALF[bits[row * columns + column]]);
    tip.show(
      canvas,
      [event.offsetX, event.offsetY],
      [fill(words.cell, { token: tokens[row], number: column + 1, value })],
    );
  };
  canvas.onpointerleave = () => tip.hide();
  const labels = element(
    "div",
    { className: "rows" },
    ...tokens.map((token) => element("span", { textContent: token })),
  );
  const caption = element("figcaption", {}, element("b", { textContent: name }), ` ${facts.join(" · ")}`);
  return element("figure", {}, caption, element("div", { className: "heat" }, labels, canvas));
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

/** Return a number with three digits, with a real minus sign. @param {number} number */
const short = (number) => `${Number(number.toPrecision(3))}`.replace("-", "−");
