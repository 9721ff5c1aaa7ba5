import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, filled, payload, THEME, texts, VIEWS } from "./setup.mjs";

const { cellText, effectOfHead, signedText } = await import(`${VIEWS}/captions.js`);
const { css, entry, ramp } = await import(`${VIEWS}/colour.js`);
const { sceneOf } = await import(`${VIEWS}/head.js`);
const { matrix, NOTHING } = await import(`${VIEWS}/matrix.js`);
const { parse, received, unpack } = await import(`${VIEWS}/payload.js`);
const { valueAt } = await import(`${VIEWS}/scene.js`);
const { Selection } = await import(`${VIEWS}/selection.js`);
const { SvgContext } = await import(`${VIEWS}/svg.js`);
const { percent } = await import(`${VIEWS}/text.js`);

const RAMPS = {
  sequential: ramp([
    [0, "#000000"],
    [0.5, "#ff0000"],
    [1, "#ffff00"],
  ]),
  diverging: ramp([
    [0, "#00ff00"],
    [0.5, "#808080"],
    [1, "#0000ff"],
  ]),
};
const VALUES = ["before", "weights", "change"];
const { places, fields } = expected.compared;
const { attentions, words } = parse(payload("compared"));
const [REMOVED, REPLACED, ADDED] = [2, 4, 7]; // rows and columns of the aligned tokens

const nullable = (numbers) => [...numbers].map((number) => (Number.isNaN(number) ? null : number));
const headOf = (value, start = { layer: 1, head: 2 }) =>
  sceneOf(new Selection(attentions, start), words, { ramps: RAMPS }, 600, value);

/** The effects on the encoder's heads that arrive after the picture. */
function arrived(name) {
  const { header, array } = unpack(payload(name));
  return received(header.kinds.encoder, array);
}

/** Whether each side, A and B, has both tokens of a cell. */
const has = (row, column) =>
  [0, 1].map((side) => places[row][side] !== null && places[column][side] !== null);

test("the aligned tokens of both texts are the labels of rows and columns", () => {
  const labels = ["t0", "t1", "t2", "t3", "t4 → x", "t5", "t6", "new"];
  assert.deepEqual([attentions.encoder.queryTokens, attentions.encoder.keyTokens], [labels, labels]);
  assert.ok(attentions.encoder.isCompared);
  assert.ok(!parse(payload("masked")).attentions.encoder.isCompared);
});

for (const value of VALUES) {
  test(`"${value}" of every head is NumPy's, with a gap where there is none`, () => {
    fields[value].forEach((heads, layer) =>
      heads.forEach((rows, head) => {
        const { data, largest, signed } = attentions.encoder.field(layer, head, value);
        assert.deepEqual(nullable(data), rows.flat(), `layer ${layer}, head ${head}`);
        assert.equal(largest, Math.max(...rows.flat().map(Math.abs)));
        assert.equal(signed, value === "change");
      }),
    );
  });
}

test("a row that only one text has changes by nothing, a key that only one has by its whole weight", () => {
  const read = (value, row, column) =>
    attentions.encoder.field(1, 2, value).data[row * places.length + column];
  for (let other = 0; other < places.length; other++) {
    for (const row of [REMOVED, ADDED]) assert.ok(Number.isNaN(read("change", row, other)));
  }
  const same = places.flatMap(([before, now], row) => (before === null || now === null ? [] : [row]));
  const removed = same.filter((row) => !Number.isNaN(read("before", row, REMOVED)));
  assert.ok(removed.length > 2);
  for (const row of removed) {
    assert.equal(read("change", row, REMOVED), -read("before", row, REMOVED));
    assert.ok(Number.isNaN(read("weights", row, REMOVED)));
  }
  for (const row of same) assert.equal(read("change", row, ADDED), read("weights", row, ADDED));
});

