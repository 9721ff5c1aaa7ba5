import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, payload, VIEWS } from "./setup.mjs";

const { cellText, effectOfHead, signedText } = await import(`${VIEWS}/captions.js`);
const { eachEdge } = await import(`${VIEWS}/edges.js`);
const { sceneOf } = await import(`${VIEWS}/head.js`);
const { parse, received, unpack } = await import(`${VIEWS}/payload.js`);
const { Selection } = await import(`${VIEWS}/selection.js`);

const { cells, heads } = expected.effects;
const ramps = { sequential: "sequential", diverging: "diverging", effects: "effects" };
const words = {
  values: { weights: "weight", effects: "effect" },
  cell: "{query} {key}:",
  masked_cell: "{query} {key} masked",
  estimated_effect: "{effect} estimated",
  measured_effect: "{effect} measured",
};

const packed = () => parse(payload("effects")).attentions;

test("effects that come with a trace are those that Python packed", () => {
  for (const [kind, attention] of Object.entries(packed())) {
    const { layers, heads: count, keys } = attention;
    assert.deepEqual(attention.effects().heads, heads[kind].flat());
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < count; head++) {
        const { data, signed, largest } = attention.field(layer, head, "effects");
        const given = cells[kind][layer][head].flat();
        assert.equal(signed, true);
        for (const [cell, effect] of [...data].entries()) {
          const allowed = attention.allowed(layer, head, Math.floor(cell / keys), cell % keys);
          assert.equal(effect, allowed ? given[cell] : NaN);
        }
        assert.equal(largest, Math.max(...[...data].filter((effect) => !Number.isNaN(effect)).map(Math.abs)));
      }
    }
  }
});

test("effects that arrive later are those of the trace, and measured heads count before estimated ones", () => {
  const { header, array } = unpack(payload("arrived"));
  assert.equal(header.run, "this-run");
  const { attentions } = parse(payload("writing"));
  assert.deepEqual(Object.keys(header.kinds), Object.keys(attentions));
  for (const [kind, described] of Object.entries(header.kinds))
    attentions[kind].receive(received(described, array));
  const [one, other] = [attentions.cross, packed().cross].map((each) => each.field(1, 2, "effects").data);
  assert.deepEqual(one, other);
  assert.deepEqual(attentions.cross.effects().heads, heads.measured.flat());
});

test("until the effects are known, weights are shown in their stead", () => {
  const { attentions } = parse(payload("writing"));
  const selection = new Selection(attentions, { kind: "cross", layer: 1, head: 2, value: "effects" });
  assert.equal(selection.value(), "weights");
  assert.equal(sceneOf(selection, words, { ramps }, 400).scale.ramp, "sequential");
  attentions.cross.receive(packed().cross.effects());
  assert.equal(selection.value(), "effects");
  const scene = sceneOf(selection, words, { ramps }, 400);
  assert.deepEqual([scene.scale.ramp, scene.scale.signed, scene.numbers], ["effects", true, true]);
  assert.deepEqual([...scene.values], cells.cross[1][2].flat());
});

test("the strongest head is that of all kinds of attention whose effect is furthest from zero", () => {
  const { attentions } = parse(payload("writing"));
  assert.equal(new Selection(attentions, {}).strongest(), null);
  const all = Object.entries(packed()).flatMap(([kind, { heads: count }]) =>
    heads[kind]
      .flat()
      .map((effect, number) => [Math.abs(effect), kind, Math.floor(number / count), number % count]),
  );
  const [, kind, layer, head] = all.sort(([one], [other]) => other - one)[0];
  assert.deepEqual(new Selection(packed(), {}).strongest(), { kind, layer, head });
  const opposed = packed();
  const against = heads.encoder.flat().map((effect, number) => (number === 1 ? -1000 : effect));
  opposed.encoder.receive({ ...opposed.encoder.effects(), heads: against });
  assert.deepEqual(new Selection(opposed, {}).strongest(), { kind: "encoder", layer: 0, head: 1 });
});

test("lines follow the effects, and know which speak against the answer", () => {
  const selection = new Selection(packed(), {
    kind: "cross",
    layer: 1,
    head: 2,
    value: "effects",
    threshold: 0.5,
  });
  const given = cells.cross[1][2];
  const largest = Math.max(...given.flat().map(Math.abs));
  const lines = [];
  eachEdge(selection, 2, (query, key, share, isNegative) => lines.push([query, key, share, isNegative]));
  const wanted = given.flatMap((row, query) =>
    row
      .map((effect, key) => [query, key, Math.abs(effect) / largest, effect < 0])
      .filter(([, , share]) => share >= 0.5),
  );
  assert.ok(wanted.length > 0);
  assert.deepEqual(lines, wanted);
});

test("a cell and a head say their effect, estimated or measured", () => {
  const attentions = packed();
  const selection = new Selection(attentions, { kind: "cross", layer: 1, head: 2 });
  const { data } = attentions.cross.field(1, 2, "effects");
  assert.match(
    cellText(selection, words, 0, 1),
    new RegExp(`weight [^ ]+, effect ${String(data[1].toPrecision(2)).replace(".", "\\.")}$`),
  );
  assert.equal(effectOfHead(selection, words), `${signedText(heads.cross[1][2])} estimated`);
  attentions.cross.receive({ ...attentions.cross.effects(), isMeasured: true });
  assert.equal(effectOfHead(selection, words), `${signedText(heads.cross[1][2])} measured`);
});

test("an estimate that is poor in a layer says so", () => {
  const { cross } = packed();
  const selection = new Selection({ cross }, { kind: "cross", layer: 1, head: 2 });
  const rough = { ...words, rough_effect: "{effect} rough ({agreement})" };
  const said = (agreements, isMeasured = false) => {
    cross.receive({ ...cross.effects(), agreements, isMeasured });
    return effectOfHead(selection, rough).replace(/^[^ ]+ /, "");
  };
  assert.equal(said([0.9, 0.55, 0.9]), "rough (0.55)");
  assert.equal(said([0.1, 0.8, 0.1]), "estimated");
  assert.equal(said([null, null, null]), "estimated");
  assert.equal(said([0.9, 0.55, 0.9], true), "measured");
});

test("an effect is written with its sign and as many digits as it takes", () => {
  const written = [2.25, 12.34, 0.814, -0.6, 0.0567, -0.00123, 0].map(signedText);
  assert.deepEqual(written, ["+2.3", "+12.3", "+0.81", "−0.60", "+0.057", "−0.0012", "+0"]);
});

test("heads can be sorted by their effects, those that were measured before", () => {
  assert.deepEqual(packed().cross.figures.effect, heads.cross.flat());
  const measured = parse(payload("sorted-effects")).attentions.encoder;
  const before = [...measured.figures.effect];
  measured.receive({ heads: before.map((effect) => -effect), isMeasured: false, cells: new Uint16Array(0) });
  assert.deepEqual(measured.figures.effect, before);
});
