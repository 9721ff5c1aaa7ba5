// Buttons, and groups of them under a label.

import { element } from "./element.js";
import { onKey } from "./keys.js";

/**
 * @param {string} text
 * @param {string} key Name by which the button is found again after an update.
 * @param {(event: MouseEvent) => void} press
 * @param {{className?: string, pressed?: boolean}} options `pressed`: of a button that stays pressed.
 */
export function button(text, key, press, { className = "", pressed }) {
  const made = element("button", { type: "button", textContent: text, className });
  made.dataset.key = key;
  if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
  made.addEventListener("click", press);
  return made;
}

/**
 * Return elements under a label; of three buttons or more, the Tab key stops at one only.
 *
 * @param {string} label
 * @param {...HTMLElement} children
 */
export function group(label, ...children) {
  const made = element("div", { className: "group" }, element("span", { textContent: label }), ...children);
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", label);
  roving(made);
  return made;
}

/**
 * Let the Tab key stop at one button of a group only; the arrow keys move between its buttons.
 *
 * @param {HTMLElement} group
 */
function roving(group) {
  const buttons = [...group.querySelectorAll("button")];
  if (buttons.length < 3) return;
  const stop = buttons.find((button) => button.ariaCurrent || button.ariaPressed === "true") ?? buttons[0];
  for (const button of buttons) button.tabIndex = button === stop ? 0 : -1;
  onKey(group, "button", ({ key }, pressedOn) => {
    const by = key === "ArrowLeft" ? -1 : key === "ArrowRight" ? 1 : 0;
    const at = buttons.findIndex((button) => button === pressedOn);
    if (by) buttons[(at + by + buttons.length) % buttons.length].focus();
    return by;
  });
}
