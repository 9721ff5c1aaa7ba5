// The heads of any Keras model over the epochs of a training, on a page of its own: menus above the player of one layer.

import { element } from "./element.js";
import { Lapse } from "./lapse.js";
import { unpack } from "./payload.js";

/** @import {Where} from "./payload.js" */

/** @typedef {{label: string, names: string[], start: number}} Menu `start`: the number of what is chosen first. */

/**
 * What Python packs (epochs.py).
 *
 * @typedef {object} Header
 * @property {Menu[]} menus
 * @property {Where<"uint8">[]} played The payload of the player for each choice, those of the last menu together.
 */

/**
 * Show a payload in an element.
 *
 * @param {HTMLElement} root
 * @param {Uint8Array} bytes
 */
export function mount(root, bytes) {
  const { header, array } = unpack(bytes);
  const { menus, played } = /** @type {Header} */ (header);
  const selects = menus.map(selectOf);
  const chosen = () =>
    array(played[selects.reduce((place, { length, selectedIndex }) => place * length + selectedIndex, 0)]);
  const bar = element("div", { className: "menus" });
  menus.forEach(({ label, names }, i) => {
    if (names.length > 1) bar.append(element("label", {}, label, selects[i]));
  });
  const own = element("div", {});
  root.append(bar, own);
  const lapse = new Lapse(own, chosen());
  for (const select of selects) select.addEventListener("change", () => lapse.update(chosen()));
}

/** @param {Menu} menu */
function selectOf({ names, start }) {
  const select = element("select", {}, ...names.map((name) => element("option", { textContent: name })));
  select.selectedIndex = start;
  return select;
}
