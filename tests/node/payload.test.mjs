import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, payload, randoms, VIEWS } from "./setup.mjs";

const { eachEdge } = await import(`${VIEWS}/edges.js`);
const { Selection } = await import(`${VIEWS}/selection.js`);
const { HALF, halfBits, parse, unpack } = await import(`${VIEWS}/payload.js`);

/** Numbers with NaN as null, as in JSON. */
const nullable = (numbers) => [...numbers].map((number) => (Number.isNaN(number) ? null : number));

test("every value of every head is the number that Python packed, and a masked one is a gap", () => {
  const attention = parse(payload("masked")).attentions.encoder;
  for (const [value, layers] of Object.entries(expected.fields)) {
    layers.forEach((heads, layer) =>
      heads.forEach((rows, head) => {
        const field = attention.field(layer, head, value);
        assert.deepEqual(nullable(field.data), rows.flat(), `${value} of layer ${layer}, head ${head}`);
        assert.equal(
          field.largest,
          Math.max(
            ...rows
              .flat()
              .filter((number) => number !== null)
              .map(Math.abs),
          ),
        );
        assert.equal(field.signed, value === "scores" || value === "masked");
      }),
    );
  }
});

test("the mask itself is shown, and what two other ways to mask would give", () => {
  const attention = parse(payload("blocked")).attentions.encoder;
  for (const [value, rows] of Object.entries(expected.ways)) {
    const shown = nullable(attention.field(0, 0, value).data);
    rows.flat().forEach((number, cell) => {
      if (number === null) assert.equal(shown[cell], null, `${value} of cell ${cell}`);
      else assert.ok(Math.abs(shown[cell] - number) < 1e-5, `${value} of cell ${cell}`);
    });
  }
});

test("a head is computed once until another is asked for", () => {
  const attention = parse(payload("masked")).attentions.encoder;
  const field = attention.field(1, 2, "norms");
  attention.field(1, 2, "weights");
  assert.equal(attention.field(1, 2, "norms"), field);
  assert.notEqual(attention.field(0, 2, "norms"), field);
});

for (const [name, heads] of Object.entries({ layers: [2], each: [0, 1, 2] })) {
  test(`each layer can have masks of its own: "${name}"`, () => {
    const attention = parse(payload(name)).attentions.encoder;
    expected[name].masks.forEach((masks, layer) => {
      for (const head of heads) {
        const rows = masks[masks.length > 1 ? head : 0];
        rows.forEach((row, query) =>
          row.forEach((allowed, key) => {
            assert.equal(attention.allowed(layer, head, query, key), allowed);
            assert.equal(
              Number.isNaN(attention.field(layer, head, "weights").data[query * 7 + key]),
              !allowed,
            );
          }),
        );
        assert.equal(attention.seen(layer, head), Math.max(...rows.map((row) => row.filter(Boolean).length)));
      }
    });
  });
}

test("a mask and the vectors are those of the trace", () => {
  const attention = parse(payload("masked")).attentions.encoder;
  expected.mask.forEach((rows, head) =>
    rows.forEach((row, query) =>
      row.forEach((allowed, key) => assert.equal(attention.allowed(1, head, query, key), allowed)),
    ),
  );
  for (const [name, heads] of Object.entries(expected.vectors)) {
    heads.flat().forEach((vector, number) => {
      assert.deepEqual([...attention.vector(name, 3 * expected.tokens.length + number)], vector, name);
    });
  }
});

test("numbers that are no weights have their signs, in the matrix as in the lines", () => {
  const { encoder } = parse(payload("numbers")).attentions;
  const selection = new Selection({ encoder }, {});
  for (const [head, rows] of expected.numbers.entries()) {
    const field = encoder.field(0, head, "weights");
    assert.deepEqual([...field.data], rows.flat());
    assert.equal(field.signed, true);
    const [found, largest] = [[], Math.max(...rows.flat().map(Math.abs))];
    eachEdge(selection, head, (query, key, weight, isNegative) =>
      found.push([query, key, weight * largest * (isNegative ? -1 : 1)]),
    );
    const present = rows
      .flatMap((row, query) => row.map((number, key) => [query, key, number]))
      .filter(([, , number]) => number);
    assert.deepEqual(found, present);
  }
});

