import assert from "node:assert/strict";
import { test } from "node:test";
import { payload, VIEWS } from "./setup.mjs";

const { cellText, figuresText, figureText, headTitle, pairNames, pinnedText, rowText, titlesOf } =
  await import(`${VIEWS}/captions.js`);
const { openingRow } = await import(`${VIEWS}/openrow.js`);
const { orderOf } = await import(`${VIEWS}/order.js`);
const { parse } = await import(`${VIEWS}/payload.js`);
const { NOTHING, Selection } = await import(`${VIEWS}/selection.js`);
const { percent } = await import(`${VIEWS}/text.js`);
const { pooledOf } = await import(`${VIEWS}/thumbnails.js`);

const masked = parse(payload("masked"));
const writing = parse(payload("writing"));
const sorted = parse(payload("sorted"));
const of = ({ attentions }, start = {}) => new Selection(attentions, start);
const oneHead = (attention) => Object.assign(Object.create(attention), { heads: 1 });
const placeOf = ({ state: { kind, layer, head } }) => [kind, layer, head];

test("a start that does not exist is corrected to one that does", () => {
  assert.deepEqual(placeOf(of(writing, { layer: 99, head: 99, kind: "x" })), ["cross", 2, 2]);
  assert.deepEqual(placeOf(of(writing, { kind: null })), ["cross", 0, 0]);
  assert.deepEqual(placeOf(of(writing, { kind: "encoder", layer: 9 })), ["encoder", 1, 0]);
});

test("an order and a pinned cell that do not exist are corrected", () => {
  const { queries, keys, figures } = sorted.attentions.encoder;
  const [order] = Object.keys(figures);
  const start = { kind: "encoder", sort: order, pinned: { query: queries - 1, key: keys - 1 } };
  assert.deepEqual(
    [of(sorted, start).state.sort, of(sorted, start).state.pinned],
    [start.sort, start.pinned],
  );
  for (const pinned of [
    { query: queries, key: 0 },
    { query: null, key: keys },
  ]) {
    const { state } = of(sorted, { ...start, pinned, sort: "x" });
    assert.deepEqual([state.sort, state.pinned], ["place", NOTHING]);
  }
});

test("without a choice, the head on which a kind of attention opens is selected, a given one before it", () => {
  const { attentions } = parse(payload("opening"));
  assert.deepEqual(placeOf(new Selection(attentions, {})), ["cross", 2, 1]);
  assert.deepEqual(placeOf(new Selection(attentions, { kind: "encoder", layer: null })), ["encoder", 1, 2]);
  assert.deepEqual(placeOf(new Selection(attentions, { kind: "cross", layer: 0, head: 0 })), ["cross", 0, 0]);
  assert.deepEqual(placeOf(new Selection(attentions, { head: 2 })), ["cross", 2, 2]);
});

test("another model opens on a head of its own, in the same view", () => {
  const selection = of(writing, { kind: "decoder", layer: 0, head: 0, view: "grid" });
  selection.update(parse(payload("opening")).attentions);
  assert.deepEqual(placeOf(selection), ["decoder", 0, 0]);
  selection.open({});
  assert.deepEqual(
    [...placeOf(selection), selection.state.view, ...selection.state.shown],
    ["cross", 2, 1, "grid", 1],
  );
});

test("a layer that another kind of attention lacks becomes its last", () => {
  const selection = of(writing, { kind: "cross", layer: 2, head: 1 });
  selection.select({ kind: "encoder" });
  assert.deepEqual(placeOf(selection), ["encoder", 1, 1]);
});

test("the selection is kept for another payload as far as it exists there", () => {
  const selection = of(writing, { kind: "decoder", layer: 2, head: 2, value: "scores" });
  selection.pin({ query: 1, key: 2 });
  selection.update(parse(payload("weights")).attentions);
  assert.deepEqual(placeOf(selection), ["encoder", 1, 2]);
  assert.deepEqual([selection.state.value, selection.state.pinned], ["weights", NOTHING]);
});

test("the head that was chosen is chosen again once all heads are shown again, also in another layer", () => {
  const selection = of(writing, { kind: "decoder", layer: 1, head: 2 });
  const { attentions } = writing;
  const one = Object.fromEntries(Object.entries(attentions).map(([kind, each]) => [kind, oneHead(each)]));
  selection.update(one);
  assert.deepEqual([...placeOf(selection), ...selection.state.shown], ["decoder", 1, 0, 0]);
  assert.deepEqual(selection.wanted, { layer: 1, head: 2, view: "all" });
  selection.select({ layer: 2, head: 0 }); // the only one of that layer
  selection.update(attentions);
  assert.deepEqual([...placeOf(selection), ...selection.state.shown], ["decoder", 2, 2, 2]);
});

test("a view that a comparison lacks is shown again once it ends", () => {
  const selection = of(masked);
  selection.select({ view: "steps" });
  selection.update(parse(payload("compared")).attentions);
  assert.equal(selection.state.view, "all");
  selection.update(masked.attentions);
  assert.equal(selection.state.view, "steps");
});

