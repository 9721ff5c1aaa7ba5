// A text that a model writes token by token: the tokens, the distribution of the next one, and where the model looked.

import { Candidates } from "./candidates.js";
import { element } from "./element.js";
import { floats, LookedAt } from "./looked.js";
import { ROUTES } from "./routes.js";
import { distribution, drawn } from "./sampling.js";
import { Sampling } from "./sliders.js";
import { fill, percent } from "./text.js";

/** @import {Candidate, Labels} from "./candidates.js" */
/** @import {Looked} from "./looked.js" */
/** @import {WrittenToken} from "./routes.js" */
/** @import {Component} from "./streamlit.js" */

/** @typedef {{word: string, share: number, rank: string}} Chip A written token, its probability and 1-based rank. */

/**
 * One step of a text, as Python packs it (pictures/writing.py).
 *
 * @typedef {object} Step
 * @property {string} of What is written, for Python.
 * @property {string} prompt
 * @property {Chip[]} chips
 * @property {number} step Number of the token that is being chosen, from 0.
 * @property {string} note Why nothing more can be written; "": it can.
 * @property {number | null} chosen Rank of the token that was written at this step.
 * @property {string} ids int32 in base64: all tokens, the likeliest first.
 * @property {string} ranked float32 in base64: their log probabilities.
 * @property {Candidate[]} candidates
 * @property {Record<string, Looked>} attention
 * @property {string} settings
 * @property {boolean} undo Whether there is something to undo.
 * @property {boolean} projected
 * @property {string} token Of the session, for the data routes.
 * @property {string} model
 * @property {string} source The text as typed.
 * @property {Labels} labels
 * @property {Labels} helps Of the buttons and sliders, by their names.
 */

/** @type {WeakMap<Element, Writing>} */
const MOUNTED = new WeakMap();

/** @param {Component<Step>} component */
export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector("div");
  if (!root) return;
  const tell = {
    act: (/** @type {object} */ acted) => setTriggerValue("acted", acted),
    settings: (/** @type {string} */ text) => setStateValue("settings", text),
  };
  const writing = MOUNTED.get(parentElement) ?? new Writing(root, data, tell);
  MOUNTED.set(parentElement, writing);
  writing.update(data, tell);
}

class Writing {
  /**
   * @param {HTMLElement} root
   * @param {Step} data
   * @param {{act: (acted: object) => void, settings: (text: string) => void}} tell
   */
  constructor(root, data, tell) {
    Object.assign(root, { className: "writing" });
    this.root = root;
    this.data = data;
    this.tell = tell;
    /** @type {AbortController | null} */
    this.playing = null; // while a text is written on
    this.ranked = new Float32Array();
    this.ids = new Int32Array();
    this.text = element("div", { className: "text", role: "group" });
    this.note = element("p", { className: "note", ariaLive: "polite" });
    this.bar = element("div", { className: "bar" });
    this.title = element("h3", {});
    this.sampling = new Sampling(data.settings, (done) => this.draw(done));
    this.candidates = new Candidates((rank) => this.write(rank));
    this.looked = new LookedAt();
    this.where = element("h3", {});
    const controls = element("div", { className: "controls" }, this.bar, this.sampling.element);
    const next = element("section", {}, this.title, this.candidates.element);
    const where = element("section", {}, this.where, this.looked.element);
    root.append(this.text, this.note, controls, element("div", { className: "columns" }, next, where));
    root.addEventListener("transitionend", ({ target }) => target === root && this.looked.show()); // another theme
  }

  /**
   * @param {Step} data
   * @param {Writing["tell"]} tell
   */
  update(data, tell) {
    Object.assign(this, { data, tell });
    ROUTES.token = data.token;
    this.ranked = floats(data.ranked);
    this.ids = new Int32Array(floats(data.ids).buffer);
    this.root.classList.toggle("projected", data.projected);
    this.sampling.update(data.settings, data.labels, data.helps);
    this.showText();
    this.showButtons();
    const said = data.chosen === null ? data.labels.title : data.labels.title_written;
    this.title.textContent = fill(said, { number: data.step + 1, word: data.chips[data.step]?.word ?? "" });
    this.where.textContent = data.labels.where;
    this.candidates.update(data.candidates, this.ranked, data.chosen, data.labels);
    this.looked.update(data.attention, data.labels);
    this.draw(false);
  }

