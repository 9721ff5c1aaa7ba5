// The line of a model's steps on a page whose pictures are drawn elsewhere.

import { kept } from "./address.js";
import { element } from "./element.js";
import { openHeads, openMap, pipelineOf, showIn } from "./pipeline.js";

/** @import {Pipeline, Step} from "./pipeline.js" */
/** @import {Component} from "./streamlit.js" */

/** @typedef {{model: string, pipeline: Pipeline, lit: {stack: string, part: string}, projected: boolean}} Where */

/** @param {Component<Where>} component */
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector("div");
  const { model, pipeline, lit, projected } = data;
  const isLit = (/** @type {Step} */ { part }, /** @type {string} */ stack) =>
    part === lit.part && stack === lit.stack;
  const layer = () => (kept()?.model === model ? (kept()?.layer ?? 0) : 0);
  const press = (/** @type {Step} */ { part, kind, is_norm: isNorm }, /** @type {string} */ stack) => {
    if (kind && !isNorm) openHeads(model, kind, layer());
    else openMap({ stack, part, layer: layer() });
  };
  const around = root?.querySelector(".where div") ?? element("div", {});
  if (!around.parentElement) root?.append(element("div", { className: "where" }, around));
  around.parentElement?.classList.toggle("projected", projected);
  showIn(around, pipelineOf(pipeline, isLit, press));
}