test("a selected head is shown alone; another layer keeps all heads or the selected one", () => {
  const selection = of(masked);
  const shown = () => [...selection.state.shown];
  assert.deepEqual(shown(), [0]);
  selection.select({ head: 1 });
  assert.deepEqual(shown(), [1]);
  selection.select({ shown: new Set([1, 2]) });
  selection.select({ layer: 1 });
  assert.deepEqual([shown(), selection.state.head], [[1], 1]);
  selection.select({ shown: new Set([0, 1, 2]) });
  selection.select({ layer: 0 });
  assert.deepEqual(shown(), [0, 1, 2]);
  selection.select({ shown: new Set() });
  assert.deepEqual(shown(), [1]);
});

test("what is pinned is released by the same once more, and what is pointed at comes first", () => {
  const selection = of(masked);
  const [pinned, pointed] = [
    { query: 1, key: 2 },
    { query: 3, key: null },
  ];
  selection.pin(pinned);
  assert.deepEqual(selection.focus(), pinned);
  assert.equal(selection.point(pointed), true);
  assert.equal(selection.point({ ...pointed }), false);
  assert.deepEqual(selection.focus(), pointed);
  selection.point(NOTHING);
  selection.pin({ ...pinned });
  assert.deepEqual(selection.focus(), NOTHING);
});

test("what is pinned stays for another payload of the same tokens, whatever is predicted after them", () => {
  const selection = of(masked, { pinned: { query: 2, key: 3 } });
  selection.update(sorted.attentions);
  assert.deepEqual(selection.state.pinned, { query: 2, key: 3 });
  const { encoder } = masked.attentions;
  const queryTokens = encoder.queryTokens.map((token) => `${token} → next`);
  selection.update({ encoder: { ...encoder, queryTokens } });
  assert.deepEqual(selection.state.pinned, { query: 2, key: 3 });
  selection.update({ encoder: { ...encoder, keyTokens: [...encoder.keyTokens.slice(1), "other"] } });
  assert.deepEqual(selection.state.pinned, NOTHING);
});

test("the row that is shown step by step is the pinned one, else the one pointed at, else the one that says most", () => {
  const selection = of(masked);
  assert.equal(selection.row(), openingRow(masked.attentions.encoder, 0, 0));
  selection.select({ layer: 1, head: 2 });
  assert.equal(selection.row(), openingRow(masked.attentions.encoder, 1, 2));
  selection.point({ query: 2, key: null });
  assert.equal(selection.row(), 2);
  selection.pin({ query: 4, key: null });
  assert.equal(selection.row(), 4);
  selection.select({ view: "steps" });
  assert.equal(selection.row(), 4);
});

const [ONE, HALF, QUARTER] = [0x3c00, 0x3800, 0x3400]; // in half precision

/** Return the row on which one head opens. */
function opening(queryTokens, weights, { keyTokens = queryTokens, kind = "encoder", covered = -1 } = {}) {
  const isCovered = (_layer, _head, query) => query === covered;
  const bits = () => Uint16Array.from(weights.flat());
  return openingRow({ kind, keys: keyTokens.length, queryTokens, keyTokens, isCovered, bits }, 0, 0);
}

test("the steps open on the row with the strongest weight on another token than its own that is not special", () => {
  const text = ["[CLS]", "not", "good", "."];
  const weights = [
    [0, ONE, 0, 0],
    [HALF, 0, QUARTER, 0],
    [0, HALF, 0, QUARTER],
    [0, 0, ONE, 0],
  ];
  assert.equal(opening(text, weights), 2); // not that of a special token, nor of punctuation
  assert.equal(opening(text, weights, { covered: 2 }), 1);
  weights[1] = [ONE, 0, QUARTER, 0];
  assert.equal(opening(text, weights), 2); // a weight on a special token says nothing
  weights[1] = [0, ONE, 0, 0];
  assert.equal(opening(text, weights), 2); // nor does one on itself
  assert.equal(opening(text, weights, { kind: "cross" }), 1); // but in cross-attention that is another token
});

test("the steps open on a row of punctuation if there are no others, on a label by its own token", () => {
  const weights = [
    [0, QUARTER],
    [ONE, 0],
  ];
  assert.equal(opening(["<s>", "。"], weights), 0); // the full stop has weight on the special token alone
  assert.equal(opening(["…", "。"], weights), 1);
  assert.equal(opening([". → film", "film → ."], weights, { keyTokens: [".", "film"] }), 1);
  assert.equal(opening(["film"], [[ONE]]), 0);
  assert.equal(opening(["好", "不"], weights, { covered: 0 }), 1);
});

test("the threshold begins at 0.02, in long texts at one and a half times the uniform weight", () => {
  assert.equal(of(masked).threshold(), 0.02);
  assert.equal(of(parse(payload("longest"))).threshold(), 0.05);
  assert.equal(of(masked, { threshold: 0.3 }).threshold(), 0.3);
});

