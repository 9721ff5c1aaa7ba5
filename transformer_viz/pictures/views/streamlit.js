// The lens on a Streamlit page: one instance for each element, with the selection in the page's address.

import { isProjected, remember, start, write } from "./address.js";
import { followEffects, lastEffects } from "./effects.js";
import { mount } from "./lens.js";

/**
 * The argument of a Streamlit component.
 *
 * @template Data
 * @typedef {object} Component
 * @property {Data} data From Python.
 * @property {Element} parentElement The same for all runs of the page.
 * @property {(name: string, value: unknown) => void} setStateValue Sends a value to Python.
 * @property {(name: string, value: unknown) => void} setTriggerValue Sends one that holds for a single run of the page.
 */

/** @import {OtherFile} from "./controls.js" */
/** @import {LensHost} from "./lens.js" */
/** @import {State} from "./selection.js" */

/** @type {WeakMap<Element, ReturnType<typeof mount>>} */
const MOUNTED = new WeakMap();

/** @type {MutationObserver | null} */
let waiting = null; // for the button that saves the page of a selection

/** @param {Component<Uint8Array>} component */
export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector("div");
  const lens = MOUNTED.get(parentElement);
  if (lens) lens.update(data);
  else if (root) MOUNTED.set(parentElement, mount(root, data, hostOf({ setStateValue, setTriggerValue })));
  write();
  return undefined;
}

/**
 * Return the page around the lens; the server is told of the size, which holds for other pages too.
 *
 * @param {Pick<Component<Uint8Array>, "setStateValue" | "setTriggerValue">} component
 * @returns {LensHost}
 */
function hostOf({ setStateValue, setTriggerValue }) {
  let shown = isProjected();
  return {
    start: (model) => ({ ...start(model), projected: isProjected() }),
    remember({ projected, ...chosen }) {
      remember(chosen);
      if (projected !== shown) setStateValue("projected", projected);
      shown = projected;
    },
    files: () => files(setStateValue),
    askVectors: () => setStateValue("vectors", true),
    effects: lastEffects,
    followEffects,
    act: (asked) => setTriggerValue("acted", asked),
  };
}

/**
 * Return the download buttons of the page, which are hidden there.
 *
 * @param {Component<Uint8Array>["setStateValue"]} setStateValue
 * @returns {OtherFile[]}
 */
function files(setStateValue) {
  const buttons = [...document.querySelectorAll("[class*='st-key-download-'] button")];
  return buttons.flatMap((button) => {
    if (!(button instanceof HTMLButtonElement)) return [];
    const name = button.textContent?.trim() ?? "";
    const isPage = button.closest("[class*='st-key-download-html']") !== null;
    return [{ name, save: (state) => (isPage ? savePage(state, setStateValue) : button.click()) }];
  });
}

/**
 * Tell Python on which selection the saved page is to open, and press the button that saves it once that is there.
 *
 * @param {State} state
 * @param {Component<Uint8Array>["setStateValue"]} setStateValue
 */
function savePage({ kind, layer, head, view, value, scale, sort, pinned, projected }, setStateValue) {
  const number = Date.now();
  const press = () => {
    const button = document.querySelector(`.st-key-download-html-${number} button`);
    if (!(button instanceof HTMLButtonElement)) return;
    waiting?.disconnect();
    button.click();
  };
  waiting?.disconnect();
  waiting = new MutationObserver(press);
  waiting.observe(document.body, {
    attributes: true,
    attributeFilter: ["class"],
    childList: true,
    subtree: true,
  });
  const start = { kind, layer, head, view, value, scale, sort, pinned, projected };
  setStateValue("exported", { number, start });
}
