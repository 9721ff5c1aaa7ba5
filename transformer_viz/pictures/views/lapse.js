// The heads of a layer during training: a panel for each head, at one step, or played from the first step to the last.

import { curves } from "./curves.js";
import { element } from "./element.js";
import { Panel } from "./panel.js";
import { unpack } from "./payload.js";
import { surface } from "./surface.js";
import { fill } from "./text.js";
import { looks, PageTheme } from "./theme.js";
import { tipOf } from "./tip.js";

/** @import {Curve, Picture} from "./curves.js" */
/** @import {PanelScene} from "./panel.js" */
/** @import {Where} from "./payload.js" */
/** @import {Component} from "./streamlit.js" */
/** @import {Palette} from "./theme.js" */
/** @import {Point} from "./tip.js" */

/** @typedef {{title: string, lines: (Omit<Curve, "colour"> & {head: number})[]}} Chart Lines in the colours of heads. */

/**
 * What Python packs (forming.py).
 *
 * @typedef {object} Header
 * @property {number[]} steps Of each frame.
 * @property {number} heads
 * @property {string[]} rows
 * @property {string[]} columns
 * @property {number[]} limits Where the colour scale of each head ends, in percent.
 * @property {Where<"uint8">} values Weights in percent: (frame * head * row * column).
 * @property {PanelScene["says"]} says
 * @property {Record<string, Palette>} themes
 * @property {PanelScene["words"] & Record<"head" | "step" | "steps" | "play" | "pause", string>} words
 * @property {Chart[]} pictures
 * @property {string} name
 */

/** @type {WeakMap<Element, Lapse>} */
const LAPSES = new WeakMap();
const CLOSE = 40; // no lines separate the cells of more tokens
const EACH = 250; // milliseconds per step

/** @param {Component<Uint8Array>} component */
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector("div");
  if (!root) return;
  const lapse = LAPSES.get(parentElement);
  if (lapse) lapse.update(data);
  else LAPSES.set(parentElement, new Lapse(root, data));
}

/** @param {Uint8Array} bytes */
function read(bytes) {
  const { header, array } = unpack(bytes);
  const facts = /** @type {Header} */ (header);
  return { ...facts, values: array(facts.values), look: looks(facts.themes) };
}

