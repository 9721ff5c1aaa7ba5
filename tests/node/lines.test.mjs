import assert from "node:assert/strict";
import { test } from "node:test";
import { elements, payload, THEME, texts, VIEWS } from "./setup.mjs";

const { eachEdge, MOST_EDGES } = await import(`${VIEWS}/edges.js`);
const { lines } = await import(`${VIEWS}/lines.js`);
const { HALF, parse } = await import(`${VIEWS}/payload.js`);
const { Selection } = await import(`${VIEWS}/selection.js`);
const { SvgContext } = await import(`${VIEWS}/svg.js`);

const [WIDTH, TALL] = [500, 600];
const LOOK = { theme: THEME, ramps: {}, heads: ["#100000", "#200000", "#300000"] };

/** Return the lines of a payload, the selection, and a function that draws them. */
function shown(name, start = {}, aligned = undefined) {
  const { attentions, words } = parse(payload(name));
  const selection = new Selection(attentions, start);
  const counts = [];
  const view = lines({
    selection,
    words: () => words,
    look: () => LOOK,
    point: (token) => selection.point(token),
    pin: (token) => selection.pin(token),
    tall: () => TALL,
    aligned: () => aligned,
    counted: (count) => counts.push(count),
  });
  const draw = () => {
    const pen = new SvgContext(WIDTH, view.height(WIDTH), "#fff");
    view.draw(pen, WIDTH, view.height(WIDTH), 1);
    return pen;
  };
  return { selection, view, draw, count: () => counts.at(-1), edges: () => edgesOf(draw()) };
}

/** Return the height at which each line begins, and its opacity and colour. */
const edgesOf = (svg) =>
  elements(svg, "path").flatMap(({ d, opacity, stroke }) =>
    [...d.matchAll(/M\S+ ([-\d.]+)C/g)].map(([, y]) => ({ y: Number(y), opacity: Number(opacity), stroke })),
  );

/** Count weights of heads that reach a threshold. */
const strong = ({ selection }, heads, least, wanted = () => true) => {
  const { attention, state } = selection;
  const weights = heads.flatMap((head) =>
    [...attention.bits(state.layer, head)].map((bits, cell) => [HALF[bits], cell]),
  );
  return weights.filter(
    ([weight, cell]) => weight >= least && wanted(Math.floor(cell / attention.keys), cell % attention.keys),
  ).length;
};

const placeOf = (svg, token, anchor) => {
  const found = elements(svg, "text").find(
    (text) => text.textContent === token && text["text-anchor"] === anchor,
  );
  return [Number(found.x), Number(found.y)];
};

test("a line joins the query and the key of its cell, of which there may be more keys than queries", () => {
  const { attentions } = parse(payload("writing"));
  const { queries, keys } = attentions.cross;
  assert.notEqual(queries, keys);
  const selection = new Selection(attentions, { kind: "cross", layer: 1, head: 2, threshold: 0.01 });
  const found = [];
  eachEdge(selection, 2, (...edge) => found.push(edge.slice(0, 3)));
  const weights = [...attentions.cross.field(1, 2, "weights").data];
  const cells = weights.map((weight, cell) => [Math.floor(cell / keys), cell % keys, weight]);
  assert.deepEqual(
    found,
    cells.filter(([, , weight]) => weight >= 0.01),
  );
});

test("there is a line for each weight of the shown heads that reaches the threshold, in the colour of its head", () => {
  const found = shown("masked");
  for (const [heads, least] of [
    [[1], 0.02],
    [[0, 1, 2], 0.02],
    [[0, 2], 0.1],
    [[2], 1e-4],
  ]) {
    found.selection.select({ shown: new Set(heads), threshold: least });
    const drawn = found.edges();
    assert.equal(drawn.length, strong(found, heads, least));
    for (const head of [0, 1, 2]) {
      const own = drawn.filter(({ stroke }) => stroke === LOOK.heads[head]).length;
      assert.equal(own, heads.includes(head) ? strong(found, [head], least) : 0);
    }
    assert.deepEqual([found.count().count, found.count().of], [drawn.length, drawn.length]);
  }
});

test("a threshold of zero leaves out the lines that cannot be seen", () => {
  const found = shown("masked", { threshold: 0 });
  assert.equal(found.edges().length, strong(found, [0], 1e-4));
});

