// The lens on a Streamlit page: one instance for each element, with the selection in the page's address.

import { remember, start, write } from "./address.js";
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

/** @type {WeakMap<Element, ReturnType<typeof mount>>} */
const MOUNTED = new WeakMap();

/** @param {Component<Uint8Array>} component */
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector("div");
  const lens = MOUNTED.get(parentElement);
  if (lens) lens.update(data);
  else if (root) MOUNTED.set(parentElement, mount(root, data, { start, remember, files }));
  write();
  return undefined;
}

/** Return the download buttons of the page, which are hidden there. */
function files() {
  const buttons = [...document.querySelectorAll("[class*='st-key-download-'] button")];
  return buttons.flatMap((button) => {
    return button instanceof HTMLButtonElement ? [{ name: button.textContent?.trim() ?? "", save: () => button.click() }] : [];
  });
}
