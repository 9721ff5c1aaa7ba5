// The heads as buttons with a thumbnail: a card for each kind of attention, or tabs if the cards do not fit.

import { button } from "./buttons.js";
import { figuresText, headTitle, saying, usually } from "./captions.js";
import { element } from "./element.js";
import { HeadButton, shapeOf } from "./headbutton.js";
import { onKey } from "./keys.js";
import { layerNumber, placeOf } from "./order.js";
import { contextOf } from "./pen.js";
import { fill } from "./text.js";
import { thumbnailsOf } from "./thumbnails.js";

/** @import {Form} from "./headbutton.js" */
/** @import {Attention, Words} from "./payload.js" */
/** @import {Selection, State} from "./selection.js" */
/** @import {Look} from "./theme.js" */

/**
 * What the heads need from the lens.
 *
 * @typedef {object} HeadsHost
 * @property {Selection} selection
 * @property {() => Words} words
 * @property {() => Look} look
 * @property {(choice: Partial<State>) => void} select
 * @property {(head: Hovered | null) => void} hover
 * @property {() => boolean} [asksWhy] Whether the effects on the answer are known, or follow.
 * @property {() => string[] | null} [off] Returns the heads that are switched off, as "kind-number"; null: none can be.
 * @property {(kind: string, layer: number, head: number) => void} [toggle] Switches a head off, or on again.
 */

/** @typedef {{attention: Attention, number: number, thumbnail: ImageData, button: HTMLElement}} Hovered */

/**
 * @typedef {object} Arranged
 * @property {boolean} cards Whether each kind of attention has its card.
 * @property {number} across Heads in a row.
 * @property {number} side Width of a thumbnail.
 * @property {boolean} named Whether the role of a head stands under its thumbnail.
 */

/** Room that a head needs beside its thumbnail. @typedef {{texts: number, bar: number}} Room */

