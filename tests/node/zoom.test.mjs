import assert from "node:assert/strict";
import { test } from "node:test";
import { randoms, VIEWS } from "./setup.mjs";

const { moved, revealed, whole, zoomed } = await import(`${VIEWS}/zoom.js`);

const all = whole(40, 30);
const close = (one, other) => assert.ok(Math.abs(one - other) < 1e-9, `${one} is not ${other}`);

function checkInside(part) {
  assert.ok(part.row >= 0 && part.column >= 0);
  assert.ok(part.row + part.rows <= all.rows + 1e-9 && part.column + part.columns <= all.columns + 1e-9);
}

test("the place under the pointer stays there, unless an edge of the matrix comes into view", () => {
  const random = randoms();
  for (let i = 0; i < 300; i++) {
    const point = [random(), random()];
    const part = zoomed(all, all, 0.2 + 0.7 * random(), point);
    checkInside(part);
    close(part.row + point[0] * part.rows, point[0] * all.rows);
    close(part.column + point[1] * part.columns, point[1] * all.columns);
  }
});

test("zooming in and out again by the same factor shows the same part", () => {
  const part = zoomed(all, all, 0.5, [0.5, 0.5]);
  const again = zoomed(zoomed(part, all, 0.8, [0.3, 0.6]), all, 1.25, [0.3, 0.6]);
  for (const name of Object.keys(part)) close(again[name], part[name]);
});

test("at most all and at least four rows and columns are in view", () => {
  assert.equal(zoomed(all, all, 1.25, [0.5, 0.5]), null);
  const { rows, columns } = zoomed(all, all, 0.001, [0.5, 0.5]);
  assert.deepEqual([rows, columns], [4, 4]);
  assert.equal(zoomed(whole(3, 3), whole(3, 3), 0.5, [0.5, 0.5]), null);
});

test("a moved part follows the pointer and stops at the edges of the matrix", () => {
  const part = zoomed(all, all, 0.5, [0.5, 0.5]);
  const shifted = moved(part, all, [0.25, -0.25]);
  close(shifted.row, part.row - 0.25 * part.rows);
  close(shifted.column, part.column + 0.25 * part.columns);
  assert.deepEqual([moved(part, all, [9, 9]).row, moved(part, all, [9, 9]).column], [0, 0]);
  checkInside(moved(part, all, [-9, -9]));
});

test("a revealed cell is in view, and the part moves no further than needed", () => {
  const part = { row: 10, rows: 5.5, column: 10, columns: 5.5 };
  assert.deepEqual(revealed(part, 12, 13), part);
  assert.deepEqual(revealed(part, 3, 29), { ...part, row: 3, column: 24.5 });
});
