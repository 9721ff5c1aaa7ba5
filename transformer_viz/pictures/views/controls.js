// The menus, the chips that undo a setting, and the controls above a view.

import { button, group } from "./buttons.js";
import { linesOf, pairName, pairNames } from "./captions.js";
import { element } from "./element.js";
import { legend } from "./legend.js";
import { menuOf } from "./menu.js";
import { SAVED } from "./saving.js";
import { VALUES } from "./selection.js";
import { fill, percent } from "./text.js";

/** @import {Act, Acts, Attention, Label, Words} from "./payload.js" */
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
 * @property {() => OtherFile[]} files More files that the page around the lens offers.
 * @property {() => Acts | undefined} acts What can be changed in the run.
 * @property {() => boolean} asksWhy Whether the effects on the answer are known, or follow.
 * @property {(act: Act) => void} act
 */

/** @typedef {"png" | "svg" | "csv"} FileKind */

/** @typedef {{name: string, save: (state: State) => void}} OtherFile */

/** @typedef {[value: string | number, text: string][]} Options */

/** @typedef {"view" | "kind"} Choice Set by buttons. */

/** @typedef {"value" | "scale" | "sort" | "sentences"} Menu Set by a menu. */

export class Controls {
  /** @param {ControlsHost} host */
  constructor(host) {
    this.host = host;
    this.chips = element("div", { className: "chips" });
    this.view = menuOf("view");
    this.change = menuOf("change");
    this.compare = element("div", { className: "compare" });
    this.asks = element("div", { className: "buttons asks" });
    this.files = menuOf("export");
    const parts = [
      this.chips,
      this.compare,
      this.change.element,
      this.asks,
      this.view.element,
      this.files.element,
    ];
    this.top = element("div", { className: "menus" }, ...parts);
    this.bar = element("div", { className: "bar" });
    this.files.element.firstElementChild?.addEventListener("click", () => this.offerFiles());
  }

  /** Show the controls of the selected view, without taking the focus from them. */
  update() {
    const active = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
    const parts = [this.view.body, this.change.body, this.compare, this.asks, this.bar];
    const focused =
      active instanceof HTMLElement && parts.some((part) => part.contains(active))
        ? active.dataset.key
        : null;
    const pressed = [...this.chips.children].findIndex((each) => each === active);
    this.view.body.replaceChildren(...this.general(), ...this.ofMatrix(), ...this.ofLines());
    this.bar.replaceChildren(...this.ofView());
    this.chips.replaceChildren(
      ...[...this.acted(), ...this.changes()].map(([text, undo]) => chip(text, undo)),
    );
    this.asks.replaceChildren(...this.ofAnswer());
    this.offerActs();
    const next = focused && parts.map((part) => part.querySelector(`[data-key="${focused}"]`)).find(Boolean);
    if (next instanceof HTMLElement) next.focus();
    if (pressed >= 0) this.nextChip(pressed).focus();
  }

  /** Return what has the focus after a chip is gone. @param {number} place */
  nextChip(place) {
    const { children } = this.chips;
    const next = children[Math.min(place, children.length - 1)] ?? this.view.element.firstElementChild;
    return /** @type {HTMLElement} */ (next);
  }

  /** Return the choice of the view, of its size, and of the heads whose lines are shown. */
  general() {
    const { selection, words } = this.of();
    const { attention, state } = selection;
    const ofOne = /** @type {const} */ (["all", "grid", "matrix", "lines", "steps"]);
    const views = ofOne.filter((name) => !attention.isCompared || name === "all" || name === "grid");
    const view = this.choice(
      "view",
      views.map((name) => [name, words.views[name]]),
    );
    const enlarge = () => this.host.select({ projected: !state.projected });
    const size = group(
      words.size,
      button(words.projector, "projector", enlarge, { pressed: state.projected }),
    );
    if (attention.heads < 2 || !this.hasLines()) return [view, size];
    const every = state.shown.size === attention.heads;
    const all = new Set(Array.from({ length: attention.heads }, (_, head) => head));
    const show = (/** @type {Set<number>} */ shown) => () => this.host.select({ shown });
    const isOne = state.shown.size === 1 && state.shown.has(state.head);
    const one = button(words.this_head, "head-one", show(new Set([state.head])), { pressed: isOne });
    return [
      view,
      size,
      group(words.lines_of, one, button(words.all_heads, "head-all", show(all), { pressed: every })),
    ];
  }

