import assert from "node:assert/strict";
import { test } from "node:test";
import { VIEWS } from "./setup.mjs";

const { led, within } = await import(`${VIEWS}/walking.js`);

const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

/** Where each key leads from a cell of a grid of 5 × 7. */
const all = (row, column) =>
  KEYS.map((key) => led(key, { row, column }, 5, 7)).map(({ row, column }) => [row, column]);

test("arrows lead to the next cell, the others to the ends of its row and column", () => {
  const expected = [
    [2, 2],
    [2, 4],
    [1, 3],
    [3, 3],
    [2, 0],
    [2, 6],
    [0, 3],
    [4, 3],
  ];
  assert.deepEqual(all(2, 3), expected);
});

test("no key leads out of the grid", () => {
  for (const [row, column] of [...all(0, 0), ...all(4, 6)]) {
    assert.deepEqual(within({ row, column }, 5, 7), { row, column });
  }
});

test("other keys lead nowhere", () => {
  for (const key of ["a", "Tab", "Enter", "Escape"])
    assert.equal(led(key, { row: 0, column: 0 }, 5, 7), null);
});
