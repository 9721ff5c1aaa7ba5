// One stack of a model as a table: its steps from left to right, its positions from top to bottom.

import { button } from "./buttons.js";
import { css, entry, inkOn } from "./colour.js";
import { element } from "./element.js";
import { heat } from "./mapdetail.js";
import { fill } from "./text.js";

/** @import {Cell, Place, Read, Stack, State, Words} from "./map.js" */
/** @import {Look} from "./theme.js" */
/** @import {Tip} from "./tip.js" */

/**
 * @typedef {object} TableOf
 * @property {Stack} stack
 * @property {number} number Of the stack.
 * @property {State} state
 * @property {Words} words
 * @property {Look} look
 * @property {Read} array
 * @property {(choice: Partial<State>) => void} select
 * @property {Tip} tip
 */

/** @param {number} share */
export const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;

/**
 * Return a stack: its steps as buttons and, if it is the selected one, what is at each position after them.
 *
 * @param {TableOf} shown
 */
export function table(shown) {
  const { stack, number, state, words } = shown;
  const isSelected = number === state.stack;
  const places = stack.places.map((_, place) => place);
  const strip = element("div", { className: `stack ${isSelected ? "selected" : ""}` });
  strip.style.setProperty("--places", String(places.length));
  const name = element("span", { className: "name", textContent: stack.name });
  if (stack.some) name.append(element("small", { textContent: stack.some }));
  strip.append(
    name,
    ...layers(stack, words),
    element("span", {}),
    ...places.map((place) => step(shown, place)),
  );
  if (isSelected) {
    const largest = Math.max(...stack.places.flatMap(({ lengths }) => lengths));
    const strips = state.mode === "values" ? stack.places.map((place) => values(place, shown)) : null;
    strip.append(
      element("span", {}),
      ...stack.places.map(({ how }) => element("small", { className: "how", textContent: how })),
    );
    for (let row = 0; row < stack.tokens.length; row++) {
      strip.append(label(shown, row));
      for (const place of places) {
        if (stack.places[place].whole && row) continue;
        strip.append(cell(shown, row, place, largest, strips?.[place]?.[row] ?? null));
      }
    }
    strip.append(...lengths(stack, words));
  }
  const isRead = stack.stack === "encoder" && stack.places.every(({ part }) => part !== "output");
  if (isRead) strip.append(element("small", { className: "memory", textContent: `${words.memory} ↴` }));
  return element("div", { className: "scroll" }, strip);
}

/** Return the brackets over the blocks. @param {Stack} stack @param {Words} words */
function layers({ places }, words) {
  const brackets = [];
  for (let from = 0; from < places.length; ) {
    const { layer } = places[from];
    let to = from + 1;
    while (to < places.length && places[to].layer === layer && layer !== null) to++;
    const text = layer === null ? "" : fill(words.layer, { layer: layer + 1 });
    const bracket = element("span", { className: layer === null ? "" : "layer", textContent: text });
    bracket.style.gridColumn = `span ${to - from}`;
    brackets.push(bracket);
    from = to;
  }
  return brackets;
}

/** Return the button of a step. @param {TableOf} shown @param {number} number */
function step({ stack, number: of, state, words, select }, number) {
  const place = stack.places[number];
  const isOpen = of === state.stack && number === state.place;
  const press = () =>
    select({ stack: of, place: isOpen ? null : number, ...(of === state.stack ? {} : { row: null }) });
  const made = button("", `step-${of}-${number}`, press, {
    className: `step ${place.part}`,
    pressed: isOpen,
  });
  if (place.normed) made.append(element("small", { textContent: `${words.norm} →` }));
  made.append(element("span", { textContent: place.title }));
  if (place.renormed) made.append(element("small", { textContent: `→ ${words.norm}` }));
  if (isAt(state, of, number)) made.classList.add("at");
  return made;
}

/** @param {State} state @param {number} stack @param {number} place */
const isAt = (state, stack, place) => state.row !== null && state.stack === stack && state.step === place;

