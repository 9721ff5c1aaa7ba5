// The evidence for what one head does over the visitor's own texts; it follows the selection of the lens on its page.

import { follow, kept } from "./address.js";
import { element } from "./element.js";
import { evidenceOf } from "./evidence.js";

/** @import {Address} from "./address.js" */
/** @import {Measured, Words} from "./payload.js" */
/** @import {Component} from "./streamlit.js" */

/** @typedef {{kind: string, layer: number, head: number}} Place */

/**
 * A sheet as Python packs it (pictures/sheet.py); null: unknown.
 *
 * @typedef {object} Sheet
 * @property {Place} place The head that is shown.
 * @property {Record<string, string | number | null>[]} measured
 * @property {string} role Name of the measure that stands out.
 * @property {Words} words
 */

/** @typedef {{sheet: HTMLElement, asked: string, tell: () => void}} Follower */

/** @type {WeakMap<Element, Follower>} */
const MOUNTED = new WeakMap();

/** @param {Component<Sheet>} component */
export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector("div");
  if (!root) return;
  const follower = MOUNTED.get(parentElement) ?? followerOf(parentElement, root);
  follower.sheet.replaceChildren(...evidenceOf(data.measured.map(known), data.role, data.words));
  follower.asked = JSON.stringify(data.place);
  follower.tell = () => {
    const place = JSON.stringify(placeOf(kept(), data.place));
    if (place === follower.asked) return;
    follower.asked = place;
    setStateValue("chosen", JSON.parse(place));
  };
  follower.tell();
}

/**
 * Return one measure of a head, its nulls replaced by NaN: unknown.
 *
 * @param {Record<string, string | number | null>} measure
 */
export function known(measure) {
  const entries = Object.entries(measure).map(([name, value]) => [name, value ?? NaN]);
  return /** @type {Measured} */ (Object.fromEntries(entries));
}

/** @param {Address | null} chosen @param {Place} shown @returns {Place} */
function placeOf(chosen, shown) {
  return {
    kind: chosen?.kind ?? shown.kind,
    layer: chosen?.layer ?? shown.layer,
    head: chosen?.head ?? shown.head,
  };
}

/** @param {Element} parent @param {Element} root @returns {Follower} */
function followerOf(parent, root) {
  const sheet = element("section", { className: "panel evidence" });
  const follower = { sheet, asked: "", tell() {} };
  MOUNTED.set(parent, follower);
  root.append(element("div", { className: "lens" }, sheet));
  follow(() => {
    if (root.isConnected) follower.tell();
    return root.isConnected;
  });
  return follower;
}
