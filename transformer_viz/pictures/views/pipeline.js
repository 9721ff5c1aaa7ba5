// The steps of a model in one line: where in the model a page is, and the way from there to the tensors of a step.

import { remember } from "./address.js";
import { button } from "./buttons.js";
import { element } from "./element.js";

/**
 * A step, as Python names it (pictures/pipeline.py).
 *
 * @typedef {object} Step
 * @property {string} part
 * @property {string} title
 * @property {string | null} kind Of attention.
 * @property {boolean} [is_norm] Whether it is a normalisation beside that part.
 */

/** @typedef {{stack: string, name: string, layers: number, begin: Step[], block: Step[]}} PipelineStack */

/** @typedef {{label: string, tokens: string, stacks: PipelineStack[], output: Step[]}} Pipeline */

/** @typedef {{stack: string, part: string, layer: number | null}} StepPlace */

const BESIDE = 120; // pixels that are shown behind the step that is lit

/** @type {StepPlace | null} */
let wanted = null; // the step on which the map is to open

/** Return the step on which the map is to open, once; null: none. */
export function takeWanted() {
  const taken = wanted;
  wanted = null;
  return taken;
}

/** Return whether the pages of the app can be reached from here. */
export const hasPages = () => linkTo("map") !== null;

/** Open the map on a step. @param {StepPlace} place */
export function openMap(place) {
  wanted = place;
  linkTo("map")?.click();
}

/** Open the heads of a layer. @param {string} model @param {string} kind @param {number | null} layer */
export function openHeads(model, kind, layer) {
  remember({ model, kind, layer, head: null });
  linkTo("")?.click();
}

/** @param {string} page @returns {HTMLElement | null} */
const linkTo = (page) => document.querySelector(`.st-key-pages a[href="${page}"]`);

/**
 * Return the line.
 *
 * @param {Pipeline} pipeline
 * @param {(step: Step, stack: string) => boolean} isLit Whether a step is where the page is.
 * @param {((step: Step, stack: string) => void) | null} press Called with a step that is pressed; null: none can be.
 */
export function pipelineOf({ label, tokens, stacks, output }, isLit, press) {
  const line = element("nav", { className: "pipeline", ariaLabel: label });
  const chip = (/** @type {Step} */ step, /** @type {string} */ stack) => {
    const isHere = !step.is_norm && isLit(step, stack);
    const name = `step-${stack}-${step.part}${step.is_norm ? "-norm" : ""}`;
    const made = press
      ? button(step.title, name, () => press(step, stack), {})
      : element("span", { textContent: step.title });
    made.classList.add("link");
    if (isHere) made.ariaCurrent = "step";
    return made;
  };
  const last = stacks[stacks.length - 1].stack;
  line.append(element("span", { className: "link", textContent: tokens }));
  for (const { stack, name, layers, begin, block } of stacks) {
    const times = layers > 1 ? `× ${layers}` : "";
    const box = element(
      "span",
      { className: "block" },
      ...[name && element("b", { textContent: name })].filter(Boolean),
    );
    box.append(
      ...block.map((step) => chip(step, stack)),
      ...(times ? [element("b", { className: "times", textContent: times })] : []),
    );
    line.append(...begin.map((step) => chip(step, stack)), ...(block.length ? [box] : []));
  }
  line.append(...output.map((step) => chip(step, last)));
  return line;
}

/** Show the line in an element, scrolled to where the page is. @param {Element} around @param {HTMLElement} line */
export function showIn(around, line) {
  around.replaceChildren(line);
  reveal(around);
}

/** Scroll the line in an element to where the page is, if that is out of sight. @param {Element} around */
export function reveal(around) {
  const line = around.firstElementChild;
  const here = line?.querySelector("[aria-current]");
  if (!line || !here) return;
  const [room, step] = [line.getBoundingClientRect(), here.getBoundingClientRect()];
  if (step.right > room.right - BESIDE) line.scrollLeft += step.right - room.right + BESIDE;
  else if (step.left < room.left) line.scrollLeft -= room.left - step.left;
}
