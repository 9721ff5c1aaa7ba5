// A text as words, each a button: a press takes it away or hides it, another brings it back; or as a box to type in.

import { html, nothing } from "./lit.js";
import { fill } from "./text.js";

/** @typedef {{start: number, end: number}} Span In a text, in characters. */

/** @typedef {Span & {tokens: number[], gap: boolean}} Word Its tokens as typed; whether it is [MASK]. */

/** @typedef {Span & {way?: "for" | "against", share?: number, tip?: string, value?: string}} Tint What a word does. */

/** @typedef {Word & {is: "there" | "gone" | "hidden", tint: Tint | null}} Shown A word of a text, or one that was in it. */

/**
 * Return the words that were in a text before and are not any more, if that is all that has changed.
 *
 * @param {string} before
 * @param {Span[]} words Of the text before.
 * @param {string} now
 * @returns {Span[]}
 */
export function takenAway(before, words, now) {
  /** @type {Span[]} */
  const gone = [];
  let at = 0;
  for (const { start, end } of words) {
    const word = before.slice(start, end);
    const found = skipSpaces(now, at);
    if (now.startsWith(word, found)) at = found + word.length;
    else gone.push({ start, end });
  }
  return gone.length && without(before, gone) === now ? gone : [];
}

/** Return a text without some of its parts, and without the spaces that are then too many. @param {string} text @param {Span[]} parts */
export function without(text, parts) {
  let left = "";
  let last = 0;
  for (const { start, end } of parts) {
    left += text.slice(last, start);
    last = end;
  }
  return (left + text.slice(last)).replace(/ {2,}/g, " ").trim();
}

/** @param {string} text @param {number} at */
function skipSpaces(text, at) {
  while (text[at] === " ") at++;
  return at;
}

/**
 * Return the text as words in the colours of what they do, with what stands between them.
 *
 * @param {string} text
 * @param {Shown[]} words In order.
 * @param {number | null} chosen Number of the word that is pressed.
 * @param {((number: number) => void) | null} press What a press on a word does; null: nothing.
 * @param {{gone: string, hidden: string, there: string}} tips
 */
export function wordsOf(text, words, chosen, press, tips) {
  let last = 0;
  const parts = words.map((word, number) => {
    const between = text.slice(last, word.start);
    last = word.end;
    return [between, wordOf(text.slice(word.start, word.end), word, number, number === chosen, press, tips)];
  });
  return html`<span class="words" dir="auto">${parts}${text.slice(last)}</span>`;
}

/**
 * @param {string} text
 * @param {Shown} word
 * @param {number} number
 * @param {boolean} isChosen
 * @param {((number: number) => void) | null} press What a press on a word does; null: nothing.
 * @param {{gone: string, hidden: string, there: string}} tips
 */
function wordOf(text, { is, tint }, number, isChosen, press, tips) {
  const value = tint?.value ? html`<small>${tint.value}</small>` : nothing;
  const kind = `word ${is} ${tint?.way ?? ""}`;
  const share = `--share: ${tint?.share ?? 0}`;
  const tip = [tint?.tip, fill(tips[is], { word: text })].filter(Boolean).join(" ");
  if (!press)
    return html`<span class=${kind} style=${share} title=${tint?.tip ?? nothing}>${value}${text}</span>`;
  return html`<span class=${kind} style=${share} title=${tip} role="button" tabindex="0"
    data-word=${number} aria-pressed=${is === "there" ? nothing : "true"} aria-expanded=${isChosen ? "true" : nothing}
    @click=${() => press(number)}
    >${value}${text}</span>`;
}

/**
 * Return the complete words of what is being typed: all, or all but the last; "" while one is written before others, as
 * nobody can know whether it is complete.
 *
 * @param {string} typed
 * @param {number} caret Where the next letter goes.
 */
export function completeWords(typed, caret = typed.length) {
  const end = /[\p{L}\p{N}'’-]+$/u.exec(typed.slice(0, caret));
  if (!end || /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/u.test(end[0])) return typed;
  return typed.slice(caret).trim() ? "" : typed.slice(0, end.index).trimEnd();
}
