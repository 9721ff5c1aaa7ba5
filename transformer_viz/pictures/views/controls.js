// The controls above the views, and the downloads below them.

import { button, group } from "./buttons.js";
import { pairNames } from "./captions.js";
import { element } from "./element.js";
import { legend } from "./legend.js";

/** @import {Attention, Label, Words} from "./payload.js" */
/** @import {Selection, State, Token} from "./selection.js" */
/** @import {Look} from "./theme.js" */

/**
 * What the controls need from the lens.
 *
 * @typedef {object} ControlsHost
 * @property {Selection} selection
 * @property {() => Words} words
 * @property {() => Look} look
 * @property {(choice: Partial<State>) => void} select
 * @property {(token: Token) => void} pin
 * @property {() => void} redraw
 * @property {(kind: FileKind) => void} download
 */

/** @typedef {"png" | "svg" | "csv"} FileKind */

/** @typedef {[value: string | number, text: string][]} Options */

/** @typedef {"view" | "kind" | "layer"} Choice Set by buttons. */

/** @typedef {"value" | "scale" | "sort" | "sentences"} Menu Set by a menu. */

export class Controls {
  /** @param {ControlsHost} host */
  constructor(host) {
    this.host = host;
    this.bar = element("div", { className: "bar" });
    this.below = element("div", { className: "bar below" });
  }

  /** Show the controls of the selected view, without taking the focus from them. */
  update() {
    const active = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
    const focused = active instanceof HTMLElement && this.bar.contains(active) ? active.dataset.key : null;
    this.bar.replaceChildren(...this.general(), ...this.ofView());
    const next = focused && this.bar.querySelector(`[data-key="${focused}"]`);
    if (next instanceof HTMLElement) next.focus();
  }

  /** Return the controls that all views share. */
  general() {
    const { selection, words } = this.of();
    const { attention, attentions } = selection;
    const kinds = Object.values(attentions);
    const layers = Array.from({ length: attention.layers }, (_, i) => /** @type {[number, string]} */ ([i, String(i + 1)]));
    const views = /** @type {const} */ (["all", "grid", "matrix", "lines", "steps"]);
    return [
      this.choice("view", views.map((name) => [name, words.views[name]])),
      kinds.length > 1 && this.choice("kind", kinds.map(({ kind, name }) => [kind, name])),
      attention.layers > 1 && this.choice("layer", layers),
      attention.heads > 1 && this.heads(),
    ].filter((part) => part !== false);
  }

  /** Return the controls of one view; side by side, there is room only for the shared ones. */
  ofView() {
    const { selection, words } = this.of();
    const { attention, state } = selection;
    switch (state.view) {
      case "grid": {
        const many = attention.layers * attention.heads > 1;
        const menu = many && this.menu("sort", [["place", words.sorts.place], ...sorts(attention, words)]);
        return [menu, selection.usualRoles().size > 0 && legend(this.host)].filter((part) => part !== false);
      }
      case "matrix": {
        const values = attention.hasScores ? /** @type {const} */ (["weights", "scores", "masked", "norms"]) : [state.value];
        const value = this.menu("value", values.map((name) => [name, words.values[name]]));
        if (state.value !== "weights") return [value];
        return [value, this.menu("scale", [["head", words.scale_head], ["one", words.scale_one]])];
      }
      case "lines": {
        const pairs = selection.pairs();
        return [this.threshold(), ...(pairs.length ? [this.menu("sentences", pairNames(pairs, words))] : [])];
      }
      case "steps":
        return [this.row()];
      default:
        return [];
    }
  }

  of() {
    return { selection: this.host.selection, words: this.host.words() };
  }

  /** @param {Choice} name @param {Options} options */
  choice(name, options) {
    const { selection, words } = this.of();
    const buttons = options.map(([value, text]) => {
      const pressed = selection.state[name] === value;
      return button(text, `${name}-${value}`, () => this.host.select({ [name]: value }), { pressed });
    });
    return group(words[name], element("div", { className: "buttons" }, ...buttons));
  }

