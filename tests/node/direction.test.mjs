import assert from "node:assert/strict";
import { test } from "node:test";
import { VIEWS } from "./setup.mjs";

const { runsOf } = await import(`${VIEWS}/direction.js`);

/** The direction of a text, and its runs as texts. */
const read = (text) => {
  const texts = text.split(" ");
  const { dir, runs } = runsOf(texts);
  return [dir, ...runs.map(({ dir, begin, end }) => [dir, texts.slice(begin, end).join(" ")])];
};

test("a text runs as most of its words do, and words of another script run as they are read", () => {
  assert.deepEqual(read("the film was good ."), ["ltr", ["ltr", "the film was good ."]]);
  assert.deepEqual(read("这 部 电影 !"), ["ltr", ["ltr", "这 部 电影 !"]]);
  assert.deepEqual(read("كان الفيلم جميلا ."), ["rtl", ["rtl", "كان الفيلم جميلا ."]]);
  assert.deepEqual(read("هذا فيلم جميل Star Wars 4 !"), [
    "rtl",
    ["rtl", "هذا فيلم جميل"],
    ["ltr", "Star Wars 4"],
    ["rtl", "!"],
  ]);
  assert.deepEqual(read("they say שלום עולם , often"), [
    "ltr",
    ["ltr", "they say"],
    ["rtl", "שלום עולם"],
    ["ltr", ", often"],
  ]);
  assert.deepEqual(read("1 2 3"), ["ltr", ["ltr", "1 2 3"]]);
});