export class Lapse {
  /** @param {HTMLElement} root @param {Uint8Array} bytes */
  constructor(root, bytes) {
    this.root = root;
    this.of = read(bytes);
    this.frame = this.of.steps.length - 1;
    this.page = new PageTheme(root);
    /** @type {{panel: Panel, figure: HTMLElement, caption: HTMLElement}[]} */
    this.heads = [];
    /** @type {ReturnType<typeof setInterval> | undefined} */
    this.timer = undefined;
    root.className = "lapse";
    this.button = element("button", { type: "button" });
    this.button.addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    this.range = element("input", { type: "range", min: "0", step: "1" });
    this.range.addEventListener("input", () => {
      this.pause();
      this.show(Number(this.range.value));
    });
    this.output = element("output", {});
    this.bar = element("div", { className: "bar" }, this.button, this.range, this.output);
    this.figures = element("div", { className: "heads" });
    this.below = element("div", { className: "curves" });
    this.tip = tipOf(root);
    root.append(this.bar, this.figures, this.below, this.tip.element);
    const view = curves({
      pictures: () => this.pictures(),
      run: () => ({ step: this.step(), last: this.of.steps[this.of.steps.length - 1] }),
      theme: () => this.page.theme,
      go: (step) => this.go(step),
      hover: (values, place) => this.hover(values, place),
    });
    this.surface = surface(this.below, view, this.page.read);
    root.addEventListener("transitionend", () => this.show(this.frame)); // of colours, to another theme
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show(this.frame));
    this.update(bytes);
  }

  /**
   * Show another payload: at the same step if it still exists, at the last one if the last was shown.
   *
   * @param {Uint8Array} bytes
   */
  update(bytes) {
    const before = this.frame === this.of.steps.length - 1 ? -1 : this.step();
    this.of = read(bytes);
    const { steps, words, pictures } = this.of;
    this.bar.hidden = steps.length < 2 && !pictures.length;
    this.below.hidden = !pictures.length;
    this.range.max = String(steps.length - 1);
    this.range.setAttribute("aria-label", words.steps);
    this.surface.canvas.setAttribute("aria-label", pictures.map(({ title }) => title).join(" · "));
    this.name();
    const at = steps.indexOf(before);
    this.show(at < 0 ? steps.length - 1 : at);
  }

  step() {
    return this.of.steps[this.frame];
  }

  look() {
    return this.of.look(this.page.theme);
  }

  /** Return the charts with their colours. @returns {Picture[]} */
  pictures() {
    const { heads } = this.look();
    return this.of.pictures.map(({ title, lines }) => ({
      title,
      lines: lines.map(({ head, ...line }) => ({ ...line, colour: heads[head % heads.length] })),
    }));
  }

  /** Show the frame nearest to a step. @param {number} step */
  go(step) {
    this.pause();
    const far = this.of.steps.map((each) => Math.abs(each - step));
    this.show(far.indexOf(Math.min(...far)));
  }

  /** @param {number} frame */
  show(frame) {
    this.frame = frame;
    this.page.read();
    const { steps, words, heads } = this.of;
    this.range.value = String(frame);
    this.output.textContent = fill(words.step, { step: steps[frame] });
    this.range.setAttribute("aria-valuetext", this.output.textContent);
    for (const { figure } of this.heads.splice(heads)) figure.remove();
    for (let head = 0; head < heads; head++) this.showHead(head);
    this.surface.redraw();
  }

  /** @param {number} head */
  showHead(head) {
    const { words } = this.of;
    const colours = this.look().heads;
    const title = fill(words.head, { head: head + 1 });
    const scene = this.scene(head, title);
    this.heads[head] ??= this.newHead(scene);
    const { panel, caption } = this.heads[head];
    caption.textContent = title;
    caption.style.color = colours[head % colours.length];
    panel.update(scene);
  }

  /** @param {PanelScene} scene */
  newHead(scene) {
    const [caption, own] = [element("figcaption", {}), element("div", {})];
    const figure = element("figure", {}, caption, own);
    this.figures.append(figure);
    return {
      figure,
      caption,
      panel: new Panel(own, scene, this.page, () => this.heads.map(({ panel }) => panel)),
    };
  }

  /**
   * Return a head at the current step.
   *
   * @param {number} head
   * @param {string} title
   * @returns {PanelScene}
   */
  scene(head, title) {
    const { rows, columns, heads, limits, values, words, says, name } = this.of;
    const size = rows.length * columns.length;
    const begin = (this.frame * heads + head) * size;
    const limit = limits[head];
    const ramp = this.look().ramps.sequential;
    const scale = { ramp, limit, signed: false, ticks: ["0 %", `${Number(limit.toPrecision(2))} %`] };
    return {
      ...{
        key: `${rows.length}/${columns.length}`,
        rows,
        columns,
        values: values.subarray(begin, begin + size),
        scale,
      },
      ...{ fit: "square", lines: columns.length <= CLOSE, pixels: 11, digits: 0 },
      ...{
        alt: title,
        title: `${title} · ${fill(words.step, { step: this.step() })}`,
        name: `${name}-${head + 1}-${this.step()}`,
      },
      ...{ says, words },
    };
  }

  play() {
    const next = () => {
      if (!this.root.isConnected || this.frame + 1 >= this.of.steps.length) this.pause();
      else this.show(this.frame + 1);
    };
    if (this.frame + 1 >= this.of.steps.length) this.show(0);
    this.timer = setInterval(next, EACH);
    this.name();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.name();
  }

  /**
   * Show the values at the step under the pointer.
   *
   * @param {{step: number, texts: string[]} | null} values
   * @param {Point} place
   */
  hover(values, place) {
    if (!values) return this.tip.hide();
    const texts = [fill(this.of.words.step, { step: values.step }), ...values.texts];
    return this.tip.show(this.surface.canvas, place, [texts.join("\n")]);
  }

  /** Label the button with what a press does. */
  name() {
    const { play, pause } = this.of.words;
    this.button.textContent = this.timer ? `❚❚ ${pause}` : `▶ ${play}`;
  }
}