const FEW = 4; // heads that always stand in one row
const MANY = 16; // heads that may need more than two rows
const MOST_SIDE = 84;
const GAP = 6;
const PADDING = 11; // of a card with its border, and between cards
const TITLE = 30; // height of the title of a card, or of the tabs
const LAYER = 20; // height of the number of a layer
const USABLE = 24; // width of a thumbnail that can still be pressed
const LEAST_SIDE = 44; // width of a thumbnail that shows enough
const TEXTS = { usual: 36, projected: 50 }; // height of the role and its share
const BAR = 7; // height of the bar under a thumbnail, with the room above it
const WITH_NAME = { usual: 56, projected: 76 }; // width of a thumbnail that its role fits under
/** @type {Record<string, [layer: number, head: number]>} */
const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export class Heads {
  /** @param {HeadsHost} host */
  constructor(host) {
    this.host = host;
    this.element = element("nav", { className: "heads" });
    onKey(this.element, "button.head", ({ key }, focused) => this.key(key, focused));
    /** @type {Map<string, ReturnType<typeof thumbnailsOf>>} */
    this.thumbnails = new Map();
    /** @type {HeadButton[]} */
    this.buttons = [];
    /** @type {{built: unknown[], shown: unknown[]}} */
    this.from = { built: [], shown: [] };
    this.revealed = ""; // the head that was scrolled to
    this.next = 0; // the frame after which the thumbnails are drawn
    this.size = { width: 0, height: 0 };
  }

  /** Arrange the heads in so much room. @param {number} width @param {number} height */
  fit(width, height) {
    this.size = { width, height };
    this.update();
  }

  /** Show the selection; make the buttons anew only if others are needed. */
  update() {
    const { attentions, state } = this.host.selection;
    if (!this.size.width) return;
    const all = Object.values(attentions);
    const barred = this.host.asksWhy?.() ?? false;
    const arranged = arrangedIn(all, this.size, state.projected, barred);
    const { across, cards, side, named } = arranged;
    const tab = cards ? "" : state.kind;
    const off = this.host.off?.() ?? null;
    const counts = all.flatMap(({ kind, layers, heads }) => [kind, layers, heads]);
    const switched = off !== null && side >= USABLE;
    const built = [this.host.words().head, ...counts, across, cards, named, tab, switched, barred];
    this.element.style.setProperty("--side", `${side}px`);
    if (differs(built, this.from.built)) this.build(arranged, { switched, barred });
    const known = all.map(({ effects }) => effects());
    const shown = [
      this.buttons,
      attentions,
      this.host.look().ramps,
      this.host.words(),
      off?.join(),
      ...known,
    ];
    if (differs(shown, this.from.shown)) this.fill(off);
    this.from = { built, shown };
    this.mark();
  }

  /** Make the buttons. @param {Arranged} arranged @param {Omit<Form, "named">} form */
  build(arranged, form) {
    const { attentions, state } = this.host.selection;
    this.buttons = [];
    const all = Object.values(attentions);
    const shown = arranged.cards ? all : all.filter(({ kind }) => kind === state.kind);
    const parts = shown.map((attention) =>
      this.card(attention, arranged, form, arranged.cards && all.length > 1),
    );
    const active = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
    const focused =
      active instanceof HTMLElement && this.element.contains(active) ? active.dataset.key : null;
    this.element.replaceChildren(...(arranged.cards ? parts : [this.tabs(all), ...parts]));
    const next = focused && this.element.querySelector(`[data-key="${focused}"]`);
    if (next instanceof HTMLElement) next.focus();
    this.element.setAttribute("aria-label", this.host.words().head);
  }

  /** Show the heads of the run on their buttons; the thumbnails once the large picture is painted. @param {string[] | null} off */
  fill(off) {
    const { attentions } = this.host.selection;
    const effects = Object.values(attentions).flatMap((each) => each.effects()?.heads ?? []);
    const largest = effects.reduce(
      (/** @type {number} */ most, effect) => Math.max(most, Math.abs(effect ?? 0)),
      0,
    );
    for (const each of this.buttons) {
      const { kind, number } = each;
      each.show(attentions[kind], this.host.look(), off?.includes(`${kind}-${number}`) ?? false);
      each.measure(attentions[kind].effects()?.heads[number] ?? null, largest);
    }
    cancelAnimationFrame(this.next);
    this.next = requestAnimationFrame(() => setTimeout(() => this.draw()));
  }

  /** Draw the thumbnails. */
  draw() {
    const { attentions } = this.host.selection;
    /** @type {Record<string, ImageData[]>} */
    const drawn = {};
    for (const each of this.buttons) {
      drawn[each.kind] ??= this.drawn(attentions[each.kind]);
      each.draw(attentions[each.kind], drawn[each.kind][each.number]);
    }
  }

  /** Return the thumbnails of one kind of attention. @param {Attention} attention */
  drawn(attention) {
    const draw = this.thumbnails.get(attention.kind) ?? thumbnailsOf();
    this.thumbnails.set(attention.kind, draw);
    return draw(attention, this.host.look());
  }

  /** @param {Attention[]} all */
  tabs(all) {
    const { kind: shown } = this.host.selection.state;
    const made = all.map(({ kind, name }) => {
      return button(name, `kind-${kind}`, () => this.host.select({ kind }), { pressed: kind === shown });
    });
    return element("div", { className: "tabs" }, ...made);
  }

  /** @param {Attention} attention @param {Arranged} arranged @param {Omit<Form, "named">} form @param {boolean} titled */
  card({ kind, layers, heads, name, numbers }, { across, named }, form, titled) {
    const made = element("section", { className: titled ? "card" : "card plain" });
    made.dataset.kind = kind;
    if (titled) made.append(element("h3", { textContent: name }));
    for (let layer = 0; layer < layers; layer++) {
      const row = element("div", { className: "row" });
      row.style.gridTemplateColumns = `repeat(${across}, var(--side))`;
      const buttons = Array.from({ length: heads }, (_, head) =>
        this.head(kind, layer * heads + head, { named, ...form }),
      );
      row.append(...buttons.map((each) => each.element));
      const number = element("span", {
        className: "layer",
        textContent: fill(this.host.words().layer, { layer: layerNumber({ numbers }, layer) }),
      });
      made.append(...(layers > 1 ? [number, row] : [row]));
    }
    return made;
  }

  /** @param {string} kind @param {number} number @param {Form} form */
  head(kind, number, form) {
    const place = () => placeOf(this.host.selection.attentions[kind], number);
    const made = new HeadButton(kind, number, form, {
      words: this.host.words,
      press: (several) => this.press(kind, place().layer, place().head, several),
      toggle: () => this.host.toggle?.(kind, place().layer, place().head),
      hover: this.host.hover,
    });
    this.buttons.push(made);
    return made;
  }

  /**
   * Choose a head.
   *
   * @param {string} kind Of attention.
   * @param {number} layer
   * @param {number} head
   * @param {boolean} several Add it to the lines, or take it away.
   */
  press(kind, layer, head, several) {
    const { state } = this.host.selection;
    const sameLayer = kind === state.kind && layer === state.layer;
    if (!several || !sameLayer) {
      return this.host.select(kind === state.kind ? { layer, head } : { kind, layer, head });
    }
    const shown = new Set(state.shown);
    if (!shown.delete(head)) shown.add(head);
    return this.host.select({ shown: shown.size ? shown : new Set([head]) });
  }

  /** Mark the chosen head and those whose lines are shown. */
  mark() {
    const { state, attention } = this.host.selection;
    const chosen = `${state.kind}-${state.layer * attention.heads + state.head}`;
    for (const card of this.element.querySelectorAll(".card")) {
      const isKind = card instanceof HTMLElement && card.dataset.kind === state.kind;
      card.classList.toggle("current", isKind);
    }
    for (const each of this.element.querySelectorAll("button.head")) {
      if (!(each instanceof HTMLElement)) continue;
      const [kind, number] = (each.dataset.key ?? "").split("-");
      const { layer, head } = placeOf(attention, Number(number));
      const isShown = kind === state.kind && layer === state.layer && state.shown.has(head);
      const isChosen = each.dataset.key === chosen;
      each.ariaPressed = String(isShown);
      each.ariaCurrent = isChosen ? "true" : null;
      each.tabIndex = isChosen || (kind !== state.kind && number === "0") ? 0 : -1; // one stop for each kind
    }
    if (chosen !== this.revealed) this.reveal(chosen);
  }

  /** Scroll the column to a head that is newly chosen; of many layers, most are out of sight. @param {string} key */
  reveal(key) {
    const column = this.element.closest(".column");
    const head = this.element.querySelector(`[data-key="${key}"]`);
    if (!column || !head) return;
    const [box, place] = [column.getBoundingClientRect(), head.getBoundingClientRect()];
    if (!place.height) return;
    this.revealed = key;
    if (place.top < box.top + LAYER) column.scrollTop += place.top - box.top - LAYER;
    else if (place.bottom > box.bottom) column.scrollTop += place.bottom - box.bottom + GAP;
  }

  /** Switch the head that has the focus, or choose the one beside it. @param {string} key @param {HTMLElement} focused */
  key(key, focused) {
    if (key.toLowerCase() === "o") return this.switchFocused(focused);
    const [down, right] = ARROWS[key] ?? [0, 0];
    if (!down && !right) return false;
    const [kind, number] = (focused.dataset.key ?? "").split("-");
    const { attentions, state } = this.host.selection;
    const attention = attentions[kind];
    const from = placeOf(attention, Number(number));
    const layer = Math.max(0, Math.min(attention.layers - 1, from.layer + down));
    const head = Math.max(0, Math.min(attention.heads - 1, from.head + right));
    this.host.select(kind === state.kind ? { layer, head } : { kind, layer, head });
    const next = this.element.querySelector("button.head[aria-current]");
    if (next instanceof HTMLElement) next.focus();
    return true;
  }

  /** Switch the head off that has the focus, or on again; return whether that can be. @param {HTMLElement} focused */
  switchFocused(focused) {
    if (!this.host.toggle || !this.host.off?.()) return false;
    const [kind, number] = (focused.dataset.key ?? "").split("-");
    const { layer, head } = placeOf(this.host.selection.attentions[kind], Number(number));
    this.host.toggle(kind, layer, head);
    return true;
  }
}

