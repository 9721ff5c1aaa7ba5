// A text in which a press on a token hides it behind [MASK], and another brings it back.

import { layOut } from "./direction.js";
import { element } from "./element.js";

/** @import {Component} from "./streamlit.js" */

/**
 * A token of the text, as Python packs it (pictures/cloze.py).
 *
 * @typedef {object} Token
 * @property {string} word As typed.
 * @property {[begin: number, end: number]} place In the text, in characters.
 * @property {boolean} hidden Whether it is [MASK].
 * @property {string} help What a press does; "": nothing.
 */

/** @typedef {{text: string, label: string, parts: (Token | string)[]}} Cloze Between the tokens, spaces and marks of gaps. */

/** @param {Component<Cloze>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const row = parentElement.querySelector(".cloze") ?? element("div", { className: "cloze", role: "group" });
  if (!row.isConnected) parentElement.querySelector("div")?.append(row);
  const focused = [...row.querySelectorAll("button")].findIndex((button) => button.matches(":focus"));
  row.ariaLabel = data.label;
  const texts = data.parts.map((part) => (typeof part === "string" ? part : part.word));
  layOut(
    row,
    texts,
    data.parts.map((part) => {
      if (typeof part === "string") return part;
      const { word, place, hidden, help } = part;
      const button = element("button", {
        textContent: word,
        title: help,
        ariaPressed: `${hidden}`,
        disabled: !help,
      });
      button.onclick = () => setTriggerValue("pressed", { text: data.text, place });
      return button;
    }),
  );
  row.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
}