  /** Return the choice of what the matrix and the lines show: where a head looks, or what that does to the answer. */
  ofAnswer() {
    const { selection, words } = this.of();
    const { attention, state } = selection;
    if (!this.host.asksWhy() || !["all", "matrix", "lines"].includes(state.view)) return [];
    const isEffect = selection.value() === "effects";
    const choose = (/** @type {State["value"]} */ value) => () => this.host.select({ value });
    const looks = button(words.looks, "looks", choose("weights"), { pressed: !isEffect });
    const does = button(words.does, "does", choose("effects"), { pressed: isEffect });
    does.disabled = !attention.effects()?.cells;
    does.title = words.does_help;
    return [looks, does];
  }

  /** Return what is changed in the run, each with the way back. @returns {[text: string, undo: () => void][]} */
  acted() {
    return (this.host.acts()?.chips ?? []).map(({ text, act }) => [text, () => this.host.act(act)]);
  }

  /** Change the run, and close the menu, which covers what then is to be seen. @param {Act} act */
  choose(act) {
    this.change.close();
    this.host.act(act);
  }

  /** Show what can be changed in the run, and the button that begins or ends a comparison. */
  offerActs() {
    const acts = this.host.acts();
    this.change.element.hidden = !acts;
    this.compare.hidden = !acts;
    if (!acts) return;
    const { label, act } = acts.compare;
    this.change.name(acts.title);
    this.compare.replaceChildren(button(label, "compare", () => this.host.act(act), {}));
    this.change.body.replaceChildren(
      group(acts.this_head, element("div", { className: "buttons" }, ...this.ofHead(acts))),
      ...(this.host.selection.attention.hasEdges ? [this.edges(acts)] : []),
      ...acts.groups.map(({ title, choices }) => {
        const made = choices.map((each, i) =>
          button(each.label, `act-${title}-${i}`, () => this.choose(each.act), { pressed: each.pressed }),
        );
        return group(title, element("div", { className: "buttons" }, ...made));
      }),
    );
  }

  /** @param {Acts} acts */
  ofHead({ heads }) {
    const { attention, state } = this.host.selection;
    const { kind, layer, head } = state;
    return heads.map(({ name, label, among }) => {
      const pressed = among.includes(`${kind}-${layer * attention.heads + head}`);
      return button(label, `head-${name}`, () => this.choose({ do: "head", name, kind, layer, head }), {
        pressed,
      });
    });
  }

  /** Return the buttons that take the pinned cell away, or what to do to have them. @param {Acts} acts */
  edges({ edges, no_edge: none }) {
    const { attention, state } = this.host.selection;
    const { query, key } = state.pinned;
    if (query === null || key === null) return element("span", { className: "hint", textContent: none });
    const places = attention.places ?? [];
    const place = { query: places[0]?.[query][1] ?? query, key: places[1]?.[key][1] ?? key };
    if (place.query < 0 || place.key < 0) return element("span", { className: "hint", textContent: none });
    const { kind, layer, head } = state;
    const tokens = { query: attention.queryTokens[query], key: attention.keyTokens[key] };
    const made = edges.map(({ name, label }) => {
      return button(
        fill(label, tokens),
        name,
        () => this.choose({ do: "edge", name, kind, layer, head, ...place }),
        {},
      );
    });
    return element("div", { className: "buttons" }, ...made);
  }

  /** Return whether lines are shown; two runs are compared as matrices. */
  hasLines() {
    const { attention, state } = this.host.selection;
    return !attention.isCompared && ["all", "lines"].includes(state.view);
  }

  /** Return what is set off from the rest, each with the way back. @returns {[text: string, undo: () => void][]} */
  changes() {
    const { selection, words } = this.of();
    const { state, attention } = selection;
    /** @type {(choice: Partial<State>) => () => void} */
    const back = (choice) => () => this.host.select(choice);
    const hasMatrix = ["all", "matrix"].includes(state.view);
    const hasLines = this.hasLines();
    /** @type {[boolean, string, () => void][]} */
    const all = [
      [state.view !== "all", words.views[state.view], back({ view: "all" })],
      [
        hasMatrix && !["weights", "effects"].includes(state.value),
        words.values[state.value],
        back({ value: "weights" }),
      ],
      [
        hasMatrix && state.scale === "one" && state.value === "weights",
        words.scale_one,
        back({ scale: "head" }),
      ],
      [
        hasLines && state.threshold !== null,
        `${words.values.weights} ≥ ${percent(selection.threshold())}`,
        back({ threshold: null }),
      ],
      [
        hasLines && state.sentences !== "every",
        pairName(state.sentences, words),
        back({ sentences: "every" }),
      ],
      [
        hasLines && state.shown.size > 1,
        linesOf(attention, state.shown, words),
        back({ shown: new Set([state.head]) }),
      ],
      [state.projected, words.projector, back({ projected: false })],
      [state.view === "grid" && state.sort !== "place", words.sorts[state.sort], back({ sort: "place" })],
    ];
    return all.filter(([on]) => on).map(([, text, undo]) => [text, undo]);
  }

