import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, payload, VIEWS } from "./setup.mjs";

const { cellText, sumsOf, waysText } = await import(`${VIEWS}/captions.js`);
const { ramp, weightLimit } = await import(`${VIEWS}/colour.js`);
const { sceneOf } = await import(`${VIEWS}/head.js`);
const { parse } = await import(`${VIEWS}/payload.js`);
const { MASKS, Selection } = await import(`${VIEWS}/selection.js`);

const GREY = ramp([
  [0, "#000000"],
  [1, "#ffffff"],
]);
const LOOK = { ramps: { sequential: GREY, diverging: GREY }, heads: ["#100000", "#200000"] };
const SAID = {
  ...{ sums: "only **{sum}** of “{token}”", same: "nothing hidden", little: "hardly any" },
  ...{ blocked: "“{token}” blocked, {share}", not_blocked: "none blocked" },
};
const { attentions, words } = parse(payload("experiment"));
const { encoder } = attentions;
const PLACE = { layer: 1, head: 2 };

const selected = (view, of = attentions) => new Selection(of, { ...PLACE, view });
const scene = (view, matrix) => {
  const selection = selected(view);
  return sceneOf(selection, words, LOOK, 600, selection.value(matrix));
};

/** What is different between two ways to mask the only head of a payload. */
const said = (name) => waysText(parse(payload(name)).attentions.encoder, { layer: 0, head: 0 }, SAID);

test("the views of a mask are there for an experiment, and only for one", () => {
  for (const view of Object.keys(MASKS)) {
    assert.equal(selected(view).state.view, view);
    for (const name of ["compared", "masked"]) {
      assert.equal(new Selection(parse(payload(name)).attentions, { view }).state.view, "all");
    }
  }
});

test("scores before and after the mask have one scale around zero, as each has its own elsewhere", () => {
  const [before, after] = [scene("masking", "scores"), scene("masking", "masked")];
  const { largest } = encoder.field(1, 2, "masked");
  assert.ok(before.scale.signed && after.scale.signed);
  assert.equal(after.scale.limit, before.scale.limit);
  assert.ok(before.scale.limit >= largest);
  assert.deepEqual(after.scale.ticks[0], before.scale.ticks[0]);
  const own = { ...selected("masking"), state: { ...selected("masking").state, view: "matrix" } };
  own.attention = encoder;
  assert.equal(sceneOf(own, words, LOOK, 600, "masked").scale.limit, largest);
});

test("a mask is drawn in one colour, without numbers below it", () => {
  const { values, scale, masked } = scene("masking", "mask");
  assert.deepEqual(scale.ticks, []);
  assert.ok(scale.limit > 1);
  assert.deepEqual({ ...values }, { ...encoder.field(1, 2, "mask").data });
  assert.ok(values.every((value) => value === 1 || Number.isNaN(value)));
  assert.equal(masked, words.masked);
});

test("the weights with the mask have the scale of both runs", () => {
  const limit = Math.max(...["before", "weights"].map((value) => encoder.field(1, 2, value).largest));
  assert.equal(scene("masking", "softmax").scale.limit, weightLimit(limit, 7));
  assert.equal(scene("all", "before").scale.limit, weightLimit(limit, 7));
});

test("both ways to mask have one scale, and the sums of their rows beside them", () => {
  const [added, multiplied] = MASKS.ways.map((name) => scene("ways", name));
  assert.equal(added.scale.limit, multiplied.scale.limit);
  assert.ok(added.scale.limit >= encoder.field(1, 2, "added").largest);
  for (const sum of added.sums.values) assert.ok(Math.abs(sum - 1) < 1e-5);
  assert.deepEqual(
    added.sums.colours,
    added.sums.values.map(() => "#100000"),
  );
  for (const [row, sum] of multiplied.sums.values.entries()) {
    const cells = [...multiplied.values.subarray(7 * row, 7 * row + 7)].map((cell) => cell || 0);
    assert.ok(Math.abs(sum - cells.reduce((total, cell) => total + cell, 0)) < 1e-6);
    assert.equal(multiplied.sums.colours[row], sum < 0.998 ? "#200000" : "#100000");
  }
  assert.ok(Math.min(...multiplied.sums.values) < 0.9 && Math.max(...multiplied.sums.values) < 1 + 1e-5);
  assert.equal(multiplied.sums.title, words.row_sum);
  assert.equal(scene("masking", "softmax").sums, null);
});

test("of each cell it is said what this matrix holds", () => {
  const text = (view, matrix, query, key) => cellText(selected(view), words, query, key, matrix);
  assert.equal(text("masking", "mask", 2, 1), "“t2” → “t1”: allowed");
  assert.equal(text("masking", "mask", 1, 2), "“t1” → “t2”: masked");
  const score = encoder.field(1, 2, "scores").data[7 * 1 + 2];
  assert.equal(text("masking", "scores", 1, 2), `“t1” → “t2”: score ${score.toPrecision(4)}`);
  assert.equal(text("masking", "masked", 1, 2), "“t1” → “t2”: masked");
  assert.match(text("masking", "softmax", 2, 1), /^“t2” → “t1”: weight [\d.]+%, row sum 1\.00$/);
  const sums = sumsOf(encoder, 1, 2, "multiplied");
  const row = sums.indexOf(Math.min(...sums));
  const lost = `^“t${row}” → “t0”: weight <?[\\d.]+%, row sum ${sums[row].toFixed(2)}$`;
  assert.match(text("ways", "multiplied", row, 0), new RegExp(lost));
});

test("of a head that reads little of what is masked it is said that nothing is seen", () => {
  assert.equal(said("little"), "hardly any");
  const left = 2 / (2 + Math.exp(-1));
  assert.equal(said("much"), `only ${left.toFixed(2)} of “a” none blocked`);
});

test("where nothing is masked both ways are the same", () => assert.equal(said("half"), "nothing hidden"));

test("a row that may read nothing is said to fail differently", () => {
  const attention = parse(payload("blocked")).attentions.encoder;
  const [first, ...others] = sumsOf(attention, 0, 0, "multiplied");
  assert.equal(first, 0);
  assert.ok(others.every((sum) => sum > 0));
  assert.ok(expected.ways.added[0].every((weight) => Math.abs(weight - 1 / 7) < 1e-6));
  assert.equal(said("blocked"), "only 0.00 of “t0” “t0” blocked, 0.143");
});
