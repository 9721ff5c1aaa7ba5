// One stack of a model as a table: its steps from left to right, its positions from top to bottom.

import { button } from "./buttons.js";
import { css, entry, inkOn } from "./colour.js";
import { element } from "./element.js";
import { heat } from "./maptensor.js";
import { fill } from "./text.js";
import { walk } from "./walking.js";

/** @import {Cell, Place, Read, Stack, State, Words} from "./map.js" */
/** @import {Numbers} from "./numbers.js" */
/** @import {Look} from "./theme.js" */
/** @import {Tip} from "./tip.js" */
/** @import {Cell as At} from "./walking.js" */

/**
 * @typedef {object} TableOf
 * @property {Stack} stack
 * @property {number} number Of the stack.
 * @property {State} state
 * @property {number} start The row of the selected stack that is followed first.
 * @property {Words} words
 * @property {Numbers} numbers
 * @property {Look} look
 * @property {Read} array
 * @property {(choice: Partial<State>) => void} select
 * @property {(key: string, column: number) => At} stopOf Where the Tab key stops in a grid.
 * @property {Tip} tip
 */

/**
 * Return a stack as a grid: its steps as buttons and, if it is the selected one, what is at each position after them.
 *
 * @param {TableOf} shown
 */
export function table(shown) {
  const { stack, number, state, words, stopOf } = shown;
  const isSelected = number === state.stack;
  const rows = [heading(shown), ...(isSelected ? [...positions(shown), means(shown)] : [])];
  const grid = element("div", {
    role: "grid",
    ariaLabel: stack.name,
    ariaRowCount: `${stack.of + 2}`,
    ariaColCount: `${stack.places.length + 1}`,
  });
  const [heads, ...others] = rows.map((cells, row) => {
    const index = row === 0 ? 1 : row === rows.length - 1 ? stack.of + 2 : stack.first + row + 1;
    const own = cells.filter((cell) => rows[row - 1]?.includes(cell) !== true); // what spans rows stands in the first
    return element("div", { role: "row", ariaRowIndex: `${index}` }, ...own);
  });
  grid.append(brackets(stack, words), heads, effects(stack), ...others);
  walk(
    grid,
    rows.map((cells) => cells.map((cell) => cell.querySelector("button") ?? cell)),
    stopOf(`stack-${number}`, 1),
  );
  const strip = element("div", { className: `stack ${isSelected ? "selected" : ""}` }, grid);
  strip.style.setProperty("--places", String(stack.places.length));
  const isRead = stack.stack === "encoder" && stack.places.every(({ part }) => part !== "output");
  if (isRead) strip.append(element("small", { className: "memory", textContent: `${words.memory} ↴` }));
  return element("div", { className: "scroll" }, strip);
}

/**
 * @param {string} role
 * @param {number} column
 * @param {string} className
 * @param {...(Node | string)} children
 */
const cellOf = (role, column, className, ...children) =>
  element("div", { role, ariaColIndex: `${column + 1}`, className }, ...children);

/** Return the brackets over the blocks, for the eye: the names of the steps say the same. @param {Stack} stack @param {Words} words */
function brackets({ places }, words) {
  const row = element("div", { className: "row", ariaHidden: "true" }, element("span", {}));
  for (let from = 0; from < places.length; ) {
    const { layer } = places[from];
    let to = from + 1;
    while (to < places.length && places[to].layer === layer && layer !== null) to++;
    const text = layer === null ? "" : fill(words.layer, { layer: layer + 1 });
    const bracket = element("span", { className: layer === null ? "" : "layer", textContent: text });
    bracket.style.gridColumn = `span ${to - from}`;
    row.append(bracket);
    from = to;
  }
  return row;
}

/** Return what each step does to the stream, for the eye. @param {Stack} stack */
function effects({ places }) {
  const made = places.map(({ how }) =>
    element("small", { className: "how" }, element("span", { textContent: how })),
  );
  return element("div", { className: "row", ariaHidden: "true" }, element("span", {}), ...made);
}

/** Return the names of the stack and of its steps. @param {TableOf} shown */
function heading(shown) {
  const { stack } = shown;
  const name = cellOf("columnheader", 0, "name", stack.name);
  if (stack.some) name.append(element("small", { textContent: stack.some }));
  const steps = stack.places.map((place, number) => {
    const made = cellOf("columnheader", number + 1, "head", step(shown, number));
    if (place.skipped) made.append(element("i", { className: "skip" }));
    return made;
  });
  return [name, ...steps];
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
  if (place.layer !== null) {
    const parts = [...made.children].map(({ textContent }) => textContent).join(" ");
    const layer = fill(words.layer, { layer: place.layer + 1 });
    made.ariaLabel = fill(words.step_name, { step: parts, layer, how: place.how });
  }
  if (isAt(state, of, number)) made.classList.add("at");
  return made;
}

