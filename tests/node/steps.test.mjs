import assert from "node:assert/strict";
import { test } from "node:test";
import { elements, expected, filled, payload, THEME, texts, VIEWS } from "./setup.mjs";

const { ramp } = await import(`${VIEWS}/colour.js`);
const { parse } = await import(`${VIEWS}/payload.js`);
const { rowOf, sourceOf } = await import(`${VIEWS}/row.js`);
const { Selection } = await import(`${VIEWS}/selection.js`);
const { steps } = await import(`${VIEWS}/steps.js`);
const { SvgContext } = await import(`${VIEWS}/svg.js`);
const { percent } = await import(`${VIEWS}/text.js`);

const GREY = ramp([
  [0, "#000000"],
  [1, "#ffffff"],
]);
const LOOK = { theme: THEME, ramps: { sequential: GREY, diverging: GREY }, heads: ["#100000"] };
const fixed = (number) => number.toFixed(3).replace("-", "−");
const close = (one, other, tolerance = 1e-6) =>
  assert.ok(Math.abs(one - other) <= tolerance, `${one} is not ${other}`);

/** Return the steps of one query, and a function that draws them. */
function shown(name, query, start = {}) {
  const { attentions, words } = parse(payload(name));
  const selection = new Selection(attentions, start);
  selection.pin({ query, key: null });
  const to = (call) => (token) => selection[call](token);
  const told = [];
  const view = steps({
    ...{ selection, words: () => words, look: () => LOOK, point: to("point"), pin: to("pin") },
    tell: (text) => told.push(text),
  });
  const draw = (width = 1000) => {
    const pen = new SvgContext(width, view.height(width), "#fff");
    view.draw(pen, width, view.height(width), 1);
    return pen;
  };
  return { selection, view, draw, told };
}

test("a recomputed row has the scores, weights and context of the trace", () => {
  const { encoder } = parse(payload("masked")).attentions;
  for (let query = 0; query < 7; query++) {
    const row = rowOf(encoder, 1, 2, query);
    row.cells.forEach((cell, key) => {
      close(cell.score, expected.scores[2][query][key], 1e-5);
      close(cell.weight, expected.weights[2][query][key]);
      assert.equal(cell.allowed, expected.mask[2][query][key]);
    });
    row.context.forEach((number, i) => close(number, expected.vectors.context[2][query][i], 1e-5));
    assert.ok(row.equal.exact && row.passed.exact);
  }
});

test("scores with a cap are worked out with it", () => {
  const { encoder } = parse(payload("layers")).attentions;
  for (let query = 0; query < 7; query++) {
    rowOf(encoder, 1, 1, query).cells.forEach((cell, key) =>
      close(cell.score, expected.layers.scores[1][query][key], 1e-5),
    );
  }
  assert.ok(texts(shown("layers", 3, { layer: 1, head: 1 }).draw()).includes("÷ √4 → ±1.5"));
});

test("a relative position bias has a column of its own, and the scores hold it", () => {
  const { encoder } = parse(payload("biased")).attentions;
  for (let query = 0; query < 7; query++) {
    const row = rowOf(encoder, 0, 1, query);
    row.cells.forEach((cell, key) => {
      close(cell.bias, expected.biased.bias[1][query][key]);
      close(cell.score, expected.biased.scores[1][query][key], 1e-5);
      close(cell.weight, expected.biased.weights[1][query][key]);
    });
    assert.ok(row.equal.exact);
  }
  const written = texts(shown("biased", 3, { head: 1 }).draw());
  assert.ok(written.includes("bias b") && written.includes("÷ √4 + b"));
  for (const number of expected.biased.bias[1][3]) assert.ok(written.includes(fixed(number)));
  assert.ok(texts(shown("masked", 3).draw()).includes("÷ √4"));
  assert.ok(!texts(shown("masked", 3).draw()).some((text) => text.includes("bias")));
});