test("the tooltip of a cell has both weights and the change, and a dash for what is not there", () => {
  const selection = new Selection(attentions, { layer: 1, head: 2 });
  const weight = (value, row, column) =>
    attentions.encoder.field(1, 2, value).data[row * places.length + column];
  const signs = new Set();
  for (const column of [0, 1, 3]) {
    const [before, after, change] = VALUES.map((value) => weight(value, REPLACED, column));
    if ([before, after].some(Number.isNaN)) continue;
    const sign = change > 0 ? "+" : "";
    const text = `A ${percent(before)}, B ${percent(after)}, B − A ${sign}${percent(change)}`;
    const key = attentions.encoder.keyTokens[column];
    assert.equal(cellText(selection, words, REPLACED, column), `“t4 → x” → “${key}”: ${text}`);
    signs.add(sign);
  }
  assert.equal(signs.size, 2);
  assert.match(cellText(selection, words, ADDED, 0), /A –, B <?\d+(\.\d)?%, B − A –$/);
  assert.match(cellText(selection, words, ADDED, ADDED), /A –, B –, B − A –$/);
});

test("both sides of every head have one scale, up to the largest weight of both or one", () => {
  for (let number = 0; number < 6; number++) {
    const start = { layer: Math.floor(number / 3), head: number % 3 };
    const [one, other, change] = VALUES.map((value) => headOf(value, start).scale);
    const largest = ["before", "weights"].map(
      (value) => attentions.encoder.field(start.layer, start.head, value).largest,
    );
    assert.equal(one.limit, other.limit);
    assert.ok(one.limit >= Math.max(...largest));
    assert.deepEqual([one.ticks, one.ramp, one.signed], [other.ticks, RAMPS.sequential, false]);
    assert.equal(change.limit, attentions.encoder.field(start.layer, start.head, "change").largest);
    assert.deepEqual([change.signed, change.ramp, change.ticks[1]], [true, RAMPS.diverging, "0"]);
    const all = VALUES.slice(0, 2).map((value) => headOf(value, { ...start, scale: "one" }).scale.limit);
    assert.deepEqual(all, [1, 1]);
  }
});

test("cells of tokens that a side lacks are hatched, in the difference those that either lacks", () => {
  for (const value of VALUES) {
    const scene = headOf(value);
    for (let row = 0; row < places.length; row++) {
      for (let column = 0; column < places.length; column++) {
        const [before, now] = has(row, column);
        const isThere = { before, weights: now, change: before && now }[value];
        assert.equal(scene.hatched(row, column), !isThere, `${value} at ${row}, ${column}`);
      }
    }
  }
  const { attentions: single } = parse(payload("masked"));
  assert.equal(sceneOf(new Selection(single, {}), words, { ramps: RAMPS }, 600).hatched, undefined);
});

test("two runs are shown side by side, or all heads: the views of a single run give way", () => {
  const { attentions: single } = parse(payload("masked"));
  for (const [view, shown] of [
    ["all", "all"],
    ["grid", "grid"],
    ["matrix", "all"],
    ["lines", "all"],
    ["steps", "all"],
  ]) {
    const selection = new Selection(single, { view });
    assert.equal(selection.state.view, view);
    selection.update(attentions);
    assert.equal(selection.state.view, shown);
    assert.equal(new Selection(attentions, { view }).state.view, shown);
  }
});

test("the first change that leaves the selected head as it was opens the head that moved most", () => {
  const { attentions: single } = parse(payload("masked"));
  const moved = (shares) => ({ encoder: { ...attentions.encoder, figures: { moved: shares } } });
  const [still, later, other] = [
    [0, 0, 0, 0, 0, 0],
    [0, 0.0004, 0, 0.1, 0.3, null],
    [0.5, 0, 0, 0, 0, 0],
  ].map(moved);
  const at = ({ state }) => [state.layer, state.head];
  const selection = new Selection(single, { layer: 0, head: 1 });
  selection.update(still);
  assert.deepEqual(at(selection), [0, 1]);
  selection.update(later);
  assert.deepEqual(at(selection), [1, 1]);
  selection.update(other); // the second change leaves the selection alone
  assert.deepEqual(at(selection), [1, 1]);
  const watched = new Selection(single, { layer: 1, head: 0 });
  watched.update(later);
  assert.deepEqual(at(watched), [1, 0]);
});

