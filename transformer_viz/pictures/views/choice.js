// Where widgets choose the head: they take over what the views chose on another page, and the views what they chose.

import { keep, kept } from "./address.js";

const MOUNTED = new WeakSet();

export default function ({ data, parentElement, setStateValue }) {
  const before = kept();
  const differs = before && Object.entries(data).some(([name, value]) => before[name] !== value);
  if (differs && !MOUNTED.has(parentElement)) setStateValue("chosen", before);
  else keep(data);
  MOUNTED.add(parentElement);
}
