// The selection in the page's address. Streamlit's server replaces the address by the last one it received; therefore
// the selection is also stored here while the page is open, and written again.

/** @import {ViewName} from "./selection.js" */

/**
 * The selection in the address; null: not chosen.
 *
 * @typedef {{model?: string, kind: string | null, layer: number | null, head: number | null, view?: ViewName}} Address
 */

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

/**
 * Return the first selection of a model: the last one on this page, else that of the address. The last one in another
 * model is forgotten.
 *
 * @param {string} model
 */
export function start(model) {
  if (selection?.model !== model) selection = null;
  const { kind, layer, head } = read();
  if (!selection && [kind, layer, head].some((part) => part !== null)) selection = { model, ...read() };
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

/** Forget the selection: back in the history of the browser, that of the address counts. */
export function forget() {
  selection = null;
}

/** Write the selection to the address if something else is there. */
export function write() {
  const address = withSelection(window.location.href);
  if (address.href !== window.location.href) window.history.replaceState(window.history.state, "", address);
}

/**
 * Return an address with the selection in it.
 *
 * @param {string | URL} address
 */
export function withSelection(address) {
  const { kind = null, layer = null, head = null, view } = selection ?? {};
  const selected = new URL(address, window.location.href);
  for (const [name, value] of Object.entries({ kind, layer: counted(layer), head: counted(head), view })) {
    if (value) selected.searchParams.set(name, String(value));
  }
  return selected;
}

/** Return whether the page is drawn larger, for a projector: the server keeps that in the address. */
export const isProjected = () => new URLSearchParams(window.location.search).get("projector") === "1";

/** @param {number | null} number */
const counted = (number) => (number === null ? null : number + 1);

/** @returns {Address} */
function read() {
  const address = new URLSearchParams(window.location.search);
  const number = (/** @type {string} */ name) => {
    const found = Number.parseInt(address.get(name) ?? "", 10);
    return found > 0 ? found - 1 : null;
  };
  const found = { kind: address.get("kind"), layer: number("layer"), head: number("head") };
  const views = /** @type {const} */ (["grid", "matrix", "lines", "steps"]);
  const view = views.find((each) => each === address.get("view"));
  return view ? { ...found, view } : found;
}
