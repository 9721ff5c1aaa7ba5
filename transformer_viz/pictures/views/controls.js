// What can be chosen, above the views.

import { element } from "./element.js";

export class Controls {
  constructor(lens) {
    this.lens = lens;
    this.bar = element("div", { className: "bar" });
    this.below = element("div", { className: "bar below" });
  }

  /** Show what can be chosen now. */
  update() {
    const { lens } = this;
    const { state, words, attention } = lens;
    const kinds = Object.keys(lens.attentions);
    const numbers = (count) => Array.from({ length: count }, (_, i) => [i, i + 1]);
    const values = attention.scores ? ["weights", "scores", "masked", "norms"] : ["weights"];
    const sees = (view) => state.view === view; // side by side there is room for what all views share
    const parts = [
      this.choice("view", ["all", "grid", "matrix", "lines", "steps"].map((name) => [name, words.views[name]])),
      kinds.length > 1 && this.choice("kind", kinds.map((kind) => [kind, lens.attentions[kind].name])),
      attention.layers > 1 && this.choice("layer", numbers(attention.layers)),
      attention.heads > 1 && this.heads(),
      sees("matrix") && this.menu("value", values.map((name) => [name, words.values[name]])),
      sees("matrix") &&
        state.value === "weights" &&
        this.menu("scale", [["head", words.scale_head], ["one", words.scale_one]]),
      sees("grid") &&
        attention.layers * attention.heads > 1 &&
        this.menu("sort", [["place", words.sorts.place], ...sorts(attention, words)]),
      sees("lines") && this.threshold(),
      sees("lines") && lens.sentencePairs().length > 0 && this.menu("sentences", lens.sentencePairs()),
      sees("steps") && this.row(),
    ];
    const active = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
    const focused = active && this.bar.contains(active) ? active.dataset.key : null;
    this.bar.replaceChildren(...parts.filter(Boolean));
    if (focused) this.bar.querySelector(`[data-key="${focused}"]`)?.focus();
  }

  group(label, ...children) {
    const group = element("div", { className: "group" }, element("span", { textContent: label }), ...children);
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", label);
    roving(group);
    return group;
  }

  choice(name, options) {
    const { lens } = this;
    const buttons = options.map(([value, text]) => {
      const button = element("button", { type: "button", textContent: text });
      button.dataset.key = `${name}-${value}`;
      button.setAttribute("aria-pressed", lens.state[name] === value);
      button.addEventListener("click", () => lens.select({ [name]: value }));
      return button;
    });
    return this.group(lens.words[name], element("div", { className: "buttons" }, ...buttons));
  }

  /** The heads as swatches of their colour: a click chooses one alone, with Shift or Ctrl it adds or takes it away. */
  heads() {
    const { lens } = this;
    const { state, attention, words } = lens;
    const all = Array.from({ length: attention.heads }, (_, head) => head);
    const buttons = all.map((head) => {
      const button = element("button", { type: "button", textContent: head + 1, title: words.head_help });
      button.className = "swatch";
      button.dataset.key = `head-${head}`;
      button.style.setProperty("--swatch", lens.colours[head % lens.colours.length]);
      button.setAttribute("aria-pressed", state.shown.has(head));
      if (head === state.head) button.setAttribute("aria-current", "true");
      button.addEventListener("click", (event) => {
        if (!event.shiftKey && !event.ctrlKey && !event.metaKey) return lens.select({ head });
        const shown = new Set(state.shown);
        if (!shown.delete(head)) shown.add(head);
        return lens.select({ shown: shown.size ? shown : new Set([head]) });
      });
      return button;
    });
    const every = state.shown.size === attention.heads;
    const button = element("button", { type: "button", textContent: words.all_heads, className: "plain" });
    button.dataset.key = "head-all";
    button.setAttribute("aria-pressed", every);
    button.addEventListener("click", () => lens.select({ shown: new Set(every ? [state.head] : all) }));
    buttons.push(button);
    return this.group(words.head, element("div", { className: "swatches" }, ...buttons));
  }

  menu(name, options, value = this.lens.state[name], choose = (chosen) => this.lens.select({ [name]: chosen })) {
    const { lens } = this;
    const select = element("select", {});
    select.dataset.key = name;
    select.append(...options.map(([value, text]) => element("option", { value, textContent: text })));
    select.value = value;
    select.setAttribute("aria-label", lens.words[name]);
    select.addEventListener("change", () => choose(select.value));
    return this.group(lens.words[name], select);
  }

  /** The query whose row is gone through. */
  row() {
    const { lens } = this;
    const options = lens.attention.queryTokens.map((token, query) => [query, `${query + 1} · ${token}`]);
    return this.menu("row", options, lens.row(), (query) => lens.pin({ query: Number(query), key: null }));
  }

  threshold() {
    const { lens } = this;
    const shown = () => lens.threshold().toFixed(lens.threshold() < 0.01 ? 3 : 2);
    const range = element("input", { type: "range", min: 0, max: 0.5, step: 0.01, value: lens.threshold() });
    range.dataset.key = "threshold";
    range.setAttribute("aria-label", lens.words.threshold);
    const value = element("output", { textContent: shown() });
    range.addEventListener("input", () => {
      lens.state.threshold = Number(range.value);
      value.textContent = shown();
      lens.redraw();
    });
    return this.group(lens.words.threshold, element("div", { className: "range" }, range, value));
  }

  downloads() {
    const { lens } = this;
    const buttons = ["png", "svg", "csv"].map((kind) => {
      const button = element("button", { type: "button", textContent: kind.toUpperCase(), className: "plain" });
      button.dataset.key = `download-${kind}`;
      button.addEventListener("click", () => lens.exports.download(kind));
      return button;
    });
    return this.group(lens.words.download, element("div", { className: "buttons" }, ...buttons));
  }
}

/** Make one stop of the Tab key out of the buttons of a group; arrow keys go from one to the next. */
function roving(group) {
  const buttons = [...group.querySelectorAll("button")];
  if (buttons.length < 3) return;
  const stop = buttons.find((button) => button.ariaCurrent || button.ariaPressed === "true") ?? buttons[0];
  for (const button of buttons) button.tabIndex = button === stop ? 0 : -1;
  group.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const at = buttons.indexOf(event.target);
    if (!by || at < 0) return;
    buttons[(at + by + buttons.length) % buttons.length].focus();
    event.preventDefault();
  });
}

const sorts = (attention, words) => Object.keys(attention.figures).map((name) => [name, words.sorts[name]]);
