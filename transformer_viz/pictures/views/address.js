// The selection in the page's address. Streamlit's server replaces the address by the last one it received; therefore
// the selection is also stored here while the page is open, and written again.

import { VALUES } from "./selection.js";

/** @import {State, Token, ViewName} from "./selection.js" */

/**
 * The selection in the address; null: not chosen.
 *
 * @typedef {{model?: string, kind: string | null, layer: number | null, head: number | null, view?: ViewName}
 *   & Partial<Pick<State, "value" | "scale" | "sort" | "pinned">>} Address
 */

/** @type {Record<string, string>} */
const USUAL = { value: "weights", scale: "head", sort: "place" }; // what the address leaves out

const VIEWS = /** @type {const} */ (["grid", "matrix", "lines", "steps", "masking", "ways"]);

/** @type {Record<string, ViewName>} */
const FORMER = { steps: "masking", ways: "ways" }; // how a part of the address named views of a mask once

/** @type {Address | null} */
let selection = null;

/** Parts of the address that say which run the workbench shows, and how. */
const RUN_PARTS = /** @type {const} */ ([
  ...["text", "target", "changes", "before", "looks", "effects", "why", "about", "rather", "at"],
  ...["mask", "reach", "causal", "pads", "bits", "do", "swap", "seed"],
]);

/** @type {Record<string, string> | null} */
let run = null;

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
  selection = { ...(selection ?? written()), ...part };
}

/**
 * Return the first selection of a model: the last one, else that of the address. The last one in another model is
 * forgotten; in the same model the pinned cell is, as the text may have changed on another page.
 *
 * @param {string} model
 */
export function start(model) {
  if (selection?.model !== model) selection = null;
  else delete selection.pinned;
  const { kind, layer, head } = written();
  if (!selection && [kind, layer, head].some((part) => part !== null)) selection = { model, ...written() };
  return selection ?? written();
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

/** Return the run in the address: part -> what it says; parts that are not there are left out. */
export function runInAddress() {
  const address = new URLSearchParams(window.location.search);
  return Object.fromEntries(
    RUN_PARTS.flatMap((name) => (address.has(name) ? [[name, address.get(name) ?? ""]] : [])),
  );
}

/**
 * Keep the run that the workbench shows, and write it to the address: as an entry of the history, or in place of the last.
 *
 * @param {Record<string, string> | null} parts Without those that are as usual; null: no run is shown any more.
 * @param {{isNew?: boolean}} [how]
 */
export function keepRun(parts, { isNew } = {}) {
  run = parts;
  if (!parts) return;
  const address = withSelection(window.location.href);
  if (isNew && address.href !== window.location.href)
    window.history.pushState(window.history.state, "", address);
  else write();
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
  const selected = new URL(address, window.location.href);
  for (const name of run ? RUN_PARTS : []) {
    if (run?.[name]) selected.searchParams.set(name, run[name]);
    else selected.searchParams.delete(name);
  }
  if (!selection) return selected;
  const { kind, layer, head, view, value, scale, sort, pinned } = selection;
  selected.searchParams.delete("mask_view");
  for (const [name, part] of Object.entries({ kind, layer: counted(layer), head: counted(head), view })) {
    if (part) selected.searchParams.set(name, String(part));
  }
  for (const [name, part] of Object.entries({ value, scale, sort, cell: pinned && cellName(pinned) })) {
    if (!part || part === USUAL[name]) selected.searchParams.delete(name);
    else selected.searchParams.set(name, part);
  }
  return selected;
}

/** Return whether the page is drawn larger, for a projector: the server keeps that in the address. */
export const isProjected = () => new URLSearchParams(window.location.search).get("projector") === "1";

/** @param {number | null} number */
const counted = (number) => (number === null ? null : number + 1);

/** Return a pinned cell as in the address: "5-3", "5-" for a query, "-3" for a key, "" for nothing. @param {Token} token */
const cellName = ({ query, key }) =>
  query === null && key === null ? "" : [query, key].map((at) => counted(at) ?? "").join("-");

/** Return the cell of such a name. @param {string} name @returns {Token | undefined} */
function cellOf(name) {
  const found = /^([1-9]\d{0,5})?-([1-9]\d{0,5})?$/.exec(name);
  if (!found || name === "-") return undefined;
  const [query, key] = [found[1], found[2]].map((part) => (part ? Number(part) - 1 : null));
  return { query, key };
}

/** Return the selection that is written in the address. @returns {Address} */
export function written() {
  const address = new URLSearchParams(window.location.search);
  const number = (/** @type {string} */ name) => {
    const found = Number.parseInt(address.get(name) ?? "", 10);
    return found > 0 ? found - 1 : null;
  };
  /** @type {Address} */
  const found = { kind: address.get("kind"), layer: number("layer"), head: number("head") };
  const view = VIEWS.find((each) => each === (address.get("view") ?? FORMER[address.get("mask_view") ?? ""]));
  if (view) found.view = view;
  const value = VALUES.find((each) => each === address.get("value"));
  if (value) found.value = value;
  if (address.get("scale") === "one") found.scale = "one";
  const sort = address.get("sort");
  if (sort) found.sort = sort;
  const pinned = cellOf(address.get("cell") ?? "");
  if (pinned) found.pinned = pinned;
  return found;
}
