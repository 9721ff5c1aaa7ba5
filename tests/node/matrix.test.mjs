import assert from "node:assert/strict";
import { test } from "node:test";
import { elements, filled, randoms, THEME, texts, VIEWS } from "./setup.mjs";

const { css, entry, ramp } = await import(`${VIEWS}/colour.js`);
const { labelled, written } = await import(`${VIEWS}/labels.js`);
const { matrix, NOTHING } = await import(`${VIEWS}/matrix.js`);
const { bitsOf, boxOf, digitsOf, paint } = await import(`${VIEWS}/paint.js`);
const { SvgContext } = await import(`${VIEWS}/svg.js`);

const WIDTH = 600;
const TABLE = ramp([
  [0, "#000000"],
  [0.5, "#ff0000"],
  [1, "#ffff00"],
]);

/** Return a matrix of random numbers on a page of its own: its view, scene and host. */
function shown(size, changes = {}) {
  const random = randoms(size);
  const labels = Array.from({ length: size }, (_, i) => `t${i}`);
  const scale = { ramp: TABLE, limit: 1, signed: false, ticks: ["0", "1"] };
  const values = Float32Array.from({ length: size * size }, random);
  const scene = {
    key: "a",
    rows: labels,
    columns: labels,
    values,
    scale,
    fit: "bounded",
    pixels: 12,
    ...changes,
  };
  const state = { cell: NOTHING, pinned: null, redrawn: 0, sent: [], isOn: true };
  const host = {
    scene: () => scene,
    theme: () => THEME,
    highlighted: () => state.cell,
    highlight: (cell) => (state.cell = cell),
    pin: (cell) => (state.pinned = cell),
    redraw: () => state.redrawn++,
    isOn: () => state.isOn,
    stroke: (...stroke) => state.sent.push(stroke),
  };
  const view = matrix(host);
  const draw = () => {
    const pen = new SvgContext(WIDTH, view.height(WIDTH), "#fff");
    view.draw(pen, WIDTH, view.height(WIDTH), 1);
    return pen;
  };
  return { view, scene, state, host, draw };
}

const press = (view, key) => view.key({ key });
const drawnCells = (svg) => filled(svg).slice(0, -128); // the rest is the scale

for (const size of [16, 81, 150]) {
  // rectangles, an image that becomes rectangles, an image
  test(`of ${size} tokens, zoomed in or not, the pointer finds the cell that is drawn there`, () => {
    const { view, scene, state, draw } = shown(size);
    draw();
    for (const zooms of [0, 1]) {
      if (zooms) press(view, "+");
      const found = new Set();
      for (const { x, y, width, height, fill } of drawnCells(draw())) {
        if (Math.min(width, height) < 3) continue; // cut off by the edge
        view.point(x + width / 2, y + height / 2);
        const { row, column } = state.cell;
        assert.equal(fill, css(TABLE[entry(scene.values[row * size + column], 1, false)]));
        found.add(`${row}/${column}`);
      }
      assert.ok(zooms ? found.size > 10 && found.size < size ** 2 : found.size > 0.9 * size ** 2);
    }
  });

  test(`of ${size} tokens, the cells keep within their frame however far they are zoomed`, () => {
    const { view, draw } = shown(size);
    const before = drawnCells(draw());
    const [left, top] = [Math.min(...before.map(({ x }) => x)), Math.min(...before.map(({ y }) => y))];
    const right = Math.max(...before.map(({ x, width }) => x + width));
    const bottom = Math.max(...before.map(({ y, height }) => y + height));
    for (let i = 0; i < 4; i++) {
      press(view, "+");
      for (const { x, y, width, height } of drawnCells(draw())) {
        assert.ok(x >= left - 0.02 && y >= top - 0.02);
        assert.ok(x + width <= right + 1.02 && y + height <= bottom + 1.02); // 1: the line between two cells
      }
    }
  });
}

test("a gap is not drawn, and its row is a gap like any other", () => {
  for (const size of [7, 81]) {
    const { scene, draw } = shown(size);
    scene.values = Float32Array.from(scene.values, (_, i) => (i % 2 ? 0 : 1)); // no runs of one colour
    scene.values.fill(NaN, 4 * size, 5 * size);
    scene.values[3] = NaN;
    assert.equal(drawnCells(draw()).length, size ** 2 - size - 1);
  }
});

