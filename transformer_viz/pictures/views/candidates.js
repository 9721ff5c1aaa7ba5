// The likeliest next tokens as bars: the model's own probability as an outline, filled what the settings make of it.

import { element } from "./element.js";
import { fill, percent } from "./text.js";

/** @import {Settings} from "./sampling.js" */

/** @typedef {{rank: number, word: string}} Candidate Rank: 0-based, among all tokens. */

/** @typedef {Record<string, string>} Labels Sentences of the visitor's language, from Python. */

/** @param {number} share */
const width = (share) => `${100 * share}%`;

/** The list of candidates; its rows stay the same elements while a slider is moved. */
export class Candidates {
  /** @param {(rank: number) => void} press */
  constructor(press) {
    this.press = press;
    this.summary = element("p", { className: "summary", ariaLive: "polite" });
    this.list = element("ol", { className: "list" });
    this.cut = element("li", { className: "cut-here" });
    this.head = element("div", { className: "row names", ariaHidden: "true" });
    this.element = element("div", { className: "candidates" }, this.summary, this.head, this.list);
    /** @type {Row[]} */
    this.rows = [];
    this.ranked = new Float32Array();
    /** @type {Labels} */
    this.labels = {};
  }

  /**
   * Show the candidates of a step.
   *
   * @param {Candidate[]} candidates
   * @param {Float32Array} ranked Log probabilities of all tokens, the likeliest first.
   * @param {number | null} chosen Rank of the token that was written at this step.
   * @param {Labels} labels
   */
  update(candidates, ranked, chosen, labels) {
    const [focused, top] = [this.focused(), this.list.scrollTop];
    const isSame = this.ranked.length === ranked.length && ranked.every((own, i) => own === this.ranked[i]);
    Object.assign(this, { labels, ranked });
    this.head.replaceChildren(
      ...["token", "", "probability", "sum"].map((name) =>
        element("span", { textContent: labels[name] ?? "" }),
      ),
    );
    this.rows = candidates.map((candidate) => this.row(candidate, candidate.rank === chosen));
    this.list.replaceChildren(...this.rows.map(({ item }) => item));
    this.list.scrollTop = isSame ? top : 0;
    this.rows.find(({ rank }) => rank === focused)?.button.focus({ preventScroll: true });
  }

  /** Return the rank of the row that has the focus. */
  focused() {
    return this.rows.find(({ button }) => button.matches(":focus"))?.rank ?? null;
  }

  /**
   * @param {Candidate} candidate
   * @param {boolean} isChosen
   * @returns {Row}
   */
  row({ rank, word }, isChosen) {
    const own = element("span", { className: "own" });
    const now = element("span", { className: "now" });
    const share = element("span", { className: "share" });
    const sum = element("span", { className: "sum" });
    const name = element("span", { className: "word", textContent: word });
    const button = element(
      "button",
      { className: "row" },
      name,
      element("span", { className: "track" }, own, now),
      share,
      sum,
    );
    if (isChosen) button.setAttribute("aria-current", "true");
    button.onclick = () => this.press(rank);
    own.style.width = width(Math.exp(this.ranked[rank]));
    return { rank, word, button, now, share, sum, item: element("li", {}, button) };
  }

  /**
   * Show what the settings make of the probabilities.
   *
   * @param {Float64Array} shares Of each token, as it is drawn.
   * @param {Float64Array} before The same before top-p cuts any.
   * @param {Settings} settings
   */
  draw(shares, before, settings) {
    const { labels, ranked } = this;
    const kept = shares.findLastIndex((share) => share > 0) + 1;
    const sums = before.slice();
    for (let i = 1; i < sums.length; i++) sums[i] += sums[i - 1];
    for (const { rank, word, button, now, share, sum } of this.rows) {
      const isCut = rank >= kept;
      now.style.width = width(shares[rank]);
      share.textContent = isCut ? "–" : percent(shares[rank]);
      sum.textContent = before[rank] ? percent(sums[rank]) : "";
      button.classList.toggle("cut", isCut);
      const said = { word, now: percent(shares[rank]), own: percent(Math.exp(ranked[rank])), rank: rank + 1 };
      button.title = fill(isCut ? labels.row_cut : labels.row, said);
    }
    const total = ranked.findLastIndex(Number.isFinite) + 1;
    const sentence = kept === 1 ? labels.only : kept < total ? labels.count : labels.all;
    this.summary.textContent = fill(sentence, {
      count: kept.toLocaleString("en"),
      total: total.toLocaleString("en"),
    });
    this.cut.textContent = fill(this.reason(kept, settings, labels), {
      k: settings.topK ?? 0,
      p: settings.topP,
    });
    const first = this.rows.find(({ rank }) => rank >= kept);
    if (first) this.list.insertBefore(this.cut, first.item);
    else this.cut.remove();
  }

  /**
   * Return the sentence on the setting that cuts the first token that cannot be drawn.
   *
   * @param {number} kept
   * @param {Settings} settings
   * @param {Labels} labels
   */
  reason(kept, { temperature, topK }, labels) {
    if (!temperature) return labels.cut_temperature;
    return kept === topK ? labels.cut_k : labels.cut_p;
  }
}

/**
 * @typedef {object} Row
 * @property {number} rank
 * @property {string} word
 * @property {HTMLButtonElement} button
 * @property {HTMLElement} now
 * @property {HTMLElement} share
 * @property {HTMLElement} sum
 * @property {HTMLLIElement} item
 */