test("effects of two runs and their difference are aligned, on one scale, packed or arrived later", () => {
  const { attentions: packed } = parse(payload("compared-effects"));
  const { attentions: later } = parse(payload("compared"));
  const found = arrived("both");
  later.encoder.receive(found);
  const shown = { before: "before", weights: "matrix", change: "change" };
  for (const { encoder } of [packed, later]) {
    const selection = new Selection({ encoder }, { layer: 1, head: 2, value: "effects" });
    const limits = Object.entries(shown).map(([name, matrix]) => {
      const value = selection.value(matrix);
      expected.compared.effects[name].forEach((heads, layer) =>
        heads.forEach((rows, head) => {
          assert.deepEqual(
            nullable(encoder.field(layer, head, value).data),
            rows.flat(),
            `${value}, layer ${layer}, head ${head}`,
          );
        }),
      );
      const { scale, numbers } = sceneOf(
        selection,
        words,
        { ramps: { ...RAMPS, effects: RAMPS.diverging } },
        600,
        value,
      );
      assert.ok(scale.signed && numbers);
      return scale.limit;
    });
    const { effects } = expected.compared;
    const sizes = Object.keys(shown).flatMap((name) => effects[name][1][2].flat().map(Math.abs));
    assert.deepEqual(limits, Array(3).fill(Math.max(...sizes)));
    const text = cellText(
      selection,
      { ...words, compared_cell: "{before} {after} {change}", values: { effects: "effect" } },
      0,
      1,
    );
    const read = (name) => effects[name][1][2][0][1];
    const said = (number) => (number === null ? "–" : Math.abs(number) < 0.0005 ? "0" : signedText(number));
    assert.equal(
      text,
      `${["before", "weights", "change"].map((name) => said(read(name))).join(" ")} · effect`,
    );
  }
  assert.ok(found.headsBefore.length === 6 && found.heads.length === 6);
});

test("heads of two runs are said to be measured where both are, and then the measured numbers stand there", () => {
  const { attentions: compared } = parse(payload("compared"));
  const said = {
    compared_effects: "estimated {before} {after}",
    compared_measured: "measured {before} {after}",
  };
  for (const [name, word] of [
    ["both", "estimated"],
    ["both-measured", "measured"],
  ]) {
    const found = arrived(name);
    compared.encoder.receive(found);
    const selection = new Selection({ encoder: compared.encoder }, { layer: 1, head: 2 });
    const [before, after] = [found.headsBefore[5], found.heads[5]].map(signedText);
    assert.equal(effectOfHead(selection, { ...words, ...said }), `${word} ${before} ${after}`);
    if (word === "measured")
      assert.deepEqual(
        [found.headsBefore, found.heads],
        expected.compared.measured.map((heads) => heads.flat()),
      );
  }
});

for (const value of VALUES) {
  test(`the drawn cells of "${value}" are those that are neither hatched nor gaps`, () => {
    const scene = headOf(value);
    const unused = () => {};
    const view = matrix({
      ...{ scene: () => scene, theme: () => THEME, highlighted: () => NOTHING },
      ...{ highlight: unused, pin: unused, redraw: unused, zoomed: unused },
    });
    const pen = new SvgContext(600, view.height(600), "#fff");
    view.draw(pen, 600, view.height(600), 1);
    const colours = [];
    for (let row = 0; row < places.length; row++) {
      for (let column = 0; column < places.length; column++) {
        const number = valueAt(scene, row, column);
        if (Number.isNaN(number) || scene.hatched(row, column)) continue;
        colours.push(css(scene.scale.ramp[entry(number, scene.scale.limit, scene.scale.signed)]));
      }
    }
    assert.deepEqual(
      filled(pen)
        .slice(0, -128)
        .map(({ fill }) => fill),
      colours,
    ); // the rest is the scale
    if (value === "change") return;
    const shares = [...scene.values].filter((share, cell) => {
      return share >= 0.005 && !scene.hatched(Math.floor(cell / places.length), cell % places.length);
    });
    const percents = shares.map((share) => String(Math.round(100 * share)));
    assert.notDeepEqual(
      percents,
      shares.map((share) => String(Math.floor(100 * share))),
    );
    assert.deepEqual(
      texts(pen)
        .filter((text) => /^[1-9]\d*$/.test(text))
        .sort(),
      percents.sort(),
    );
  });
}
