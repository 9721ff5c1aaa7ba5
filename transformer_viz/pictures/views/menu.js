// A menu that opens below its button, flush with the last one beside it.

import { element } from "./element.js";
import { onKey } from "./keys.js";

/**
 * Return a menu; a press outside of it, or Escape, closes it.
 *
 * @param {string} kind Name of its class.
 */
export function menuOf(kind) {
  const label = element("summary", {});
  const body = element("div", { className: "body" });
  const menu = element("details", { className: `menu ${kind}` }, label, body);
  const leave = (/** @type {Event} */ event) => {
    if (!event.composedPath().includes(menu)) menu.open = false;
  };
  const close = () => {
    menu.open = false;
    label.focus();
  };
  onKey(menu, "*", ({ key }) => {
    if (key === "Escape" && menu.open) close();
  });
  document.addEventListener("click", leave);
  return {
    element: menu,
    body,
    close,
    name: (/** @type {string} */ name) => label.replaceChildren(name),
    destroy: () => document.removeEventListener("click", leave),
  };
}