test("a weight at the threshold is drawn", () => {
  assert.equal(shown("half", { threshold: 0.5 }).edges().length, 4);
  assert.equal(shown("half", { threshold: 0.51 }).edges().length, 0);
});

test("below the lines stands how strong the strongest is, or that there is none", () => {
  const { words } = parse(payload("half"));
  const below = (threshold) => texts(shown("half", { threshold }).draw());
  assert.ok(below(0.5).includes(words.strongest.replace("{weight}", "50%")));
  assert.ok(!below(0.5).includes(words.no_line));
  assert.ok(below(0.51).includes(words.no_line));
});

test("in a long text only strong lines are drawn", () => {
  const found = shown("longest");
  assert.equal(found.edges().length, strong(found, [0], 0.05));
  assert.ok(strong(found, [0], 0.05) < strong(found, [0], 0.02));
});

test("the strongest weight is written, and its line is as strong as can be however small it is", () => {
  const drawn = shown("faint").draw();
  assert.ok(texts(drawn).includes("strongest line: 10%"));
  const opacities = edgesOf(drawn)
    .map(({ opacity }) => opacity)
    .sort();
  assert.ok(opacities.at(-1) > 0.85);
  assert.ok(opacities.at(-2) < 0.7);
});

test("of too many lines the strongest are drawn and counted", () => {
  const found = shown("even", { shown: new Set(Array.from({ length: 12 }, (_, head) => head)) });
  assert.equal(found.edges().length, 0);
  assert.deepEqual([found.count().count, found.count().of], [0, 0]);
  found.selection.state.threshold = 0;
  assert.equal(found.edges().length, MOST_EDGES);
  assert.deepEqual([found.count().count, found.count().of], [8000, 12 * 64 * 64]);
});

test("of too many lines none that is left out is stronger than one that is drawn", () => {
  const found = shown("longest", { threshold: 0 });
  const { attention } = found.selection;
  const weights = [...attention.bits(0, 0)].map((bits) => HALF[bits]).filter((weight) => weight >= 1e-4);
  assert.ok(weights.length > MOST_EDGES);
  assert.equal(found.edges().length, MOST_EDGES);
  const { level } = found.count();
  const above = weights.filter((weight) => Math.ceil(weight * 4096) > level).length;
  assert.ok(above <= MOST_EDGES);
  assert.ok(above + weights.filter((weight) => Math.ceil(weight * 4096) === level).length >= MOST_EDGES);
});

test("of weights times value norms, the threshold is a share of the largest", () => {
  const found = shown("masked", { value: "norms", threshold: 0.3 });
  const { data, largest } = found.selection.attention.field(0, 0, "norms");
  assert.equal(found.edges().length, data.filter((number) => number / largest >= 0.3).length);
});

test("a query alone has the lines of its row, a key those of its column, a cell one for each head", () => {
  const found = shown("masked", { shown: new Set([0, 1, 2]) });
  found.selection.pin({ query: 3, key: null });
  assert.equal(
    found.edges().length,
    strong(found, [0, 1, 2], 0.02, (query) => query === 3),
  );
  assert.equal(new Set(found.edges().map(({ y }) => y)).size, 1);
  found.selection.pin({ query: null, key: 5 });
  assert.equal(
    found.edges().length,
    strong(found, [0, 1, 2], 0.02, (_, key) => key === 5),
  );
  found.selection.pin({ query: 2, key: 5 });
  assert.equal(
    found.edges().length,
    strong(found, [0, 1, 2], 0.02, (query, key) => query === 2 && key === 5),
  );
});

test("a cell that is pointed at has its line however weak, and a token its strongest", () => {
  const found = shown("masked", { threshold: 0.999 });
  const { attention } = found.selection;
  const { data } = attention.field(0, 0, "weights");
  for (let cell = 0; cell < data.length; cell++) {
    const [query, key] = [Math.floor(cell / attention.keys), cell % attention.keys];
    found.selection.pin({ query, key });
    assert.equal(found.edges().length, data[cell] > 0 ? 1 : 0);
  }
  found.selection.pin({ query: 3, key: null });
  assert.equal(found.edges().length, 1);
});

