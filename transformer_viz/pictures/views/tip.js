// What is said of the place pointed at, beside it.

import { element } from "./element.js";

/** Return {element, show, hide}; `root` is what the place is measured from. */
export function tipOf(root) {
  const tip = element("div", { className: "tip", hidden: true });
  return {
    element: tip,
    hide() {
      tip.hidden = true;
    },
    /** Show texts and elements, one below the other, beside a place of a canvas. */
    show(canvas, [x, y], parts) {
      const lines = parts.map((part) => (typeof part === "string" ? element("span", { textContent: part }) : part));
      tip.replaceChildren(...lines);
      tip.hidden = false;
      const [edge, own] = [canvas.getBoundingClientRect(), root.getBoundingClientRect()];
      const left = Math.min(edge.left - own.left + x + 16, own.width - tip.offsetWidth - 4);
      const above = edge.top - own.top + y + 18;
      const fits = edge.top + y + 18 + tip.offsetHeight < window.innerHeight;
      tip.style.left = `${Math.max(0, left)}px`;
      tip.style.top = `${fits ? above : above - tip.offsetHeight - 30}px`;
    },
  };
}
