import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, VIEWS } from "./setup.mjs";

const { distribution, drawn, settingsOf, textOf } = await import(`${VIEWS}/sampling.js`);

test("the distribution is the one that Python computes", () => {
  assert.ok(expected.sampling.length >= 200);
  for (const { ranked, settings, shares } of expected.sampling) {
    const numbers = Float32Array.from(ranked, (number) => number ?? -Infinity);
    const found = distribution(numbers, settingsOf(settings));
    found.forEach((share, rank) => assert.ok(Math.abs(share - shares[rank]) < 1e-9, `${settings} ${rank}`));
  }
});

test("what is drawn has the share of its token, and nothing that is cut is drawn", () => {
  const shares = distribution(Float32Array.from([0.4, 0.3, 0.2, 0.1], Math.log), {
    temperature: 1,
    topK: 3,
    topP: 1,
  });
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 9000; i++) counts[drawn(shares, (i + 0.5) / 9000)] += 1;
  assert.deepEqual(counts, [4000, 3000, 2000, 0]);
  assert.equal(drawn(Float64Array.of(0.3, 0.7 - 1e-12), 1 - 1e-15), 0);
});

test("settings are read as they are written", () => {
  for (const text of ["1-0-1", "0.85-40-0.95", "0-1-0.05"]) assert.equal(textOf(settingsOf(text)), text);
  assert.deepEqual(settingsOf("0.8-0-0.9"), { temperature: 0.8, topK: null, topP: 0.9 });
});
