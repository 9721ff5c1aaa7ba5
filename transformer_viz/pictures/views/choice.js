// Synchronises the menus that select a head with the views of other pages, in both directions.

import { keep, kept } from "./address.js";

/** @import {Address} from "./address.js" */
/** @import {Component} from "./streamlit.js" */

/** @type {WeakSet<Element>} */
const MOUNTED = new WeakSet();

/** @param {Component<Partial<Address>>} component */
export default function ({ data, parentElement, setStateValue }) {
  const before = kept();
  const names = /** @type {(keyof Address)[]} */ (Object.keys(data));
  const differs = before?.model === data.model && before && names.some((name) => before[name] !== data[name]);
  if (differs && !MOUNTED.has(parentElement)) setStateValue("chosen", before);
  else keep(data);
  MOUNTED.add(parentElement);
}
