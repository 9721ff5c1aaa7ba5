// The lens in a Streamlit page: one instance for each element; what is chosen stands in the page's address.

import { mount } from "./lens.js";

const MOUNTED = new WeakMap();

export default function ({ data, parentElement }) {
  const lens = MOUNTED.get(parentElement);
  if (lens) lens.update(data);
  else MOUNTED.set(parentElement, mount(parentElement.querySelector("div"), data, { start: start(), remember }));
  return undefined;
}

function start() {
  const address = new URLSearchParams(window.location.search);
  const number = (name) => Math.max(0, (Number.parseInt(address.get(name), 10) || 1) - 1);
  const view = address.get("view");
  const found = { kind: address.get("kind"), layer: number("layer"), head: number("head") };
  return ["grid", "matrix", "lines", "steps"].includes(view) ? { ...found, view } : found;
}

function remember({ kind, layer, head, view }) {
  const address = new URL(window.location.href);
  const choice = { kind, layer: layer + 1, head: head + 1, view };
  for (const [name, value] of Object.entries(choice)) address.searchParams.set(name, value);
  window.history.replaceState(window.history.state, "", address);
}
