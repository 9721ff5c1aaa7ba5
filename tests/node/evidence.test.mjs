import assert from "node:assert/strict";
import { test } from "node:test";
import { payload, VIEWS } from "./setup.mjs";

const { evidenceTitle, measureText } = await import(`${VIEWS}/evidence.js`);
const { known } = await import(`${VIEWS}/sheet.js`);
const { parse } = await import(`${VIEWS}/payload.js`);

const { attentions, words } = parse(payload("evidence"));
const attention = attentions.encoder;

test("a measure of a head is what Python packed, and what is unknown is left out", () => {
  for (const layer of [0, 1]) {
    for (const head of [0, 1, 2]) {
      const measured = attention.measured(layer, head);
      assert.deepEqual(
        measured.map(({ name }) => name),
        layer === 0 && head === 1 ? ["previous"] : ["previous", "even"],
      );
      const [first] = measured;
      const base = 10 * layer + head;
      const numbers = [first.mean, first.spread, first.held, first.uniform, first.here];
      assert.deepEqual(
        numbers,
        [base, base + 100, base + 200, base + 300, base + 400].map((n) => Math.fround(n / 1000)),
      );
      assert.equal(first.texts, 90);
    }
  }
});

test("an attention that was not measured has no measures", () => {
  assert.deepEqual(parse(payload("masked")).attentions.encoder.measured(0, 0), []);
});

test("a measure is said with what it is over many texts, under uniform attention and here", () => {
  const facts = { name: "previous", meaning: "Weight on the previous token" };
  const many = { ...facts, texts: 300, mean: 0.624, spread: 0.11, held: 0.97, uniform: 0.125, here: 0.58 };
  assert.equal(
    measureText(many, words),
    "Weight on the previous token: 62% ± 11% on average; the head shows it in 291 of 300 texts. " +
      "With uniform attention: 13%. In this text: 58%.",
  );
  assert.match(measureText({ ...many, here: NaN }, words), /In this text: not shown by it\.$/);
  const here = { ...facts, texts: 0, mean: NaN, spread: NaN, held: NaN, uniform: 0.125, here: 0.58 };
  assert.equal(
    measureText(here, words),
    "Weight on the previous token: 58% in this text. With uniform attention: 13%.",
  );
});

test("the title says how many texts there were", () => {
  assert.equal(evidenceTitle(attention.measured(0, 0), words), "Patterns over 100 texts");
  assert.equal(evidenceTitle([{ texts: 0 }], words), "Patterns in this text");
});

test("of the numbers of a sheet, null is unknown", () => {
  const { mean, here, name } = known({ name: "previous", mean: 0, here: null });
  assert.deepEqual([name, mean], ["previous", 0]);
  assert.ok(Number.isNaN(here));
});
