import assert from "node:assert/strict";
import { test } from "node:test";
import { all, textOf, tree } from "./drawn.mjs";
import { VIEWS } from "./setup.mjs";

const { completeWords, takenAway, without, wordsOf } = await import(`${VIEWS}/sentence.js`);

/** Where the words of a text are: Latin ones between blanks and punctuation, or each character of a list. */
const spans = (text, word = /[\p{L}\p{N}[\]]+|[^\s\p{L}\p{N}]/gu) =>
  [...text.matchAll(word)].map((found) => ({ start: found.index, end: found.index + found[0].length }));

const named = (text, parts) => parts.map(({ start, end }) => text.slice(start, end));

const gone = (before, now, word) => named(before, takenAway(before, spans(before, word), now));

test("of a text from which words were taken away, those are known", () => {
  const before = "A lovely film, not good.";
  assert.deepEqual(gone(before, "A film, not good."), ["lovely"]);
  assert.deepEqual(gone(before, "A lovely film, good."), ["not"]);
  assert.deepEqual(gone(before, "film, good."), ["A", "lovely", "not"]);
  assert.deepEqual(gone(before, "A lovely film, not good"), ["."]);
  assert.deepEqual(gone("房间不太干净。", "房间干净。", /房间|不太|干净|。/gu), ["不太"]);
});

test("of equal words the later one is taken to be gone if the text says no more", () => {
  const before = "good film good film";
  const found = takenAway(before, spans(before), "good film");
  assert.deepEqual(
    found.map(({ start }) => start),
    [10, 15],
  );
});

test("of a text in which anything else has changed, no word is said to be taken away", () => {
  const before = "A lovely film, not good.";
  for (const now of [
    before,
    "A dull film, not good.",
    "A lovely new film, not good.",
    "good not film",
    "B",
  ]) {
    assert.deepEqual(gone(before, now), []);
  }
});

test("what is taken away comes back word by word", () => {
  const before = "A lovely film, not good.";
  const words = spans(before);
  for (let first = 0; first < words.length; first++) {
    for (let last = first + 1; last < words.length; last++) {
      const parts = words.slice(first, last);
      const found = takenAway(before, words, without(before, parts));
      assert.equal(without(before, found), without(before, parts));
    }
  }
});

test("a text without some of its parts has one blank where two would be, and none at its ends", () => {
  const text = "A lovely film, not good.";
  const words = spans(text);
  assert.equal(without(text, []), text);
  assert.equal(without(text, [words[0]]), "lovely film, not good.");
  assert.equal(without(text, [words[1]]), "A film, not good.");
  assert.equal(without(text, [words[0], words[1]]), "film, not good.");
  assert.equal(without(text, words), "");
});

test("while one types, a run follows the words that are complete", () => {
  const typed = {
    "A lov": "A",
    "A lovely ": "A lovely ",
    "A lovely film": "A lovely",
    "A lovely film,": "A lovely film,",
    "don't": "",
    "I don’": "I",
    "well-kno": "",
    "été été": "été",
    12: "",
    "": "",
  };
  for (const [text, complete] of Object.entries(typed)) assert.equal(completeWords(text), complete);
});

test("a word that is written before others may not be complete, and nothing follows it", () => {
  const typed = {
    "This film was n| good": "",
    "This film was not |good": "This film was not good",
    "A lo|  ": "A",
  };
  for (const [text, complete] of Object.entries(typed)) {
    const caret = text.indexOf("|");
    assert.equal(completeWords(text.replace("|", ""), caret), complete);
  }
  assert.equal(completeWords("房间很干净", 2), "房间很干净");
});

test("Chinese and Japanese are complete with each character", () => {
  for (const text of ["房间很", "房间很干净", "wifi 很", "ありがと", "カメ"])
    assert.equal(completeWords(text), text);
  assert.equal(completeWords("房间很 go"), "房间很");
});

const TIPS = { there: "press {word}", gone: "bring {word}", hidden: "show {word}" };

function drawn(text, words, { chosen = null, press = null } = {}) {
  return all(tree(wordsOf(text, words, chosen, press, TIPS)), "span", ({ attributes }) =>
    String(attributes.class).startsWith("word "),
  );
}

const word = (start, end, more = {}) => ({
  start,
  end,
  tokens: [],
  gap: false,
  is: "there",
  tint: null,
  ...more,
});

test("the words are the text, with what stands between them", () => {
  const text = '<b>bad  film "of" it …';
  const words = [word(0, 6), word(8, 12), word(14, 16), word(18, 20)];
  assert.equal(textOf(tree(wordsOf(text, words, null, null, TIPS))), text);
  assert.deepEqual(
    drawn(text, words).map((each) => textOf([each])),
    ["<b>bad", "film", "of", "it"],
  );
});

test("a word has the colour of its effect, which its tip says, and its number if that is given", () => {
  const tint = { way: "against", share: 0.25, tip: "−0.50 log-odds", value: "−0.50" };
  const [bad, film] = drawn("bad film", [word(0, 3, { tint }), word(4, 8)]);
  assert.equal(bad.attributes.class, "word there against");
  assert.equal(bad.attributes.style, "--share: 0.25");
  assert.equal(bad.attributes.title, "−0.50 log-odds");
  assert.equal(textOf(all([bad], "small")), "−0.50");
  assert.deepEqual([film.attributes.style, film.attributes.title], ["--share: 0", undefined]);
});

test("words that nothing can be done with are no buttons", () => {
  const [found] = drawn("bad film", [word(0, 3)]);
  assert.equal("role" in found.attributes, false);
  assert.equal("tabindex" in found.attributes, false);
});

test("a word is a button that says what a press does, and whether it is taken away, hidden or chosen", () => {
  const pressed = [];
  const press = (number) => pressed.push(number);
  const tint = { way: "for", share: 1, tip: "+2.0" };
  const words = [word(0, 3, { tint }), word(4, 8, { is: "gone" }), word(9, 15, { is: "hidden" })];
  const [bad, film, hidden] = drawn("bad film [MASK]", words, { press, chosen: 0 });
  assert.deepEqual(
    [bad, film, hidden].map(({ attributes }) => attributes.title),
    ["+2.0 press bad", "bring film", "show [MASK]"],
  );
  assert.ok(
    [bad, film, hidden].every(
      ({ attributes }) => attributes.role === "button" && attributes.tabindex === "0",
    ),
  );
  assert.deepEqual(
    [bad, film, hidden].map(({ attributes }) => [attributes["aria-pressed"], attributes["aria-expanded"]]),
    [
      [undefined, "true"],
      ["true", undefined],
      ["true", undefined],
    ],
  );
  film.attributes["@click"]();
  assert.deepEqual(pressed, [1]);
  assert.equal(hidden.attributes["data-word"], 2); // by which a key finds it
});
