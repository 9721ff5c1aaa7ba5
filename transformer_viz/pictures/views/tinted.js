// The words in the colour of what they do: a press on one leaves it out of the run.

import { onKey } from "./keys.js";

/** @import {Component} from "./streamlit.js" */

const WORD = ".tinted [role=button]";

/** @type {((name: string, value: unknown) => void) | null} */
let send = null;

/** @param {Component<null>} component */
export default function ({ setTriggerValue }) {
  if (!send) {
    document.addEventListener("click", ({ target }) =>
      press(target instanceof Element ? target.closest(WORD) : null),
    );
    onKey(document.body, WORD, ({ key }, word) => (key === "Enter" || key === " ") && press(word));
  }
  send = setTriggerValue;
}

/** Tell Python which word is pressed; return whether it is one. @param {Element | null} word */
function press(word) {
  if (!(word instanceof HTMLElement)) return false;
  send?.("pressed", Number(word.dataset.word));
  return true;
}
