import assert from "node:assert/strict";
import { test } from "node:test";
import { VIEWS } from "./setup.mjs";

const { numbersIn } = await import(`${VIEWS}/numbers.js`);

for (const language of ["en", "zh"]) {
  const { short, decimal, hundredths, percent, exactPercent } = numbersIn(language);

  test(`numbers have as many digits as can be read, and a real minus sign: ${language}`, () => {
    assert.deepEqual([0, -1.2345, 12345, -2e-7].map(short), ["0", "−1.23", "12,300", "−2E−7"]);
    assert.deepEqual([7, 1234.56].map(decimal), ["7.0", "1,234.6"]);
    assert.deepEqual([-0.324, 5].map(hundredths), ["−0.32", "5.00"]);
  });

  test(`small shares are written with more digits: ${language}`, () => {
    assert.deepEqual([1, 0.994, 0.0576].map(percent), ["100%", "99%", "5.8%"]);
    const exact = [1, 0.9984, 0.00026, 1e-9].map(exactPercent);
    assert.deepEqual(exact, ["100%", "99.8%", "0.0260%", "< 0.0001%"]);
  });
}

test("another language writes its own decimal point", () => {
  assert.equal(numbersIn("de").decimal(1234.56), "1.234,6");
});
