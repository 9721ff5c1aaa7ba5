// The usual roles of the heads as a legend: pointing at a role lights its heads, a press keeps them lit.

import { button, group } from "./buttons.js";
import { countText, figureText, headName } from "./captions.js";
import { element } from "./element.js";
import { onKey } from "./keys.js";

/** @import {ControlsHost} from "./controls.js" */

/**
 * Return the legend.
 *
 * @param {ControlsHost} host
 */
export function legend({ selection, words, redraw }) {
  const { attention, state } = selection;
  /** @type {(pointed: string | null, kept?: string | null) => void} */
  const light = (pointed, kept = state.role) => {
    Object.assign(state, { pointedRole: pointed, role: kept });
    for (const each of buttons) each.ariaPressed = String(each.value === kept);
    redraw();
  };
  const buttons = [...selection.usualRoles()].map(([role, numbers], place) => {
    const press = () => light(null, state.role === role ? null : role);
    const made = button(countText(role, numbers), `role-${place}`, press, { pressed: state.role === role });
    made.value = role;
    const facts = (/** @type {number} */ number) => [
      headName(attention, number),
      figureText(attention, "role", number),
    ];
    made.title = numbers.map((number) => facts(number).join(" ").trim()).join(" · ");
    for (const event of ["pointerenter", "focus"]) made.addEventListener(event, () => light(role));
    for (const event of ["pointerleave", "blur"]) made.addEventListener(event, () => light(null));
    return made;
  });
  const made = group(words().usual_role, element("div", { className: "buttons" }, ...buttons));
  onKey(made, "button", ({ key }) => {
    if (key === "Escape") light(null, null);
  });
  return made;
}