/** Return the rows of the positions. @param {TableOf} shown */
function positions(shown) {
  const { stack, state } = shown;
  const largest = Math.max(...stack.places.flatMap(({ lengths }) => lengths));
  const strips = state.mode === "values" ? stack.places.map((place) => values(place, shown)) : null;
  /** @type {HTMLElement[]} */
  const spanning = [];
  return stack.tokens.map((_, row) => {
    const cells = stack.places.map(({ whole }, place) => {
      if (!whole) return cell(shown, row, place, largest, strips?.[place]?.[row] ?? null);
      spanning[place] ??= cell(shown, row, place, largest, null);
      return spanning[place];
    });
    return [cellOf("rowheader", 0, "label", label(shown, row)), ...cells];
  });
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
 * Return what is at a position after a step; whoever presses it follows the position from there.
 *
 * @param {TableOf} shown
 * @param {number} row
 * @param {number} place
 * @param {number} largest Length of the longest vector.
 * @param {HTMLCanvasElement | null} strip The numbers of the vector.
 */
function cell(shown, row, place, largest, strip) {
  const { stack, number, state, start, words, numbers, tip, select } = shown;
  const { read, whole, lengths, step, stream } = stack.places[place];
  const made = cellOf("gridcell", place + 1, "cell");
  made.dataset.key = `cell-${row}-${place}`;
  const found = read?.[whole ? 0 : row];
  const isLit = isAt(state, number, place) && (whole || state.row === row);
  if (isLit) Object.assign(made, { ariaSelected: "true" }).classList.add("lit");
  if (isAt(state, number, place)) made.classList.add("at");
  if (whole) {
    made.style.gridRow = `span ${stack.tokens.length}`;
    made.ariaRowSpan = `${stack.tokens.length}`;
  }
  if (found && (state.mode === "reads" || !lengths.length)) write(made, found, shown);
  else if (strip) {
    made.append(strip);
    const facts = { count: stream?.shape[1] ?? 0, length: numbers.decimal(lengths[row]) };
    made.ariaLabel = fill(words.values_cell, facts);
  } else bar(made, lengths[row], largest, numbers);
  const followed = whole ? (state.row ?? start) : row;
  made.onclick = () => select(isLit ? { row: null, step: 0 } : { row: followed, step: place });
  if (found) {
    const said = fill(words.read_cell, {
      token: stack.tokens[row],
      step,
      label: found.label,
      percent: numbers.percent(found.prob),
    });
    const show = () => tip.show(made, [0, made.offsetHeight], [said]);
    made.onpointerenter = made.onfocus = show;
    made.onpointerleave = made.onblur = () => tip.hide();
  }
  return made;
}

/**
 * Write what is read into a cell; another class than the answer has the other colour.
 *
 * @param {HTMLElement} made
 * @param {Cell} found
 * @param {TableOf} shown
 */
function write(made, { label, prob, kind }, { stack, look, numbers }) {
  const isAnswer = kind === 2;
  const isClass = stack.places.some(({ whole }) => whole);
  made.classList.add(isClass ? "class" : ["other", "own", "final"][kind]);
  if (isAnswer || isClass) {
    const { sequential, diverging } = look.ramps;
    const colour = isClass
      ? diverging[entry(isAnswer ? prob : -prob, 1, true)]
      : sequential[entry(prob, 1, false)];
    made.style.background = css(colour);
    made.style.color = inkOn(colour);
  }
  made.append(
    element("b", { textContent: label }),
    " ",
    element("span", { textContent: numbers.percent(prob) }),
  );
}

/** @param {HTMLElement} made @param {number} length @param {number} largest @param {Numbers} numbers */
function bar(made, length, largest, numbers) {
  made.classList.add("bar");
  made.style.setProperty("--share", `${(100 * length) / largest}%`);
  made.append(element("span", { textContent: numbers.decimal(length) }));
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

/** Return the row of the mean lengths of the vectors after each step. @param {TableOf} shown */
function means({ stack, words, numbers }) {
  const found = stack.places.map(
    ({ lengths }) => lengths.reduce((sum, length) => sum + length, 0) / lengths.length,
  );
  const largest = Math.max(...found.filter(Number.isFinite));
  const name = cellOf("rowheader", 0, "name", words.length, element("small", { textContent: words.mean }));
  const bars = found.map((mean, place) => {
    const made = cellOf("gridcell", place + 1, "mean");
    if (!Number.isFinite(mean)) return made;
    const column = element("i", {});
    column.style.height = `${(100 * mean) / largest}%`;
    made.append(element("span", { textContent: numbers.decimal(mean) }), column);
    return made;
  });
  return [name, ...bars];
}
