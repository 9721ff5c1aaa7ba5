// The direction in which the tokens of a text run: Arabic and Hebrew from right to left, and words of others among them.

import { element } from "./element.js";

const RIGHT_TO_LEFT = /[\p{sc=Arabic}\p{sc=Hebrew}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}]/u;
const LETTER = /\p{L}/u;
const NUMBER = /\p{N}/u;

/** @typedef {"ltr" | "rtl"} Direction */

/** @typedef {{dir: Direction, begin: number, end: number}} Run Tokens from one to before another. */

/** @param {string} text @returns {Direction | null} Null: it has no letters. */
const directionOf = (text) => (RIGHT_TO_LEFT.test(text) ? "rtl" : LETTER.test(text) ? "ltr" : null);

/**
 * Return the direction of most tokens with letters, and the runs of tokens with one direction. Numbers run with what is
 * before them; signs with both their neighbours, or, between two directions, with the text.
 *
 * @param {string[]} texts
 * @returns {{dir: Direction, runs: Run[]}}
 */
export function runsOf(texts) {
  const own = texts.map(directionOf);
  const count = (/** @type {Direction} */ dir) => own.filter((each) => each === dir).length;
  const dir = count("rtl") > count("ltr") ? "rtl" : "ltr";
  /** @type {Run[]} */
  const runs = [];
  own.forEach((each, i) => {
    const [before, after] = [own.slice(0, i).findLast(Boolean) ?? dir, own.slice(i).find(Boolean) ?? dir];
    const resolved = each ?? (before === after || NUMBER.test(texts[i]) ? before : dir);
    const last = runs[runs.length - 1];
    if (last?.dir === resolved) last.end = i + 1;
    else runs.push({ dir: resolved, begin: i, end: i + 1 });
  });
  return { dir, runs };
}

/**
 * Put tokens into an element in the direction of their text; runs of the other direction are elements of their own.
 *
 * @param {Element} row
 * @param {string[]} texts
 * @param {(HTMLElement | string)[]} tokens The element of each.
 */
export function layOut(row, texts, tokens) {
  const { dir, runs } = runsOf(texts);
  row.setAttribute("dir", dir);
  row.replaceChildren(
    ...runs.flatMap((run) => {
      const inside = tokens.slice(run.begin, run.end);
      return run.dir === dir ? inside : [element("bdi", { dir: run.dir }, ...inside)];
    }),
  );
}
