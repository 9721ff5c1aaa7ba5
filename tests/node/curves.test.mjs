import assert from "node:assert/strict";
import { test } from "node:test";
import { elements, randoms, THEME, texts, VIEWS } from "./setup.mjs";

const { curves, ticks, valuesNear } = await import(`${VIEWS}/curves.js`);
const { SvgContext } = await import(`${VIEWS}/svg.js`);

const STEPS = [1, 50, 100];
const heads = [0, 1, 2].map((head) => ({
  name: `Head ${head + 1}`,
  steps: STEPS,
  values: [head, 1, 2],
  colour: `#10000${head}`,
}));
const PICTURES = [
  { title: "entropy", lines: heads },
  {
    title: "accuracy",
    lines: [{ name: "accuracy", steps: [50, 100], values: [null, 0.9], colour: "#100009", dots: true }],
  },
];

test("ticks are round, from zero, about four and never beyond the largest value", () => {
  const random = randoms();
  for (let i = 0; i < 500; i++) {
    const most = 10 ** (12 * random() - 6);
    const found = ticks(most);
    assert.equal(found[0], 0);
    assert.ok(found.length >= 3 && found.length <= 6);
    assert.ok(found.at(-1) <= most * (1 + 1e-6));
    assert.match(found[1].toExponential(), /^[125]e/);
  }
  assert.deepEqual(ticks(0), [0]);
});

test("the values at a step are those that were measured nearest to it", () => {
  assert.deepEqual(valuesNear(PICTURES[0], 60), { step: 50, texts: ["Head 1: 1", "Head 2: 1", "Head 3: 1"] });
  assert.deepEqual(valuesNear(PICTURES[1], 1), { step: 100, texts: ["accuracy: 0.9"] });
  assert.equal(valuesNear({ lines: [{ name: "a", steps: [1], values: [null] }] }, 1), null);
});

test("the pictures are side by side, and a press goes to the step under the pointer", () => {
  const went = [];
  const hovered = [];
  const view = curves({
    pictures: () => PICTURES,
    run: () => ({ step: 50, last: 100 }),
    theme: () => THEME,
    go: (step) => went.push(step),
    hover: (values) => hovered.push(values),
  });
  const pen = new SvgContext(800, view.height(800), "#fff");
  view.draw(pen, 800, view.height(800), 1);
  assert.deepEqual(
    texts(pen).filter((text) => PICTURES.some(({ title }) => title === text)),
    ["entropy", "accuracy"],
  );
  const strokes = elements(pen, "path").map(({ stroke }) => stroke);
  assert.deepEqual(
    strokes.filter((stroke) => stroke.startsWith("#1")),
    ["#100000", "#100001", "#100002", "#100009"],
  );
  assert.equal(strokes.filter((stroke) => stroke === THEME.soft).length, 2); // the current step in both
  const { x } = elements(pen, "text").find(({ textContent }) => textContent === "accuracy");
  view.press(Number(x));
  view.press(44);
  view.press(99999);
  assert.deepEqual(went, [0, 0]);
  view.point(Number(x) + 1, 50);
  view.leave();
  assert.deepEqual(hovered, [{ step: 100, texts: ["accuracy: 0.9"] }, null]);
});
