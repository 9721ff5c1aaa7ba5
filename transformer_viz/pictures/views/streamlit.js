// The lens in a Streamlit page: one instance for each element; what is chosen stands in the page's address.

import { remember, start, write } from "./address.js";
import { mount } from "./lens.js";

const MOUNTED = new WeakMap();

export default function ({ data, parentElement }) {
  const lens = MOUNTED.get(parentElement);
  if (lens) lens.update(data);
  else MOUNTED.set(parentElement, mount(parentElement.querySelector("div"), data, { start: start(), remember }));
  write();
  return undefined;
}