/** Return the button of a token, which is then followed. @param {TableOf} shown @param {number} row */
function label({ stack, number, state, select }, row) {
  const token = stack.tokens[row];
  const isFollowed = state.row === row;
  const press = () =>
    select({ stack: number, row: isFollowed ? null : row, step: isFollowed ? 0 : state.step });
  const made = button(token, `row-${row}`, press, { className: "token", pressed: isFollowed });
  made.title = token;
  return made;
}

/**
 * Return what is at a position after a step.
 *
 * @param {TableOf} shown
 * @param {number} row
 * @param {number} place
 * @param {number} largest Length of the longest vector.
 * @param {HTMLCanvasElement | null} strip The numbers of the vector.
 */
function cell({ stack, number, state, words, look, tip }, row, place, largest, strip) {
  const { read, whole, lengths, step } = stack.places[place];
  const made = element("div", { className: "cell" });
  const found = read?.[whole ? 0 : row];
  if (state.row === row && state.step === place && number === state.stack) made.classList.add("lit");
  if (isAt(state, number, place)) made.classList.add("at");
  if (whole) made.style.gridRow = `span ${stack.tokens.length}`;
  const isRead = found && (state.mode === "reads" || !lengths.length);
  if (isRead)
    write(
      made,
      found,
      look,
      stack.places.some(({ whole }) => whole),
    );
  else if (strip) made.append(strip);
  else bar(made, lengths[row], largest);
  if (found) {
    const said = fill(words.read_cell, {
      token: stack.tokens[row],
      step,
      label: found.label,
      percent: percent(found.prob),
    });
    made.onpointerenter = () => tip.show(made, [0, made.offsetHeight], [said]);
    made.onpointerleave = () => tip.hide();
  }
  return made;
}

/**
 * Write what is read into a cell; another class than the answer has the other colour.
 *
 * @param {HTMLElement} made
 * @param {Cell} found
 * @param {Look} look
 * @param {boolean} isClass
 */
function write(made, { label, prob, kind }, look, isClass) {
  const isAnswer = kind === 2;
  made.classList.add(isClass ? "class" : ["other", "own", "final"][kind]);
  if (isAnswer || isClass) {
    const { sequential, diverging } = look.ramps;
    const colour = isClass
      ? diverging[entry(isAnswer ? prob : -prob, 1, true)]
      : sequential[entry(prob, 1, false)];
    made.style.background = css(colour);
    made.style.color = inkOn(colour);
  }
  made.append(element("b", { textContent: label }), element("span", { textContent: percent(prob) }));
}

/** @param {HTMLElement} made @param {number} length @param {number} largest */
function bar(made, length, largest) {
  made.classList.add("bar");
  made.style.setProperty("--share", `${(100 * length) / largest}%`);
  made.append(element("span", { textContent: length.toFixed(1) }));
}

/** Return the numbers of the vectors after a step, a strip for each position. @param {Place} place @param {TableOf} shown */
function values({ stream }, { array, look }) {
  if (!stream) return null;
  const [rows, columns] = stream.at.shape;
  const bits = array(stream.at);
  return Array.from({ length: rows }, (_, row) =>
    heat(bits.subarray(row * columns, (row + 1) * columns), columns, look, stream.end),
  );
}

/** Return the mean length of the vectors after each step. @param {Stack} stack @param {Words} words */
function lengths({ places }, words) {
  const means = places.map(
    ({ lengths }) => lengths.reduce((sum, length) => sum + length, 0) / lengths.length,
  );
  const largest = Math.max(...means.filter(Number.isFinite));
  const name = element("span", { className: "name", textContent: words.length });
  name.append(element("small", { textContent: words.mean }));
  const bars = means.map((mean) => {
    const made = element("div", { className: "mean" });
    if (!Number.isFinite(mean)) return made;
    const column = element("i", {});
    column.style.height = `${(100 * mean) / largest}%`;
    made.append(element("span", { textContent: mean.toFixed(1) }), column);
    return made;
  });
  return [name, ...bars];
}