  /** Return the controls of the matrix. */
  ofMatrix() {
    const { selection, words } = this.of();
    const { attention, state } = selection;
    if (!["all", "matrix"].includes(state.view)) return [];
    const own = VALUES.filter((name) => name !== "effects" || this.host.asksWhy());
    const values = attention.hasScores ? own : [state.value];
    const value = this.menu(
      "value",
      values.map((name) => [name, words.values[name]]),
    );
    if (attention.lacking)
      value.append(element("p", { className: "lacking", textContent: words[attention.lacking] }));
    if (state.value !== "weights") return [value];
    if (attention.areNumbers) return [value];
    return [
      value,
      this.menu("scale", [
        ["head", words.scale_head],
        ["one", words.scale_one],
      ]),
    ];
  }

  /** Return the controls of the lines. */
  ofLines() {
    const { selection, words } = this.of();
    if (!this.hasLines()) return [];
    const pairs = selection.pairs();
    return [this.threshold(), ...(pairs.length ? [this.menu("sentences", pairNames(pairs, words))] : [])];
  }

  /** Return the controls that a view has above it. */
  ofView() {
    const { selection, words } = this.of();
    const { attention, attentions, state } = selection;
    if (state.view === "steps") return [this.row()];
    if (state.view !== "grid") return [];
    const kinds = Object.values(attentions);
    const many = attention.layers * attention.heads > 1;
    return [
      kinds.length > 1 &&
        this.choice(
          "kind",
          kinds.map(({ kind, name }) => [kind, name]),
        ),
      many && this.menu("sort", [["place", words.sorts.place], ...sorts(attention, words)]),
      selection.usualRoles().size > 0 && legend(this.host),
    ].filter((part) => part !== false);
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

  /** @param {Menu} name @param {Options} options */
  menu(name, options) {
    return this.select(name, options, this.host.selection.state[name], (value) =>
      this.host.select({ [name]: value }),
    );
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
    select.append(
      ...options.map(([value, text]) => element("option", { value: String(value), textContent: text })),
    );
    select.value = value;
    select.setAttribute("aria-label", words[name]);
    select.addEventListener("change", () => choose(select.value));
    return group(words[name], select);
  }

  /** Return the slider of the smallest weight that is a line. */
  threshold() {
    const { selection, words } = this.of();
    const shown = () => percent(selection.threshold());
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
    range.addEventListener("change", () => this.update());
    return group(words.threshold, element("div", { className: "range" }, range, value));
  }

  /** Name the menus. */
  offer() {
    const { words } = this.of();
    this.files.name(words.download);
    this.view.name(words.view);
    this.offerFiles();
  }

  /** Show the downloads; those of the page are there only after the lens, and are named anew with its language. */
  offerFiles() {
    const { words } = this.of();
    const kinds = /** @type {const} */ (["png", "svg", "csv"]);
    const own = kinds.map((kind) =>
      button(words.files[kind], `download-${kind}`, () => this.host.download(kind), {}),
    );
    const others = this.host
      .files()
      .map(({ name, save }, i) => button(name, `file-${i}`, () => save(this.host.selection.state), {}));
    const light = this.host.look().theme.name === "dark" ? [this.box("light")] : [];
    this.files.body.replaceChildren(...own, ...others, this.box("titled"), ...light);
  }

  /** Return the box that says whether a saved picture has something. @param {keyof typeof SAVED} name */
  box(name) {
    const { words } = this.of();
    const box = element("input", { type: "checkbox", checked: SAVED[name] });
    box.addEventListener("change", () => {
      SAVED[name] = box.checked;
    });
    return element("label", {}, box, words[name]);
  }

  destroy() {
    for (const menu of [this.view, this.change, this.files]) menu.destroy();
  }
}

/** @param {Attention} attention @param {Words} words @returns {Options} */
const sorts = (attention, words) => Object.keys(attention.figures).map((name) => [name, words.sorts[name]]);

/** @param {string} text @param {() => void} undo */
const chip = (text, undo) => button(`${text} ×`, `chip-${text}`, undo, { className: "chip" });
