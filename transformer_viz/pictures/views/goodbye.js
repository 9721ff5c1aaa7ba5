// The page of the window that the command opened says when it goes, so that the server can end.

/** @import {Component} from "./streamlit.js" */

let isPromised = false;

/** @param {Component<string>} component `data`: Where it is told. */
export default function ({ data }) {
  if (isPromised) return;
  isPromised = true;
  window.addEventListener("pagehide", () => navigator.sendBeacon(new URL(data, document.baseURI)));
}