test("bits are the weights in half precision", () => {
  const attention = parse(payload("masked")).attentions.encoder;
  const numbers = attention.field(1, 2, "norms") && attention.field(1, 2, "weights").data;
  attention.bits(1, 2).forEach((bits, cell) => {
    if (!Number.isNaN(numbers[cell])) assert.equal(HALF[bits], numbers[cell]);
  });
});

test("the header has the tokens and sizes of each kind of attention, in the order of the computation", () => {
  const { attentions, model } = parse(payload("writing"));
  assert.equal(model, "made");
  assert.deepEqual(Object.keys(attentions), ["encoder", "decoder", "cross"]);
  const { layers, heads, queries, keys, queryTokens, keyTokens } = attentions.cross;
  assert.deepEqual({ layers, heads, queries, keys }, { layers: 3, heads: 3, queries: 5, keys: 7 });
  assert.deepEqual(queryTokens, ["[START]", "w1", "w2", "w3", "w4"]);
  assert.deepEqual(keyTokens, expected.tokens);
});

test("a trace of weights alone has neither scores nor vectors", () => {
  const attention = parse(payload("weights")).attentions.encoder;
  assert.equal(attention.hasScores, false);
  assert.equal(attention.hasVectors(0), false);
  assert.equal(attention.vector("query", 0), null);
  assert.deepEqual(nullable(attention.field(1, 1, "weights").data), expected.fields.weights[1][1].flat());
});

test("the vectors of a layer that arrive after the run are those of the trace, and of that layer alone", () => {
  const { encoder: whole } = parse(payload("masked")).attentions;
  const { encoder: later } = parse(payload("weights")).attentions;
  for (const layer of [1, 0]) {
    assert.deepEqual([later.hasVectors(layer), whole.hasVectors(layer)], [false, true]);
    later.receiveVectors(payload(`vectors-${layer}`));
    assert.equal(later.hasVectors(layer), true);
    const counts = { query: 21, key: 21, value: 21, context: 21, output: 7, stream: 7 };
    for (const [name, count] of Object.entries(counts)) {
      for (let number = layer * count; number < (layer + 1) * count; number++) {
        assert.ok(whole.vector(name, number), name);
        assert.deepEqual(later.vector(name, number), whole.vector(name, number), name);
      }
    }
    assert.deepEqual(later.vector("token", 6), whole.vector("token", 6));
    assert.equal(later.vector("query", (1 - layer) * 21) === null, layer === 1);
  }
});

test("bytes that begin anywhere in a buffer are read alike", () => {
  const bytes = payload("masked");
  const shifted = new Uint8Array(bytes.length + 3);
  shifted.set(bytes, 3);
  const [one, other] = [unpack(bytes), unpack(shifted.subarray(3))];
  assert.deepEqual(other.header, one.header);
  const { weights } = one.header.attentions[0].arrays;
  assert.deepEqual(other.array(weights), one.array(weights));
});

test("half precision is read as IEEE 754 has it", () => {
  const known = {
    0: 0,
    1: 2 ** -24,
    0x03ff: 1023 * 2 ** -24,
    0x0400: 2 ** -14,
    0x3c00: 1,
    0x3c01: 1 + 2 ** -10,
    0x7bff: 65504,
    0x7c00: Infinity,
    0xc000: -2,
  };
  for (const [bits, number] of Object.entries(known)) assert.equal(HALF[bits], number);
  assert.ok(Number.isNaN(HALF[0x7e00]));
});

test("the bits of a threshold are those of the smallest number that reaches it", () => {
  const random = randoms();
  for (const number of [0, 1, 2 ** -24, 0.5, ...Array.from({ length: 500 }, () => random() ** 3)]) {
    const bits = halfBits(number);
    assert.ok(HALF[bits] >= number);
    if (bits) assert.ok(HALF[bits - 1] < number);
  }
});