  /** Return a swatch for each head: a click shows it alone; with Shift or Ctrl, it adds or removes the head. */
  heads() {
    const { selection, words } = this.of();
    const { state, attention } = selection;
    const { heads: colours } = this.host.look();
    const all = Array.from({ length: attention.heads }, (_, head) => head);
    const swatches = all.map((head) => {
      const press = (/** @type {MouseEvent} */ { shiftKey, ctrlKey, metaKey }) =>
        this.pressHead(head, shiftKey || ctrlKey || metaKey);
      const swatch = button(String(head + 1), `head-${head}`, press, { className: "swatch", pressed: state.shown.has(head) });
      swatch.title = words.head_help;
      swatch.style.setProperty("--swatch", colours[head % colours.length]);
      if (head === state.head) swatch.setAttribute("aria-current", "true");
      return swatch;
    });
    const every = state.shown.size === attention.heads;
    const showAll = () => this.host.select({ shown: new Set(every ? [state.head] : all) });
    const last = button(words.all_heads, "head-all", showAll, { className: "plain", pressed: every });
    return group(words.head, element("div", { className: "swatches" }, ...swatches, last));
  }

  /** @param {number} head @param {boolean} several */
  pressHead(head, several) {
    if (!several) return this.host.select({ head });
    const shown = new Set(this.host.selection.state.shown);
    if (!shown.delete(head)) shown.add(head);
    return this.host.select({ shown: shown.size ? shown : new Set([head]) });
  }

  /** @param {Menu} name @param {Options} options */
  menu(name, options) {
    return this.select(name, options, this.host.selection.state[name], (value) => this.host.select({ [name]: value }));
  }

  /** Return the menu of the queries. */
  row() {
    const { selection } = this.of();
    /** @type {Options} */
    const options = selection.attention.queryTokens.map((token, query) => [query, `${query + 1} · ${token}`]);
    const pin = (/** @type {string} */ query) => this.host.pin({ query: Number(query), key: null });
    return this.select("row", options, String(selection.row()), pin);
  }

  /** @param {Label} name @param {Options} options @param {string} value @param {(value: string) => void} choose */
  select(name, options, value, choose) {
    const { words } = this.of();
    const select = element("select", {});
    select.dataset.key = name;
    select.append(...options.map(([value, text]) => element("option", { value: String(value), textContent: text })));
    select.value = value;
    select.setAttribute("aria-label", words[name]);
    select.addEventListener("change", () => choose(select.value));
    return group(words[name], select);
  }

  /** Return the slider of the smallest weight that is a line. */
  threshold() {
    const { selection, words } = this.of();
    const shown = () => selection.threshold().toFixed(selection.threshold() < 0.01 ? 3 : 2);
    const ends = { type: "range", min: "0", max: "0.5", step: "0.01" };
    const range = element("input", { ...ends, value: String(selection.threshold()) });
    range.dataset.key = "threshold";
    range.setAttribute("aria-label", words.threshold);
    const value = element("output", { textContent: shown() });
    range.addEventListener("input", () => {
      selection.state.threshold = Number(range.value);
      value.textContent = shown();
      this.host.redraw();
    });
    return group(words.threshold, element("div", { className: "range" }, range, value));
  }

  /** Show the downloads. */
  offer() {
    const kinds = /** @type {const} */ (["png", "svg", "csv"]);
    const buttons = kinds.map((kind) =>
      button(kind.toUpperCase(), `download-${kind}`, () => this.host.download(kind), { className: "plain" }),
    );
    this.below.replaceChildren(group(this.host.words().download, element("div", { className: "buttons" }, ...buttons)));
  }
}

/** @param {Attention} attention @param {Words} words @returns {Options} */
const sorts = (attention, words) => Object.keys(attention.figures).map((name) => [name, words.sorts[name]]);
