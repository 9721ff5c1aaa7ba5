// The selection in the page's address. Streamlit's server replaces the address by the last one it received; therefore
// the selection is also stored here while the page is open, and written again.

/** @import {ViewName} from "./selection.js" */

/** @typedef {{kind: string | null, layer: number, head: number, view?: ViewName}} Address The selection in the address. */

/** @type {Address | null} */
let selection = null;

/** @type {Set<() => boolean>} */
const FOLLOWERS = new Set();

/** Return the last selection on this page; null: none yet. */
export function kept() {
  return selection;
}

/**
 * Keep a selection, or a part of one.
 *
 * @param {Partial<Address>} part
 */
export function keep(part) {
  selection = { ...(selection ?? read()), ...part };
}

/** Return the first selection: the last one on this page, else that of the address. */
export function start() {
  return selection ?? read();
}

/**
 * Keep a selection, write it to the address, and tell those who follow it.
 *
 * @param {Partial<Address>} part
 */
export function remember(part) {
  keep(part);
  write();
  for (const told of FOLLOWERS) if (!told()) FOLLOWERS.delete(told);
}

/**
 * Follow the selection.
 *
 * @param {() => boolean} told Called after each change of it; not again once it returns false.
 */
export function follow(told) {
  FOLLOWERS.add(told);
}

/** Write the selection to the address if something else is there. */
export function write() {
  if (!selection) return;
  const { kind, layer, head, view } = selection;
  const address = new URL(window.location.href);
  for (const [name, value] of Object.entries({ kind, layer: layer + 1, head: head + 1, view })) {
    if (value) address.searchParams.set(name, String(value));
  }
  if (address.href !== window.location.href) window.history.replaceState(window.history.state, "", address);
}

/** @returns {Address} */
function read() {
  const address = new URLSearchParams(window.location.search);
  const number = (/** @type {string} */ name) => Math.max(0, (Number.parseInt(address.get(name) ?? "", 10) || 1) - 1);
  const found = { kind: address.get("kind"), layer: number("layer"), head: number("head") };
  const views = /** @type {const} */ (["grid", "matrix", "lines", "steps"]);
  const view = views.find((each) => each === address.get("view"));
  return view ? { ...found, view } : found;
}