/** @param {unknown[]} one @param {unknown[]} other */
const differs = (one, other) => one.length !== other.length || one.some((each, i) => each !== other[i]);

/**
 * Return how the heads stand in so much room: in large thumbnails if they fit, with a card for each kind if all fit.
 *
 * @param {Attention[]} all
 * @param {{width: number, height: number}} size
 * @param {boolean} [projected] Whether the texts are larger.
 * @param {boolean} [barred] Whether a bar stands under each thumbnail.
 * @returns {Arranged}
 */
export function arrangedIn(all, { width, height }, projected = false, barred = false) {
  const letters = projected ? "projected" : "usual";
  const heads = Math.max(...all.map((each) => each.heads));
  const parts = heads > MANY ? [4, 3, 2] : [2];
  const options = [Math.min(heads, FEW), 2, ...parts.map((part) => Math.ceil(heads / part)), heads].filter(
    (across) => across <= heads,
  );
  /** @type {Arranged[]} */
  const possible = options.flatMap((across) =>
    (all.length > 1 ? [true, false] : [true]).map((cards) => {
      const inner = width - (cards && all.length > 1 ? 2 * PADDING : 0);
      const side = Math.max(4, Math.min(MOST_SIDE, (inner - (across - 1) * GAP) / across));
      return { cards, across, side, named: side >= WITH_NAME[letters] };
    }),
  );
  const fits = (/** @type {Arranged} */ arranged) => {
    const room = { texts: TEXTS[letters], bar: barred ? BAR : 0 };
    const tall = all.map((each) => cardHeight(each, arranged, all.length > 1, room));
    return (arranged.cards ? tall.reduce((sum, one) => sum + one) : Math.max(...tall)) <= height;
  };
  const good = possible.find((arranged) => arranged.side >= LEAST_SIDE && fits(arranged));
  const usable = possible.filter(({ side }) => side >= USABLE);
  const widest = usable.reduce(
    (/** @type {Arranged | null} */ best, one) => (best && best.across > one.across ? best : one),
    null,
  );
  return good ?? usable.find(fits) ?? widest ?? possible[possible.length - 1];
}

/**
 * Return what is shown of a head that is pointed at: its enlarged thumbnail, and what is known of it.
 *
 * @param {Attention} attention
 * @param {number} number Of the head, counted over all layers.
 * @param {ImageData} thumbnail
 * @param {Words} words
 */
export function aboutHead(attention, number, thumbnail, words) {
  const picture = element("canvas", { width: thumbnail.width, height: thumbnail.height });
  contextOf(picture).putImageData(thumbnail, 0, 0);
  const head = placeOf(attention, number);
  const name = element("strong", { textContent: headTitle(attention, head) });
  const said = [saying(attention, head), usually(attention, head)].filter(Boolean);
  return [picture, name, ...said, figuresText(attention, words, number)];
}

/** @param {Attention} attention @param {Arranged} arranged @param {boolean} titled @param {Room} room */
function cardHeight(attention, { across, side, named }, titled, { texts, bar }) {
  const { layers, heads } = attention;
  const one = side * shapeOf(attention) + bar + (named ? texts : 0) + GAP;
  const layer = Math.ceil(heads / across) * one + (layers > 1 ? LAYER : 0);
  return layers * layer + (titled ? TITLE + 2 * PADDING : 0);
}