test("a query that its position rotates is shown before and after", () => {
  const { encoder } = parse(payload("rotated")).attentions;
  rowOf(encoder, 0, 1, 3).unrotated.forEach((number, i) => close(number, expected.unrotated[1][3][i]));
  const [rotated, plain] = ["rotated", "masked"].map((name) => texts(shown(name, 3, { head: 1 }).draw()));
  const key = /^k: key of “t\d”$/;
  const steps = ["· W_Q →", "query before rotation", "RoPE →", "q: query of “t3”", "· W_K, RoPE →"];
  steps.push("k: key, rotated");
  assert.deepEqual(
    rotated.filter((text) => steps.includes(text)),
    steps,
  );
  assert.equal(
    rotated.findIndex((text) => key.test(text)),
    rotated.indexOf("· W_K, RoPE →") + 1,
  );
  assert.ok(plain.includes("k: key") && !plain.some((text) => /RoPE|rotated/.test(text)));
});

test("a row that may attend to nothing has weights and a context of zero", () => {
  const row = rowOf(parse(payload("masked")).attentions.encoder, 0, 1, 4);
  assert.equal(row.sum, 0);
  assert.ok(row.cells.every(({ weight }) => weight === 0));
  assert.ok(row.context.every((number) => number === 0));
});

test("the numbers of a row are written, and whether they lead to the layer's own", () => {
  for (const query of [0, 6]) {
    const written = texts(shown("masked", query, { layer: 1, head: 2 }).draw());
    assert.ok(written.includes(`q: query of “t${query}”`));
    for (let key = 0; key < 7; key++) {
      assert.ok(written.includes(percent(expected.weights[2][query][key])));
      assert.ok(
        written.includes(
          fixed(rowOf(parse(payload("masked")).attentions.encoder, 1, 2, query).cells[key].score),
        ),
      );
    }
    const allowed = expected.mask[2][query].filter(Boolean).length;
    assert.equal(written.filter((text) => text === "−∞").length, 7 - allowed);
    assert.deepEqual(
      written.filter((text) => /^[✓✗]/.test(text)).map((text) => text.split(":")[0]),
      [
        "✓ The weighted sum equals the context vector computed by the layer",
        "✓ The concatenated heads, projected, equal the layer's attention output",
      ],
    );
  }
});

test("a context that differs from the weighted sum is marked as different", () => {
  const checks = (query) => texts(shown("unequal", query).draw()).filter((text) => /^[✓✗]/.test(text));
  assert.equal(checks(2).filter((text) => text.startsWith("✓")).length, 2);
  assert.ok(texts(shown("unequal", 2).draw()).includes("= x of “t2”: input of the layer ✓"));
  const wrong = checks(3).filter((text) => text.startsWith("✗"));
  assert.deepEqual(
    wrong.map((text) => text.includes("1.0e-2")),
    [true, true],
  ); // the sum, and the concatenation
});

test("of a long row the smallest weights are one line, and the sums are over all", () => {
  const written = texts(shown("long", 7).draw());
  const smallest = [...expected.long]
    .sort((a, b) => a - b)
    .slice(0, 30)
    .reduce((sum, weight) => sum + weight, 0);
  const [others, sum] = [written.indexOf("30 others"), written.indexOf("Σ")];
  assert.equal(written[others + 2], percent(smallest));
  close(Number(written[others + 1]) / Number(written[sum + 1]), smallest, 1e-3);
  assert.equal(written[sum + 2], "100%");
});

test("without vectors there is one sentence", () => {
  const written = texts(shown("weights", 0).draw());
  assert.equal(written.length, 1);
  assert.match(written[0], /too long/);
});

test("where there is little room the vectors of the keys are left out", () => {
  const { draw } = shown("masked", 0);
  const [wide, narrow] = [filled(draw(1000)).length, filled(draw(390)).length];
  assert.ok(narrow < wide);
  assert.ok(texts(draw(390)).every((text) => text !== "v: value" && text !== "v"));
});

test("each step has its name, the mask only where there is one", () => {
  const names = (name, start) => texts(shown(name, 3, start).draw(1200));
  for (const name of ["dot product", "scaled score s", "softmax", "weight w", "weighted sum"])
    assert.ok(names("masked", { head: 2 }).includes(name), name);
  assert.ok(names("masked", { head: 2 }).some((text) => text.startsWith("output projection")));
  assert.ok(names("masked", { head: 2 }).includes("mask"));
  assert.ok(!names("biased", {}).includes("mask"));
});

test("a key and a value are made of the input at their token, in cross-attention of the encoder's output", () => {
  const { attentions } = parse(payload("writing"));
  const wanted = { ...expected.inputs, cross: expected.inputs.memory };
  for (const [kind, attention] of Object.entries(attentions))
    wanted[kind].forEach((vector, key) =>
      vector.forEach((number, i) => close(sourceOf(attention, 1, key)[i], number)),
    );
});

