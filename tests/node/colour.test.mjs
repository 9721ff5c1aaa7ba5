import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, randoms, VIEWS } from "./setup.mjs";

const { css, entry, ramp } = await import(`${VIEWS}/colour.js`);

const channels = (packed) => css(packed).match(/\d+/g).map(Number);

for (const [scale, themes] of Object.entries(expected.palettes)) {
  for (const [theme, [stops, colours]] of Object.entries(themes)) {
    test(`the ${scale} scale of the ${theme} theme has the colours that Python interpolates`, () => {
      [...ramp(stops)].forEach((packed, i) => {
        assert.equal(packed >>> 24, 255, "opaque");
        channels(packed).forEach((channel, c) => assert.ok(Math.abs(channel - colours[i][c]) <= 0.51));
      });
    });
  }
}

test("a scale begins and ends with the colours of its ends", () => {
  const table = ramp([[0, "#000000"], [0.25, "#ff8000"], [1, "#0102ff"]]);
  assert.deepEqual(channels(table[0]), [0, 0, 0]);
  assert.deepEqual(channels(table[255]), [1, 2, 255]);
});

test("an unsigned scale goes from 0 to the largest number, a signed one from its negative", () => {
  assert.deepEqual([0, 0.5, 1].map((share) => entry(share * 7, 7, false)), [0, 128, 255]);
  assert.deepEqual([-1, 0, 1].map((share) => entry(share * 7, 7, true)), [0, 128, 255]);
});

test("numbers beyond the scale have the colours of its ends, and larger numbers never lower ones", () => {
  const random = randoms();
  for (const signed of [false, true]) {
    assert.deepEqual([-99, 99].map((number) => entry(number, 3, signed)), [0, 255]);
    const numbers = Array.from({ length: 200 }, () => 8 * random() - 4).sort((a, b) => a - b);
    const entries = numbers.map((number) => entry(number, 3, signed));
    assert.deepEqual(entries, [...entries].sort((a, b) => a - b));
  }
});

test("a scale of zeros has one colour", () => {
  assert.equal(entry(0, 0, false), 0);
  assert.equal(entry(0, 0, true), 128);
});
