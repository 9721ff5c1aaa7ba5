// Streamlit's own texts in the reader's language, where it lays something over the page: menus, lists, dialogs and tips.

/** @import {Component} from "./streamlit.js" */

const PAGE = "root"; // id of the element that Streamlit draws the page in; all others are laid over it
const NOT_ITS_OWN = "[role=option][data-key]"; // options that can be chosen: the app's texts, and the visitor's

/** @type {Map<string, string>} */
let words = new Map();

/** @param {Component<Record<string, string>>} component `data`: Text of Streamlit's -> what stands there instead. */
export default function ({ data }) {
  words = new Map(Object.entries(data ?? {}));
  for (const layer of document.body.children) watch(layer);
}

const changed = new MutationObserver((records) => {
  for (const { target, addedNodes, type } of records) {
    for (const node of type === "childList" ? addedNodes : [target]) translate(node);
  }
});

/** Translate what is in a layer, now and later. @param {Node} layer */
function watch(layer) {
  if (!(layer instanceof HTMLElement) || layer.id === PAGE) return;
  changed.observe(layer, { childList: true, characterData: true, subtree: true });
  translate(layer);
}

new MutationObserver((records) =>
  records.flatMap(({ addedNodes }) => [...addedNodes]).forEach(watch),
).observe(document.body, {
  childList: true,
});

document.addEventListener("focusin", ({ target }) => {
  if (target instanceof HTMLInputElement && words.has(target.placeholder))
    target.placeholder = words.get(target.placeholder) ?? "";
});

/** Replace the texts in a part of a layer that are known. @param {Node} part */
function translate(part) {
  const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  for (let node = part instanceof Text ? part : texts.nextNode(); node; node = texts.nextNode()) {
    const found = node.nodeValue && words.get(node.nodeValue);
    if (found && !node.parentElement?.closest(NOT_ITS_OWN)) node.nodeValue = found;
  }
}