test("the more lines there are, the fainter are the weak ones beside the strongest", () => {
  const weakest = (name) =>
    Math.min(
      ...shown(name, { threshold: 0 })
        .edges()
        .map(({ opacity }) => opacity),
    );
  const strongest = (name) =>
    Math.max(
      ...shown(name, { threshold: 0 })
        .edges()
        .map(({ opacity }) => opacity),
    );
  assert.ok(
    shown("longest", { threshold: 0 }).edges().length > 20 * shown("masked", { threshold: 0 }).edges().length,
  );
  assert.ok(weakest("longest") < weakest("masked") / 4);
  assert.ok(strongest("longest") > 0.8);
});

test("only lines of the chosen sentences are drawn", () => {
  const found = shown("sorted", { shown: new Set([0, 1, 2]) });
  const { querySentences } = found.selection.attention;
  found.selection.select({ sentences: "1-0" });
  const wanted = (query, key) => querySentences[query] === 1 && querySentences[key] === 0;
  assert.equal(found.edges().length, strong(found, [0, 1, 2], 0.02, wanted));
});

test("the tokens stand in the rows of the matrix beside them, or over all the height that is left", () => {
  const { selection, draw, view } = shown("masked");
  const middles = (svg, anchor) =>
    selection.attention.queryTokens.map((token) => placeOf(svg, token, anchor)[1]);
  const own = middles(draw(), "end");
  const steps = own.slice(1).map((y, i) => y - own[i]);
  assert.ok(steps.every((step) => Math.abs(step - steps[0]) < 0.02));
  assert.ok(view.height(WIDTH) <= TALL && view.height(WIDTH) >= TALL - 20);
  assert.ok(Math.abs(shown("long").view.height(WIDTH) - TALL) < 1);
  const beside = shown("masked", {}, { top: 90, down: 210 });
  const rows = selection.attention.queryTokens.map((_, i) => 90 + 30 * (i + 0.5));
  assert.deepEqual([middles(beside.draw(), "end"), middles(beside.draw(), "start")], [rows, rows]);
  assert.deepEqual(
    [...new Set(beside.edges().map(({ y }) => y))].sort((a, b) => a - b),
    rows.filter((_, i) => beside.edges().some(({ y }) => y === rows[i])),
  );
});

test("as many queries as keys or not, both sides are as high as the matrix", () => {
  const beside = shown("writing", { kind: "cross" }, { top: 50, down: 350 });
  const { queryTokens, keyTokens } = beside.selection.attention;
  const drawn = beside.draw();
  assert.notEqual(queryTokens.length, keyTokens.length);
  for (const [tokens, anchor] of [
    [queryTokens, "end"],
    [keyTokens, "start"],
  ]) {
    const row = 350 / tokens.length;
    tokens.forEach((token, i) =>
      assert.ok(Math.abs(placeOf(drawn, token, anchor)[1] - (50 + row * (i + 0.5))) < 0.02),
    );
  }
  beside.view.press(...placeOf(drawn, queryTokens[3], "end"));
  assert.deepEqual(beside.selection.state.pinned, { query: 3, key: null });
  beside.view.press(...placeOf(drawn, keyTokens[6], "start"));
  assert.deepEqual(beside.selection.state.pinned, { query: null, key: 6 });
});

test("tokens on both sides are pointed at and pinned, and nothing between them", () => {
  const { selection, view, draw } = shown("masked");
  const drawn = draw();
  const [left, right] = [placeOf(drawn, "t3", "end"), placeOf(drawn, "t3", "start")];
  view.press(left[0] - 5, left[1]);
  assert.deepEqual(selection.state.pinned, { query: 3, key: null });
  view.press(right[0] - 40, right[1]);
  assert.deepEqual(selection.state.pinned, { query: null, key: 3 });
  view.point(WIDTH / 2, left[1]);
  assert.deepEqual(selection.focus(), { query: null, key: 3 });
  view.leave();
  view.key({ key: "Escape" });
  assert.deepEqual(selection.focus(), { query: null, key: null });
});

test("arrow keys go through the queries and stop at the last", () => {
  const { selection, view, draw } = shown("masked");
  draw();
  for (let i = 0; i < 3; i++) view.key({ key: "ArrowDown" });
  assert.deepEqual(selection.state.pinned, { query: 2, key: null });
  view.key({ key: "ArrowUp" });
  assert.deepEqual(selection.state.pinned, { query: 1, key: null });
  assert.equal(view.key({ key: "a" }), false);
});
