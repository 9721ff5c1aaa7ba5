// Matrices of the same tokens side by side, each below its name and its formula: pointer and zoom are shared.

import { element } from "./element.js";
import { Panel, unpacked } from "./panel.js";
import { PageTheme } from "./theme.js";

/** @import {Packed, Send} from "./panel.js" */
/** @import {Component} from "./streamlit.js" */

/** @typedef {Packed & {heading: string, formula: string}} Named A panel with its name, and its formula or "". */

/**
 * What Python packs (ui/shell/panels.py).
 *
 * @typedef {object} Header
 * @property {Named[]} panels
 * @property {number} least Least width of a panel, in pixels.
 * @property {number} share The same in percent of the width of all.
 */

/** @type {WeakMap<Element, Panels>} */
const SHOWN = new WeakMap();
const PARTS = /([_^]?)(\p{L}+|\d+|[^\p{L}\d_^]+)/gu; // of a formula: "d_k" is d and, below it, k

/** @param {Component<Header>} component */
export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector("div");
  if (!root) return;
  const panels = SHOWN.get(parentElement) ?? new Panels(root);
  SHOWN.set(parentElement, panels);
  panels.update(data, (strokes) => setStateValue("strokes", strokes));
}

class Panels {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.element = element("div", { className: "panels" });
    this.page = new PageTheme(root);
    /** @type {{panel: Panel, section: HTMLElement, heading: HTMLElement, formula: HTMLElement}[]} */
    this.members = [];
    root.append(this.element);
  }

  /**
   * Show other matrices in place of these.
   *
   * @param {Header} header
   * @param {Send} send Called with painted strokes.
   */
  update({ panels, least, share }, send) {
    this.element.style.setProperty("--least", `${least}px`);
    this.element.style.setProperty("--share", `${share}%`);
    this.element.classList.toggle("projected", Boolean(panels[0].projected));
    for (const { section } of this.members.splice(panels.length)) section.remove();
    panels.forEach((packed, i) => {
      this.members[i] ??= this.newMember(packed);
      const { section, heading, formula } = this.members[i];
      section.dataset.name = packed.name;
      if (heading.textContent !== packed.heading) heading.textContent = packed.heading;
      if (formula.dataset.set === packed.formula) return;
      formula.replaceChildren(...setFormula(packed.formula));
      formula.dataset.set = packed.formula;
      formula.hidden = !packed.formula;
    });
    panels.forEach((packed, i) => this.members[i].panel.update(unpacked(packed), packed.paint && send));
  }

  /** @param {Named} packed */
  newMember(packed) {
    const [heading, formula, own] = [
      element("h4", {}),
      element("p", { className: "formula" }),
      element("div", {}),
    ];
    const section = element("section", {}, heading, formula, own);
    this.element.append(section);
    const group = () => this.members.map(({ panel }) => panel);
    return { section, heading, formula, panel: new Panel(own, unpacked(packed), this.page, group) };
  }
}

/**
 * Return the elements of a formula: variables in italics, indices and exponents.
 *
 * @param {string} formula
 */
function setFormula(formula) {
  return [...formula.matchAll(PARTS)].map(([, mark, text]) => {
    const name = /^(\p{L}|\p{Lu}+)$/u.test(text) ? "i" : "span";
    const part = element(name, { textContent: text });
    return mark ? element(mark === "_" ? "sub" : "sup", {}, part) : part;
  });
}
