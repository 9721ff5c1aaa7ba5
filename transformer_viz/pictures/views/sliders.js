// The sliders of temperature, top-k and top-p.

import { element } from "./element.js";
import { settingsOf, textOf } from "./sampling.js";

/** @import {Labels} from "./candidates.js" */
/** @import {Settings} from "./sampling.js" */

const MOST = 50; // largest k of the slider; beyond it, all tokens are kept

/** The three sliders: every movement is told at once, and when one is let go, that it is to be kept. */
export class Sampling {
  /**
   * @param {string} text The settings, as `settingsOf` reads them.
   * @param {(done: boolean) => void} changed
   */
  constructor(text, changed) {
    this.settings = settingsOf(text);
    this.known = text; // what the server said last
    /** @type {string[]} */
    this.sent = []; // what it has been told since, which it is going to say again
    this.element = element("div", { className: "sliders" });
    /** @type {Labels} */
    this.labels = {};
    /** @type {Labels} */
    this.helps = {};
    this.inputs = [
      this.slider("temperature", 0, 2, 0.05, changed, (temperature) => ({ temperature })),
      this.slider("top_k", 1, MOST + 1, 1, changed, (k) => ({ topK: k > MOST ? null : k })),
      this.slider("top_p", 0.05, 1, 0.05, changed, (topP) => ({ topP })),
    ];
    this.element.append(...this.inputs.map(({ box }) => box));
  }

  /** Return the settings as a text that the server is going to keep. */
  keep() {
    const text = textOf(this.settings);
    this.sent.push(text);
    return text;
  }

  /**
   * @param {string} name
   * @param {number} min
   * @param {number} max
   * @param {number} step
   * @param {(done: boolean) => void} changed
   * @param {(value: number) => Partial<Settings>} read
   */
  slider(name, min, max, step, changed, read) {
    const input = element("input", { type: "range", min: `${min}`, max: `${max}`, step: `${step}` });
    const label = element("span", {});
    const output = element("output", {});
    const box = element("label", {}, label, input, output);
    input.oninput = () => {
      Object.assign(this.settings, read(Number(input.value)));
      this.show();
      changed(false);
    };
    input.onchange = () => changed(true);
    return { name, input, label, output, box };
  }

  /**
   * Take the settings of the server, unless it only says what it was told.
   *
   * @param {string} text
   * @param {Labels} labels
   * @param {Labels} helps
   */
  update(text, labels, helps) {
    Object.assign(this, { labels, helps });
    const told = this.sent.indexOf(text);
    if (told >= 0) this.sent.splice(0, told + 1);
    else if (text !== this.known) this.settings = settingsOf(text);
    this.known = text;
    this.show();
  }

  show() {
    const { temperature, topK, topP } = this.settings;
    const values = [temperature, topK ?? MOST + 1, topP];
    const shown = [
      temperature.toFixed(2),
      topK ? `${topK}` : this.labels.off,
      topP < 1 ? topP.toFixed(2) : this.labels.off,
    ];
    for (const [i, { name, input, label, output, box }] of this.inputs.entries()) {
      label.textContent = this.labels[name];
      box.title = this.helps[name];
      input.value = `${values[i]}`;
      input.ariaValueText = shown[i];
      output.textContent = shown[i];
    }
  }
}
