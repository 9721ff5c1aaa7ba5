// The tooltip beside the pointer.

import { element } from "./element.js";

/** @typedef {[x: number, y: number]} Point In pixels, from the top left of an element. */

/**
 * @typedef {object} Tip
 * @property {HTMLElement} element
 * @property {() => void} hide
 * @property {(beside: HTMLElement, place: Point, parts: (string | HTMLElement)[]) => void} show Shows texts and
 *   elements, one below the other, beside a point of an element.
 */

/**
 * Return a tooltip.
 *
 * @param {HTMLElement} root The positioned element that contains the tooltip.
 * @returns {Tip}
 */
export function tipOf(root) {
  const tip = element("div", { className: "tip", hidden: true });
  return {
    element: tip,
    hide() {
      tip.hidden = true;
    },
    show(beside, [x, y], parts) {
      const lines = parts.map((part) =>
        typeof part === "string" ? element("span", { textContent: part }) : part,
      );
      tip.replaceChildren(...lines);
      tip.hidden = false;
      const [edge, own] = [beside.getBoundingClientRect(), root.getBoundingClientRect()];
      const left = Math.min(edge.left - own.left + x + 16, own.width - tip.offsetWidth - 4);
      const above = edge.top - own.top + y + 18;
      const fits = edge.top + y + 18 + tip.offsetHeight < window.innerHeight;
      tip.style.left = `${Math.max(0, left)}px`;
      tip.style.top = `${fits ? above : above - tip.offsetHeight - 30}px`;
    },
  };
}
