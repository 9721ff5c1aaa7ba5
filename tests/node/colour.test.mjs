import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, payload, randoms, VIEWS } from "./setup.mjs";

const { parse } = await import(`${VIEWS}/payload.js`);
const { thumbnailsOf } = await import(`${VIEWS}/thumbnails.js`);
const { css, entry, inkOn, ramp, weightLimit } = await import(`${VIEWS}/colour.js`);

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
  const table = ramp([
    [0, "#000000"],
    [0.25, "#ff8000"],
    [1, "#0102ff"],
  ]);
  assert.deepEqual(channels(table[0]), [0, 0, 0]);
  assert.deepEqual(channels(table[255]), [1, 2, 255]);
});

test("an unsigned scale goes from 0 to the largest number, a signed one from its negative", () => {
  assert.deepEqual(
    [0, 0.5, 1].map((share) => entry(share * 7, 7, false)),
    [0, 128, 255],
  );
  assert.deepEqual(
    [-1, 0, 1].map((share) => entry(share * 7, 7, true)),
    [0, 128, 255],
  );
});

test("numbers beyond the scale have the colours of its ends, and larger numbers never lower ones", () => {
  const random = randoms();
  for (const signed of [false, true]) {
    assert.deepEqual(
      [-99, 99].map((number) => entry(number, 3, signed)),
      [0, 255],
    );
    const numbers = Array.from({ length: 200 }, () => 8 * random() - 4).sort((a, b) => a - b);
    const entries = numbers.map((number) => entry(number, 3, signed));
    assert.deepEqual(
      entries,
      [...entries].sort((a, b) => a - b),
    );
  }
});

test("the scale of weights ends where Python ends it", () => {
  for (const [largest, keys, limit] of expected.limits) assert.equal(weightLimit(largest, keys), limit);
});

test("a uniform head is pale, and the scale of a head with a larger weight ends at that weight", () => {
  const places = [1, 2, 3, 4, 14, 512].map((keys) => entry(1 / keys, weightLimit(1 / keys, keys), false));
  assert.deepEqual(places, [255, 128, 85, 85, 85, 85]);
  assert.equal(weightLimit(0.6, 14), 0.6);
});

test("a thumbnail has the colours of the matrix, what is masked too", () => {
  const places = Uint32Array.from({ length: 256 }, (_, place) => place);
  for (const name of ["even", "half", "masked"]) {
    const { encoder } = parse(payload(name)).attentions;
    thumbnailsOf()(encoder, { ramps: { sequential: places }, gap: "#010203" }).forEach(
      (thumbnail, number) => {
        const [layer, head] = [Math.floor(number / encoder.heads), number % encoder.heads];
        const { data, largest } = encoder.field(layer, head, "weights");
        const limit = weightLimit(largest, encoder.seen(layer, head));
        const drawn = new Uint32Array(thumbnail.data.buffer);
        assert.deepEqual(
          [...drawn],
          [...data].map((weight) => (Number.isNaN(weight) ? 0xff030201 : entry(weight, limit, false))),
          `${name} ${number}`,
        );
      },
    );
  }
});

test("a scale of zeros has one colour", () => {
  assert.equal(entry(0, 0, false), 0);
  assert.equal(entry(0, 0, true), 128);
});

/** Luminance of (r, g, b) from 0 to 255, as WCAG 2.2 defines it. */
const luminance = (parts) => {
  const [r, g, b] = parts.map((part) =>
    part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

const hex = (colour) => [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16));
const packedOf = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** The inks that there are: that on black and that on white. */
const INKS = [0, 255].map((part) => hex(inkOn(packedOf([part, part, part]))));

test("what is written on a colour has the better contrast of both inks", () => {
  const random = randoms();
  const greys = Array.from({ length: 256 }, (_, part) => [part, part, part]);
  const others = Array.from({ length: 500 }, () => [0, 1, 2].map(() => Math.floor(256 * random())));
  for (const colour of [...greys, ...others]) {
    const best = Math.max(...INKS.map((ink) => contrast(ink, colour)));
    assert.equal(contrast(hex(inkOn(packedOf(colour))), colour), best, `on ${colour}`);
    assert.ok(best > 4, `${best} on ${colour}`);
  }
});

for (const [scale, themes] of Object.entries(expected.palettes)) {
  for (const [theme, [stops]] of Object.entries(themes)) {
    test(`what is written on the ${scale} scale of the ${theme} theme has a contrast of 4.5, or the better one`, () => {
      for (const packed of ramp(stops)) {
        const colour = channels(packed);
        const found = contrast(hex(inkOn(packed)), colour);
        const best = Math.max(...INKS.map((ink) => contrast(ink, colour)));
        assert.ok(found >= 4.5 || found === best, `${found} on ${colour}`);
      }
    });
  }
}