  /** Show the prompt and the written tokens, those after the step faded. */
  showText() {
    const { prompt, chips, step, note, labels } = this.data;
    const focused = [...this.text.querySelectorAll("button")].findIndex((button) => button.matches(":focus"));
    const buttons = chips.map(({ word, share, rank }, number) => {
      const title = fill(labels.chip, { word, percent: percent(share), rank });
      const button = element("button", {
        textContent: word,
        title,
        ariaLabel: title,
        className: number > step ? "later" : "",
      });
      button.style.setProperty("--tint", `${Math.round(50 * share)}%`);
      return this.goes(button, number);
    });
    if (!note) {
      const next = element("button", {
        textContent: "?",
        className: "next",
        title: labels.next,
        ariaLabel: labels.next,
      });
      buttons.push(this.goes(next, chips.length));
    }
    this.text.ariaLabel = labels.text;
    this.text.replaceChildren(element("span", { className: "prompt", textContent: prompt }), ...buttons);
    if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)]?.focus({ preventScroll: true });
    this.note.textContent = note;
    this.note.hidden = !note;
    const current = this.text.querySelector("[aria-current]");
    if (current instanceof HTMLElement) this.text.scrollTop = current.offsetTop - this.text.clientHeight / 2;
  }

  /**
   * @param {HTMLButtonElement} button
   * @param {number} step To which a press on it leads.
   */
  goes(button, step) {
    if (step === this.data.step) button.setAttribute("aria-current", "step");
    button.onclick = () => this.act({ do: "step", step });
    return button;
  }

  showButtons() {
    const { note, labels, helps, undo, chips, step } = this.data;
    const isOver = note !== "" && step >= chips.length - 1;
    const focused = this.bar.querySelector(":focus")?.getAttribute("data-key");
    /** @type {(key: string, press: () => void, disabled?: boolean) => HTMLButtonElement} */
    const button = (key, press, disabled = false) => {
      const made = element("button", {
        textContent: labels[key],
        title: helps[key],
        disabled,
        onclick: press,
      });
      made.dataset.key = key;
      return made;
    };
    const go = this.playing ? button("stop", () => this.stop()) : button("go", () => this.begin(), isOver);
    go.dataset.key = "go";
    this.bar.replaceChildren(
      button("likeliest", () => this.write(0), isOver),
      button("draw", () => this.write(this.choice()), isOver),
      go,
      button("undo", () => this.act({ do: "undo" }), !undo),
      button("restart", () => this.act({ do: "restart" }), !chips.length),
    );
    const again = focused && this.bar.querySelector(`[data-key="${focused}"]`);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }

  /**
   * Draw the bars for the settings.
   *
   * @param {boolean} done Whether the settings are to be kept.
   */
  draw(done) {
    const { settings } = this.sampling;
    this.shares = distribution(this.ranked, settings);
    this.candidates.draw(this.shares, distribution(this.ranked, { ...settings, topP: 1 }), settings);
    if (done) this.tell.settings(this.sampling.keep());
  }

  /** Return the rank of a token drawn from the filled bars. */
  choice() {
    return drawn(this.shares ?? distribution(this.ranked, this.sampling.settings), Math.random());
  }

  /** Write on: each token is shown as it arrives, and all are kept at the end. */
  async begin() {
    const { data } = this;
    const playing = new AbortController();
    this.playing = playing;
    this.showButtons();
    /** @type {number[]} */
    const ids = [];
    const asked = { model: data.model, text: data.source, written: data.of, settings: this.sampling.keep() };
    const take = (/** @type {WrittenToken} */ line) => {
      ids.push(line.token);
      this.showToken(line);
      if (!this.root.isConnected) playing.abort();
    };
    try {
      await ROUTES.write(asked, take, playing.signal);
    } catch {
      // Stopped by a press, or the server has gone: what was written until then is kept.
    }
    if (this.playing !== playing) return;
    this.playing = null;
    if (ids.length) this.tell.act({ do: "take", ids, of: data.of });
    else this.showButtons();
  }

  stop() {
    this.playing?.abort();
  }

  /** Show a token behind the others, with those that were likeliest in its place. @param {WrittenToken} line */
  showToken({ chip, likeliest }) {
    const { step, chips } = this.data;
    this.data = { ...this.data, chips: [...chips.slice(0, step), chip], step: step + 1 };
    this.showText();
    this.ranked = Float32Array.from(likeliest, ([, log]) => log);
    const candidates = likeliest.map(([word], rank) => ({ rank, word }));
    this.candidates.update(candidates, this.ranked, Number(chip.rank) - 1, this.data.labels);
    this.draw(false);
  }

  /** @param {number} rank */
  write(rank) {
    this.act({ do: "write", token: this.ids[rank], at: this.data.step });
  }

  /** @param {object} acted */
  act(acted) {
    this.playing = null;
    this.tell.act({ ...acted, of: this.data.of });
  }
}
