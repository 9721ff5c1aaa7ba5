// The button of a head: its thumbnail, its role, and the switch that turns the head off. It stays when the run changes.

import { button } from "./buttons.js";
import { figureText, headTitle, signedText } from "./captions.js";
import { element } from "./element.js";
import { placeOf } from "./order.js";
import { fill } from "./text.js";
import { canvasOf } from "./thumbnails.js";

/** @import {Hovered} from "./heads.js" */
/** @import {Attention, Words} from "./payload.js" */
/** @import {Look} from "./theme.js" */

/**
 * What a button consists of.
 *
 * @typedef {object} Form
 * @property {boolean} named Whether the role of the head stands under it.
 * @property {boolean} switched Whether the head can be switched off.
 * @property {boolean} barred Whether a bar under it says what it does to the answer.
 */

/**
 * What a button needs from the heads.
 *
 * @typedef {object} HeadButtonHost
 * @property {() => Words} words
 * @property {(several: boolean) => void} press
 * @property {() => void} toggle
 * @property {(head: Hovered | null) => void} hover
 */

const POWER = "M8 1.8v5.4M4.3 4.2a5.2 5.2 0 1 0 7.4 0"; // the sign of a switch, on 16 × 16

export class HeadButton {
  /** @param {string} kind @param {number} number @param {Form} form @param {HeadButtonHost} host */
  constructor(kind, number, { named, switched, barred }, host) {
    this.kind = kind;
    this.number = number;
    this.host = host;
    /** @type {Hovered | null} */
    this.shown = null;
    this.picture = element("img", { alt: "", draggable: false, decoding: "sync" }); // not a canvas, which every frame pays for
    this.role = element("span", { className: "role" });
    this.share = element("span", { className: "share" });
    const press = (/** @type {MouseEvent} */ { shiftKey, ctrlKey, metaKey }) =>
      host.press(shiftKey || ctrlKey || metaKey);
    this.button = button("", `${kind}-${number}`, press, { className: "head", pressed: false });
    this.bar = barred ? element("span", { className: "bar" }, element("i", {})) : null;
    this.button.append(
      this.picture,
      ...(this.bar ? [this.bar] : []),
      ...(named ? [this.role, " ", this.share] : []),
    );
    for (const event of ["pointerenter", "focus"])
      this.button.addEventListener(event, () => host.hover(this.shown));
    for (const event of ["pointerleave", "blur"]) this.button.addEventListener(event, () => host.hover(null));
    this.power = switched ? this.switch() : null;
    this.element = this.power
      ? element("div", { className: "switched" }, this.button, this.power)
      : this.button;
  }

  /**
   * Say what a head of a run does; its thumbnail comes with `draw`.
   *
   * @param {Attention} attention
   * @param {Look} look
   * @param {boolean} isOff Whether it is switched off.
   */
  show(attention, { heads: colours }, isOff) {
    const { roles, shares } = attention;
    const place = placeOf(attention, this.number);
    this.picture.style.aspectRatio = String(1 / shapeOf(attention));
    this.button.style.setProperty("--head", colours[place.head % colours.length]);
    const effect = attention.isMeasured ? figureText(attention, "effect", this.number) : "";
    const share = effect || (shares?.[this.number] ?? "");
    this.role.textContent = roles[this.number];
    this.share.textContent = share || "\u00a0";
    const below = `${roles[this.number]} ${share}`.trim();
    this.button.ariaLabel = [headTitle(attention, place), below].filter(Boolean).join(" · ");
    if (!this.power) return;
    const { switch_off: offWord, switch_on: onWord } = this.host.words();
    this.power.ariaPressed = String(isOff);
    this.power.title = fill(isOff ? onWord : offWord, { head: headTitle(attention, place) });
    this.power.ariaLabel = this.power.title;
  }

  /**
   * Show what the head does to the answer.
   *
   * @param {number | null} effect Null: unknown.
   * @param {number} largest Of any head.
   */
  measure(effect, largest) {
    if (!this.bar) return;
    const share = effect === null || !largest ? 0 : effect / largest;
    this.bar.classList.toggle("against", share < 0);
    this.bar.style.setProperty("--share", String(Math.abs(share)));
    if (effect !== null)
      this.button.ariaLabel += ` · ${this.host.words().sorts.effect} ${signedText(effect)}`;
  }

  /** Show the thumbnail of the head. @param {Attention} attention @param {ImageData} thumbnail */
  draw(attention, thumbnail) {
    this.shown = { attention, number: this.number, thumbnail, button: this.button };
    this.picture.src = canvasOf(thumbnail).toDataURL();
  }

  /** Return the button that switches the head off, or on again; the keys reach it with O on the head itself. */
  switch() {
    const made = button("", `power-${this.kind}-${this.number}`, () => this.host.toggle(), {
      className: "power",
      pressed: false,
    });
    made.append(sign(POWER));
    made.tabIndex = -1;
    return made;
  }
}

/** Return the height of a thumbnail as a share of its width. @param {Attention} attention */
export const shapeOf = ({ queries, keys }) => Math.max(0.4, Math.min(1.6, queries / keys));

/**
 * Return a sign drawn with lines.
 *
 * @param {string} path
 */
function sign(path) {
  const [picture, line] = ["svg", "path"].map((name) =>
    document.createElementNS("http://www.w3.org/2000/svg", name),
  );
  picture.setAttribute("viewBox", "0 0 16 16");
  picture.setAttribute("aria-hidden", "true");
  line.setAttribute("d", path);
  picture.append(line);
  return picture;
}