test("lines are chosen by the sentences of their tokens, in a text of several", () => {
  assert.deepEqual(of(masked).pairs(), []);
  const selection = of(sorted);
  const { querySentences: sentence } = selection.attention;
  const wanted = {
    every: () => true,
    within: (q, k) => q === k,
    between: (q, k) => q !== k,
    "0-0": (q, k) => q === 0 && k === 0,
    "0-1": (q, k) => q === 0 && k === 1,
    "1-0": (q, k) => q === 1 && k === 0,
    "1-1": (q, k) => q === 1 && k === 1,
  };
  assert.deepEqual(selection.pairs(), Object.keys(wanted));
  for (const [sentences, holds] of Object.entries(wanted)) {
    selection.select({ sentences });
    const passes = selection.passes();
    for (let q = 0; q < 7; q++)
      for (let k = 0; k < 7; k++) assert.equal(passes(q, k), holds(sentence[q], sentence[k]));
  }
  selection.update(masked.attentions);
  assert.equal(selection.state.sentences, "every");
  assert.deepEqual(pairNames(["every", "within", "0-1"], masked.words), [
    ["every", "all"],
    ["within", "within a sentence"],
    ["0-1", "1 → 2"],
  ]);
});

test("heads are in the order of a figure, the largest first and those without one last", () => {
  const { encoder } = sorted.attentions;
  assert.deepEqual(orderOf(encoder, "place"), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(orderOf(encoder, "entropy"), [3, 5, 0, 4, 1, 2]);
  assert.deepEqual(
    orderOf(encoder, "entropy").map((head) => figureText(encoder, "entropy", head)),
    ["0.90", "0.70", "0.50", "0.30", "0.10", "–"],
  );
  assert.deepEqual(orderOf({ layers: 1, heads: 3, figures: { a: [-1, null, 2] } }, "a"), [2, 0, 1]);
  assert.deepEqual(orderOf(encoder, "role"), [4, 0, 5, 3, 1, 2]);
  const roles = orderOf(encoder, "role").map((head) => encoder.roles[head]);
  assert.deepEqual(roles, ["previous", "previous", "even", "even", "even", "mixed"]);
  assert.equal(figuresText(encoder, sorted.words, 3), "entropy 0.90");
});

test("each pixel of a thumbnail is the largest weight of its tokens", () => {
  const attention = { queries: 5, keys: 7 };
  const bits = Uint16Array.from({ length: 35 }, (_, i) => (i * 31) % 97);
  assert.deepEqual(pooledOf(attention, bits, 5, 7), bits);
  const pooled = pooledOf(attention, bits, 2, 3);
  for (let row = 0; row < 2; row++) {
    for (let column = 0; column < 3; column++) {
      const inside = [...bits].filter(
        (_, i) => Math.floor((Math.floor(i / 7) * 2) / 5) === row && Math.floor(((i % 7) * 3) / 7) === column,
      );
      assert.equal(pooled[row * 3 + column], Math.max(...inside));
    }
  }
});

test("titles name the heads, the values and how many lines there are", () => {
  const selection = of(masked, { head: 1 });
  const lines = (count, all) => titlesOf(selection, masked.words, { count, of: all }).lines;
  const { grid, matrix } = titlesOf(selection, masked.words, { count: 1, of: 1 });
  assert.deepEqual([grid, matrix], ["All heads · 2 × 3", "Layer 1, head 2 · weight"]);
  assert.equal(lines(5, 5), "Layer 1, head 2");
  assert.equal(lines(0, 0), "Layer 1, head 2 · no weight reaches the threshold");
  selection.select({ shown: new Set([2, 0]) });
  assert.equal(lines(5, 5), "Layer 1, heads 1, 3");
  selection.select({ shown: new Set([2, 0, 1]) });
  assert.equal(lines(8000, 49152), "Layer 1, heads 1–3 · the 8,000 strongest of 49,152");
  assert.equal(headTitle(selection.attention, { layer: 1, head: 0 }), "Layer 2, head 1");
});

test("a row with a next token is explained as what was read and what is expected, any other is not", () => {
  const rowHelp = "read {token}, expects {next}";
  const rows = { queryTokens: ["film → is", "was", "a → b → c"], rowHelp };
  assert.deepEqual(
    [0, 1, 2].map((row) => rowText(rows, row)),
    ["read film, expects is", "", "read a, expects b"],
  );
  assert.equal(rowText({ ...rows, rowHelp: "" }, 0), "");
});

test("a cell is described by its tokens and its number, a masked one as masked", () => {
  const selection = of(masked, { layer: 1, head: 2 });
  const { attention } = selection;
  for (let query = 0; query < 7; query++) {
    for (let key = 0; key < 7; key++) {
      const text = cellText(selection, masked.words, query, key);
      const number = attention.field(1, 2, "weights").data[query * 7 + key];
      if (attention.allowed(1, 2, query, key))
        assert.equal(text, `“t${query}” → “t${key}”: weight ${percent(number)}`);
      else assert.equal(text, `“t${query}” may not attend to “t${key}”.`);
      selection.state.pinned = { query, key };
      assert.equal(pinnedText(selection, masked.words), ` Pinned: ${text}`);
    }
  }
  selection.state.pinned = NOTHING;
  assert.equal(pinnedText(selection, masked.words), "");
});
