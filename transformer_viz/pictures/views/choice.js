// The heads as thumbnails on the pages whose pictures the server draws: the head that is chosen here, there.

import { keep, kept, remember } from "./address.js";
import { headTitle, saying, usually } from "./captions.js";
import { element } from "./element.js";
import { aboutHead, Heads } from "./heads.js";
import { parse } from "./payload.js";
import { Selection } from "./selection.js";
import { looks, PageTheme } from "./theme.js";
import { tipOf } from "./tip.js";

/** @import {Address} from "./address.js" */
/** @import {Hovered} from "./heads.js" */
/** @import {State} from "./selection.js" */
/** @import {Component} from "./streamlit.js" */

const MOST_HEIGHT = 520; // pixels of all heads that are shown at once

/** @typedef {{model: string, kind: string, layer: number, head: number}} Chosen */

/** @type {WeakMap<Element, Choice>} */
const MOUNTED = new WeakMap();

/** @param {Component<Uint8Array>} component */
export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector("div");
  const mounted = MOUNTED.get(parentElement);
  if (mounted) mounted.update(data);
  else if (root)
    MOUNTED.set(parentElement, new Choice(root, data, (chosen) => setStateValue("chosen", chosen)));
}

class Choice {
  /** @param {Element} root @param {Uint8Array} bytes @param {(chosen: Chosen) => void} tell */
  constructor(root, bytes, tell) {
    this.tell = tell;
    this.payload = parse(bytes);
    this.bytes = bytes;
    this.root = element("div", { className: "lens choice" });
    root.append(this.root);
    this.page = new PageTheme(this.root);
    this.lookOf = looks(this.payload.themes);
    const selection = new Selection(this.payload.attentions, { ...this.payload.chosen });
    this.selection = selection;
    this.heads = new Heads({
      ...{ selection, words: () => this.payload.words, look: () => this.lookOf(this.page.theme) },
      ...{
        select: (/** @type {Partial<State>} */ choice) => this.select(choice),
        hover: (head) => this.hover(head),
      },
    });
    this.place = element("strong", {});
    this.says = element("span", {});
    this.usual = element("span", { className: "usual" });
    this.tip = tipOf(this.root);
    const said = element("p", { className: "chosen", ariaLive: "polite" }, this.place, this.says, this.usual);
    this.root.append(this.heads.element, said, this.tip.element);
    this.root.addEventListener("transitionend", () => this.show());
    new ResizeObserver(() => this.show()).observe(this.root);
    const before = kept(); // the choice in the views of another page
    const wanted = before?.model === this.payload.model ? this.completed(before) : this.chosen();
    if (this.differs(wanted)) this.tell(wanted);
    else this.keep();
  }

  /** Keep the choice for other pages; a kind of attention that is not offered here stays as it was. */
  keep() {
    const { kind, ...head } = this.chosen();
    const before = kept()?.kind;
    keep(before && !(before in this.selection.attentions) ? head : { kind, ...head });
  }

  /** @returns {Chosen} */
  chosen() {
    const { kind, layer, head } = this.selection.state;
    return { model: this.payload.model, kind, layer, head };
  }

  /** Return a choice with what it leaves open as it is here. @param {Address} before @returns {Chosen} */
  completed({ kind, layer, head }) {
    const here = this.chosen();
    return {
      model: here.model,
      kind: kind ?? here.kind,
      layer: layer ?? here.layer,
      head: head ?? here.head,
    };
  }

  /** Return whether another head is chosen here; another kind of attention may not be offered. @param {Chosen} wanted */
  differs({ kind, layer, head }) {
    const { state, attentions } = this.selection;
    const offered = kind in attentions;
    return layer !== state.layer || head !== state.head || (offered && kind !== state.kind);
  }

  /** Show another text, model or choice. @param {Uint8Array} bytes */
  update(bytes) {
    if (bytes === this.bytes) return;
    this.bytes = bytes;
    this.payload = parse(bytes);
    this.lookOf = looks(this.payload.themes);
    this.selection.update(this.payload.attentions);
    const { projected, ...head } = this.payload.chosen ?? {};
    this.selection.open(head);
    if (projected !== undefined) this.selection.state.projected = projected;
    this.keep();
    this.show();
  }

  /** @param {Partial<State>} choice */
  select(choice) {
    this.selection.select({ ...choice, shown: new Set() });
    remember(this.chosen());
    this.tell(this.chosen());
    this.show();
  }

  show() {
    const { attention, state } = this.selection;
    this.page.read();
    this.root.classList.toggle("projected", state.projected);
    this.heads.fit(this.heads.element.clientWidth, MOST_HEIGHT);
    this.place.textContent = headTitle(attention, state);
    this.says.textContent = saying(attention, state);
    this.usual.textContent = usually(attention, state);
  }

  /** @param {Hovered | null} hovered */
  hover(hovered) {
    if (!hovered) return this.tip.hide();
    const { attention, number, thumbnail, button } = hovered;
    return this.tip.show(
      button,
      [button.offsetWidth, 0],
      aboutHead(attention, number, thumbnail, this.payload.words),
    );
  }
}