test("every masked cell has the colour of gaps, which is named beside the scale", () => {
  for (const size of [7, 81]) {
    const { scene, draw } = shown(size, { back: "#010203", masked: "masked" });
    const { values } = scene;
    scene.values = Float32Array.from(values, (value, i) => (i % 3 ? value : NaN));
    const pen = draw();
    const grey = drawnCells(pen).filter(({ fill }) => fill === (size === 7 ? "#010203" : "rgb(1,2,3)"));
    assert.equal(grey.length, Math.ceil(size ** 2 / 3));
    assert.ok(texts(pen).includes("masked"));
    assert.equal(elements(pen, "rect").at(-1).fill, "#010203");
  }
});

test("beside a zoomed matrix nothing is highlighted", () => {
  const { view, state, draw } = shown(16);
  draw();
  press(view, "+");
  const cells = drawnCells(draw());
  const right = Math.max(...cells.map(({ x, width }) => x + width));
  const bottom = Math.max(...cells.map(({ y, height }) => y + height));
  for (const [x, y] of [
    [right + 4, bottom - 9],
    [right - 9, bottom + 4],
  ]) {
    view.point(right - 9, bottom - 9);
    assert.notEqual(state.cell.row, null);
    view.point(x, y);
    assert.deepEqual(state.cell, NOTHING);
  }
});

test("the wheel zooms with Ctrl, about the pointer, and dragging takes the cell along", () => {
  const { view, state, draw } = shown(40);
  draw();
  const [x, y] = view.middle({ row: 10, column: 20 });
  assert.equal(view.wheel({ deltaY: -100 }, x, y), false); // the page scrolls
  for (let i = 0; i < 4; i++) assert.ok(view.wheel({ deltaY: -100, ctrlKey: true }, x, y));
  view.point(x, y);
  assert.deepEqual(state.cell, { row: 10, column: 20 });
  view.drag(30, 40);
  view.point(x + 30, y + 40);
  assert.deepEqual(state.cell, { row: 10, column: 20 });
  view.reset();
  assert.equal(view.part, null);
});

test("arrow keys move to the next cell, stop at the edges, and take a zoomed part along", () => {
  const { view, state, draw } = shown(40);
  draw();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"]) press(view, key);
  assert.deepEqual(state.cell, { row: 0, column: 1 });
  press(view, "ArrowUp");
  assert.deepEqual(state.cell, { row: 0, column: 1 });
  for (const key of ["+", "+", "+", "ArrowDown", "ArrowLeft", "ArrowRight"]) press(view, key);
  const labels = texts(draw());
  assert.ok(labels.includes("t0") && labels.includes("t1"));
  assert.ok(!labels.includes("t39"));
});

test("another matrix is shown whole, and other numbers of the same one as it was zoomed", () => {
  const { view, scene, draw } = shown(40);
  draw();
  press(view, "+");
  const part = view.part;
  scene.values = scene.values.map((value) => 1 - value);
  assert.deepEqual(view.part, part);
  scene.key = "b";
  assert.equal(view.part, null);
});

test("Enter pins a cell and Escape releases it", () => {
  const { view, state, draw } = shown(5);
  draw();
  assert.equal(press(view, "Enter"), false);
  press(view, "ArrowDown");
  assert.equal(press(view, "Enter"), true);
  assert.deepEqual(state.pinned, { row: 0, column: 0 });
  press(view, "Escape");
  assert.deepEqual(state.pinned, NOTHING);
});

test("every nth label is written, and none that would cover the highlighted one", () => {
  assert.deepEqual(written(0, 10, 3, null, 1).map(Math.abs), [0, 3, 6, 9]);
  assert.deepEqual(written(0, 10, 3, 4, 1.5).map(Math.abs), [0, 4, 6, 9]);
  const random = randoms();
  for (let i = 0; i < 300; i++) {
    const [first, count, every] = [9 * random(), 1 + 30 * random(), 1 + Math.floor(6 * random())];
    const highlighted = random() < 0.3 ? null : Math.floor(40 * random());
    const near = Math.max(0.01, every * random());
    const indices = written(first, count, every, highlighted, near);
    indices.slice(1).forEach((index, n) => assert.ok(index - indices[n] >= near));
    for (const index of indices) assert.ok(index + 0.5 >= first && index + 0.5 <= first + count);
  }
});

