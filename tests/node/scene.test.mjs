import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, payload, randoms, VIEWS } from "./setup.mjs";

const { sceneOf } = await import(`${VIEWS}/head.js`);
const { parse } = await import(`${VIEWS}/payload.js`);
const { csvOf, readMost, valueAt } = await import(`${VIEWS}/scene.js`);
const { percent } = await import(`${VIEWS}/text.js`);
const { Selection } = await import(`${VIEWS}/selection.js`);

const { attentions, words } = parse(payload("masked"));
const RAMPS = { sequential: new Uint32Array(256), diverging: new Uint32Array(256) };
const headOf = (changes) =>
  sceneOf(new Selection(attentions, { layer: 1, head: 1, ...changes }), words, { ramps: RAMPS }, 600);

for (const [name, ends] of [
  ["even", 3 / 64],
  ["half", 1],
  ["long", null],
  ["masked", null],
]) {
  test(`the scale of the weights of "${name}" ends at the largest or at three times an even share, and says where`, () => {
    const selection = new Selection(parse(payload(name)).attentions, {});
    const { limit, ticks } = sceneOf(selection, words, { ramps: RAMPS }).scale;
    const { data, largest } = selection.attention.field(0, 0, "weights");
    const keys = Math.max(
      ...selection.attention.queryTokens.map((_, query) => seenBy(selection.attention, query, data)),
    );
    assert.equal(limit, ends ?? Math.max(largest, 3 / keys));
    assert.deepEqual(ticks, ["0", `${percent(limit)} weight`]);
    assert.equal(
      sceneOf(new Selection(selection.attentions, { scale: "one" }), words, { ramps: RAMPS }).scale.limit,
      1,
    );
  });
}

/** The number of keys of a query that are no gaps. */
function seenBy({ keys }, query, data) {
  return data.subarray(query * keys, (query + 1) * keys).filter((weight) => !Number.isNaN(weight)).length;
}

/** Read quoted and bare fields. */
const parsed = (csv) =>
  csv
    .replace("\ufeff", "")
    .trim()
    .split("\r\n")
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
        ([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare,
      ),
    );

for (const value of ["weights", "scores", "masked", "norms"]) {
  test(`the CSV of ${value}, read back, is what the trace holds`, () => {
    const [header, ...rows] = parsed(csvOf(headOf({ value }), 4));
    assert.deepEqual(header, ["", ...expected.tokens]);
    assert.deepEqual(
      rows.map(([name]) => name),
      expected.tokens,
    );
    expected.fields[value][1][1].forEach((numbers, row) =>
      numbers.forEach((number, column) => {
        const cell = rows[row][column + 1];
        if (number === null) assert.equal(cell, "");
        else assert.ok(Math.abs(Number(cell) - number) <= 5e-4 * Math.abs(number));
      }),
    );
  });
}

test("gaps are called masked where there are some: scores are there for every pair", () => {
  const masked = ["weights", "scores", "masked", "norms"].map((value) => headOf({ value, head: 0 }).masked);
  assert.deepEqual(masked, ["masked", undefined, "masked", "masked"]);
  const even = new Selection(parse(payload("even")).attentions, {});
  assert.equal(sceneOf(even, words, { ramps: RAMPS }, 600).masked, undefined);
});

test("labels with quotes, commas and formulas are read back as they were", () => {
  const labels = ['b"', "c,d", "=1+1", "é", "好", "<b>"];
  const scene = { rows: labels, columns: labels, values: new Float32Array(36).fill(0.5) };
  const [header, ...rows] = parsed(csvOf(scene, 4));
  assert.deepEqual(header.slice(1), labels);
  assert.deepEqual(
    rows.map(([name]) => name),
    labels,
  );
});

test("a table has the three largest values of each row in their order, without gaps", () => {
  const random = randoms();
  const values = Float32Array.from({ length: 15 }, random);
  values[7] = NaN;
  values.fill(NaN, 10, 14);
  const scene = { rows: ["a", "b", "c"], columns: ["v", "w", "x", "y", "z"], values, digits: 2 };
  for (const [row, [name, text]] of readMost(scene).entries()) {
    const all = scene.columns
      .map((column, i) => [column, valueAt(scene, row, i)])
      .filter(([, value]) => !Number.isNaN(value));
    const largest = all.sort(([, a], [, b]) => b - a).slice(0, 3);
    assert.equal(name, scene.rows[row]);
    assert.equal(text, largest.map(([column, value]) => `${column} ${value.toFixed(2)}`).join(" · "));
    const [, shares] = readMost({ ...scene, written: true })[row];
    assert.equal(shares, largest.map(([column, value]) => `${column} ${percent(value)}`).join(" · "));
  }
});

test("the scale of a head ends at its largest number or, of weights, at one", () => {
  const largest = Math.max(...expected.fields.weights[1][1].flat());
  const { scale } = headOf({});
  assert.deepEqual([scale.limit, scale.signed, scale.ramp], [largest, false, RAMPS.sequential]);
  assert.deepEqual(scale.ticks, ["0", `${percent(largest)} weight`]);
  assert.equal(headOf({ scale: "one" }).scale.limit, 1);
  const scores = headOf({ scale: "one", value: "scores" }).scale;
  assert.ok(scores.limit > 1 && scores.signed && scores.ramp === RAMPS.diverging);
  assert.equal(scores.ticks[0], (-scores.limit).toPrecision(3));
});