/** Return the numbers of a vector as its cells show them. */
const cells = (vector) =>
  Array.from(vector, (number) => {
    const text = number.toPrecision(2).replace("-", "−");
    return Math.abs(number) < 0.0005 ? "0" : text.replace(/^(−?)0\./, "$1.");
  });

test("a query, a key and a value stand beside what they are made of, with the numbers of all", () => {
  const { selection, draw } = shown("writing", 2, { kind: "cross", layer: 1, head: 1 });
  selection.pin({ query: 2, key: 4 });
  const written = texts(draw(1200)).join("|");
  const { attention } = selection;
  const row = rowOf(attention, 1, 1, 2);
  const { k, v } = row.cells[4];
  const lines = [
    ["LN → x of “w2”: after layer normalisation", row.reads, "· W_Q →", "q: query of “w2”", row.q],
    ["x of “t4”: output of the encoder", expected.inputs.memory[4], "· W_K →", "k: key of “t4”", k],
    ["x of “t4”: output of the encoder", expected.inputs.memory[4], "· W_V →", "v: value of “t4”", v],
  ];
  for (const [given, vector, by, made, product] of lines)
    assert.ok(written.includes([given, ...cells(vector), by, made, ...cells(product)].join("|")), made);
  expected.inputs.cross[2].forEach((number, i) => close(row.reads[i], number));
});

test("the key and the value are those pointed at, else the pinned ones, else those most attended to", () => {
  const { selection, view, draw } = shown("masked", 6, { head: 2 });
  const read = () => texts(draw()).find((text) => text.startsWith("k: key of"));
  const { cells } = rowOf(selection.attention, 0, 2, 6);
  const most = cells.reduce((best, cell) => (cell.weight > best.weight ? cell : best)).key;
  assert.equal(read(), `k: key of “t${most}”`);
  selection.pin({ query: 6, key: 1 });
  assert.equal(read(), "k: key of “t1”");
  selection.point({ query: 6, key: 3 });
  assert.equal(read(), "k: key of “t3”");
  view.leave();
  assert.equal(read(), "k: key of “t1”");
});

test("cells without room for their numbers have the first ones and the last below them", () => {
  const { selection, draw } = shown("writing", 2, { kind: "cross", layer: 1, head: 1 });
  const row = rowOf(selection.attention, 1, 1, 2);
  const [two, narrow] = [(number) => number.toPrecision(2).replace("-", "−"), texts(draw(560))];
  const [first, second, third, last] = [row.reads[0], row.reads[1], row.reads[2], row.reads[5]].map(two);
  assert.ok(narrow.includes(`[${first}, ${second}, ${third}, …, ${last}]`));
  assert.ok(!texts(draw(1200)).some((text) => text.startsWith("[")));
});

test("each number of a strip is told where it is pointed at", () => {
  const { selection, view, draw, told } = shown("masked", 6, { head: 2 });
  const strip = elements(draw(), "text").find(({ textContent }) => textContent === "q: query of “t6”");
  const { q } = rowOf(selection.attention, 0, 2, 6);
  const end = 1000;
  q.forEach((_, i) => {
    const x = Number(strip.x) + ((i + 0.5) / q.length) * (end - Number(strip.x));
    view.point(x, Number(strip.y) + 20);
  });
  assert.deepEqual(
    told,
    Array.from(q, (number, i) => {
      const text = number.toPrecision(4).replace("-", "−");
      return `q: query of “t6” · ${i + 1}/4: ${text}`;
    }),
  );
  view.point(Number(strip.x), Number(strip.y));
  assert.equal(told.length, q.length);
});

test("arrow keys go to another row, and a press pins a key", () => {
  const { selection, view, draw } = shown("masked", 6);
  draw();
  view.key({ key: "ArrowUp" });
  assert.equal(selection.row(), 5);
  const label = elements(draw(), "text").find(({ textContent }) => textContent === "t2");
  assert.ok(texts(draw()).includes("q: query of “t5”"));
  for (let y = 0; y < view.height(1000); y += 26) view.point(20, y);
  view.press(20, Number(label.y));
  assert.deepEqual(selection.state.pinned, { query: 5, key: 2 });
});