test("where tokens have no room, words have labels, and none covers another or the highlighted one", () => {
  const labels = [..."这家酒店服务很好"];
  const words = [
    [2, 4, "酒店"],
    [4, 6, "服务"],
    [6, 8, "很好"],
  ];
  const read = (...rest) => labelled(labels, words, ...rest).map(({ text }) => text);
  assert.deepEqual(read([0, 8], 1, null, 0.9), labels);
  assert.deepEqual(read([0, 8], 2, null, 1.5), ["这", "酒店", "服务", "很好"]);
  assert.deepEqual(read([0, 8], 3, null, 3), ["这", "服务"]);
  assert.deepEqual(
    read([0, 8], 2, 3, 1.5),
    ["店", "这", "家", "服务", "很好"].filter((text) => text !== "家"),
  );
  const [{ index, isHighlighted }, ...others] = labelled(labels, words, [2, 6], 2, 3, 1.5);
  assert.deepEqual([index, isHighlighted, others.map(({ index }) => index)], [3, true, [4.5, 6.5]]);
});

test("the highlighted row and column are framed where they are in view", () => {
  const { view, state, draw } = shown(16);
  draw();
  const frames = (svg) => elements(svg, "rect").filter(({ fill }) => fill === "none").length;
  state.cell = { row: 3, column: null };
  assert.equal(frames(draw()), 1);
  state.cell = { row: 3, column: 4 };
  assert.equal(frames(draw()), 2);
  for (const key of ["ArrowDown", "ArrowRight", "+", "+", "+"]) press(view, key);
  state.cell = { row: 0, column: 0 };
  assert.equal(frames(draw()), 0);
});

/** Press a pointer at one cell and release it at another. */
function strokeOf(view, from, to) {
  view.begin(...view.middle(from));
  view.point(...view.middle(to));
  view.end(...view.middle(to));
}

test("a painted box masks its cells, and frees them if all are masked", () => {
  const { view, scene, state, host, draw } = shown(7);
  paint(view, host);
  draw();
  strokeOf(view, { row: 4, column: 2 }, { row: 2, column: 5 });
  const masked = () => [...scene.values].flatMap((value, i) => (Number.isNaN(value) ? [i] : []));
  assert.deepEqual(
    masked(),
    [2, 3, 4].flatMap((row) => [2, 3, 4, 5].map((column) => 7 * row + column)),
  );
  assert.deepEqual(state.sent, [[[2, 2, 4, 5], false]]);
  strokeOf(view, { row: 2, column: 2 }, { row: 2, column: 3 });
  assert.ok(!masked().includes(16) && masked().includes(18));
  assert.deepEqual(state.sent[1], [[2, 2, 2, 3], true]);
});

test("a matrix that cannot be painted is pinned and zoomed as before", () => {
  const { view, state, host, draw } = shown(7);
  paint(view, host);
  draw();
  state.isOn = false;
  assert.equal(view.begin(...view.middle({ row: 1, column: 1 })), false);
  press(view, "ArrowDown");
  assert.equal(press(view, "Enter"), true);
  assert.deepEqual([state.pinned, state.sent], [{ row: 0, column: 0 }, []]);
});

test("a box has the same corners whichever way it is drawn", () => {
  const [one, other] = [
    { row: 4, column: 1 },
    { row: 2, column: 3 },
  ];
  assert.deepEqual(boxOf(one, other), [2, 1, 4, 3]);
  assert.deepEqual(boxOf(other, one), [2, 1, 4, 3]);
});

test("the cells of a mask are four to a hexadecimal digit, and read back as they were", () => {
  const bits = Uint8Array.from([1, 0, 1, 0, 0, 0, 1, 1, 1]);
  assert.equal(digitsOf(bits), "a38");
  assert.deepEqual(bitsOf("a38", 9), bits);
});

test("of a scale that has no room for both ends the last one alone is written", () => {
  const scale = { ramp: TABLE, limit: 1, signed: false, ticks: ["from here", "to there"] };
  const read = (long) => texts(shown(2, { scale, tall: long ? 400 : 60 }).draw());
  assert.ok(["from here", "to there"].every((tick) => read(true).includes(tick)));
  assert.ok(!read(false).includes("from here"));
  assert.ok(read(false).includes("to there"));
});
