import assert from "node:assert/strict";
import { test } from "node:test";
import { Ruler, randoms, VIEWS } from "./setup.mjs";

const { cellAt, middleOf, nearestCell, place, strides, TILTED, visibleBox } = await import(
  `${VIEWS}/place.js`
);
const { whole, zoomed } = await import(`${VIEWS}/zoom.js`);

const TOKENS = ["好", "a", "station", "[START]", "x".repeat(60)];
const FITS = ["bounded", "square"];

function sceneOf(size, token, fit, changes = {}) {
  const labels = Array.from({ length: size }, (_, i) => `${token}${i}`.slice(0, 60));
  return {
    rows: labels,
    columns: labels,
    fit,
    pixels: size <= 16 ? 12 : 11,
    rowTitle: "query",
    columnTitle: "key",
    ...changes,
  };
}

/** Call with every layout of some sizes, tokens, widths and fonts. */
function eachLayout(check, { fits = FITS, sizes = [1, 5, 7, 16, 26, 41, 90, 192] } = {}) {
  for (const wide of [0.35, 0.5, 0.8]) {
    for (const fit of fits) {
      for (const token of TOKENS) {
        for (const width of [240, 332, 600, 900]) {
          for (const size of sizes) {
            const scene = sceneOf(size, token, fit);
            const ruler = new Ruler(wide);
            ruler.font = `${scene.pixels}px sans-serif`;
            check(place(scene, ruler, width), scene, ruler, width);
          }
        }
      }
    }
  }
}

test("cells are square whatever the window, the tokens and the font", () => {
  const check = (at, _scene, _ruler, width) => {
    assert.ok(Math.abs(at.across - at.down) <= 1);
    assert.ok(
      at.across >= (width < 300 ? width - 96 - 48 : Math.min(200, width - 132)),
      `${at.across} of ${width}`,
    );
  };
  eachLayout(check, { fits: ["square"] });
});

test("everything is within the picture, and nothing is upon anything else", () => {
  eachLayout((at, scene, _ruler, width) => {
    assert.ok(at.left >= at.beside + 6 + 18, "labels beside the cells, and their title");
    assert.ok(at.top >= 18, "title of the columns");
    assert.ok(at.left + at.across <= width || scene.fit === "bounded");
    assert.ok(at.top + at.down + 30 <= at.height, "room for the scale");
  });
});

test("labels of rows and columns never overlap", () => {
  eachLayout((at, scene, ruler) => {
    const [line, cell] = [at.down / scene.rows.length, at.across / scene.columns.length];
    const [everyRow, everyColumn] = strides(at, scene, line, cell);
    assert.ok(everyRow * line >= scene.pixels, "rows");
    const [width] = scene.columns.map((text) => Math.min(at.longest, ruler.measureText(text).width));
    const needed = { 0: width, 45: scene.pixels / TILTED, 90: scene.pixels }[at.tilt];
    assert.ok(everyColumn * cell >= needed, `columns, tilted by ${at.tilt}`);
  });
});

test("upright labels of square cells have the smallest stride that fits", () => {
  const check = (at, scene) => {
    if (at.tilt !== 90) return;
    const side = at.across / scene.columns.length;
    const [rows, columns] = strides(at, scene, side, side);
    assert.equal(rows, Math.ceil(scene.pixels / side));
    assert.equal(columns, rows);
  };
  eachLayout(check, { fits: ["square"] });
});

test("names give way to cells: of twenty tokens all have a label", () => {
  for (const token of ["uncharacteristic", "好"]) {
    const scene = sceneOf(20, token, "square");
    const ruler = new Ruler();
    ruler.font = "11px sans-serif";
    const at = place(scene, ruler, 332);
    assert.deepEqual(strides(at, scene, at.down / 20, at.across / 20), [1, 1]);
  }
});

test("a few long names among short ones turn none", () => {
  const tiltOf = (columns) =>
    place(sceneOf(columns.length, "好", "bounded", { columns, tall: 600 }), new Ruler(), 700).tilt;
  const text = Array(24).fill("好");
  assert.equal(tiltOf(text), 0);
  assert.equal(tiltOf(text.with(5, "[UNK]")), 0);
  assert.equal(tiltOf(text.with(5, "[UNK]").with(6, "[UNK]")) > 0, true); // they would cover each other
  assert.equal(tiltOf(text.map((each, i) => (i % 2 ? "[UNK]" : each))) > 0, true);
});

test("short names lie flat and long ones stand upright", () => {
  const tilt = (token, size) =>
    place(sceneOf(size, token, "square", { columns: Array(size).fill(token) }), new Ruler(), 332).tilt;
  assert.equal(tilt("好", 18), 0);
  assert.equal(tilt("station", 3), 0);
  assert.equal(tilt("station", 16), 90);
});

test("the middle of a cell is in that cell, in whatever part is in view", () => {
  const random = randoms();
  eachLayout(
    (at, scene) => {
      const all = whole(scene.rows.length, scene.columns.length);
      const part = zoomed(all, all, 0.3 + 0.7 * random(), [random(), random()]) ?? all;
      for (let i = 0; i < 20; i++) {
        const cell = { row: Math.floor(random() * all.rows), column: Math.floor(random() * all.columns) };
        const point = middleOf(at, part, cell);
        const inside = cellAt(at, part, point);
        if (inside) assert.deepEqual(inside, cell);
        else
          assert.ok(
            cell.row + 0.5 < part.row ||
              cell.row + 0.5 >= part.row + part.rows ||
              cell.column + 0.5 < part.column ||
              cell.column + 0.5 >= part.column + part.columns,
          );
      }
    },
    { sizes: [5, 26, 192] },
  );
});

test("a point is in the cell whose edges are around it, and beside the cells there is none", () => {
  const at = { left: 50, top: 40, across: 200, down: 100 };
  const part = { row: 2.5, rows: 5, column: 0.25, columns: 4 };
  assert.deepEqual(cellAt(at, part, [50, 40]), { row: 2, column: 0 });
  assert.deepEqual(cellAt(at, part, [50 + 0.75 * 50 + 0.1, 40 + 0.5 * 20 + 0.1]), { row: 3, column: 1 });
  assert.deepEqual(cellAt(at, part, [249.9, 139.9]), { row: 7, column: 4 });
  for (const point of [
    [49, 60],
    [250, 60],
    [60, 39],
    [60, 140],
  ])
    assert.equal(cellAt(at, part, point), null);
});

test("the nearest cell to a point beside the cells is at the edge that is in view", () => {
  const at = { left: 50, top: 40, across: 200, down: 100 };
  assert.deepEqual(nearestCell(at, { row: 2, rows: 5, column: 1, columns: 4 }, [-9, 999]), {
    row: 6,
    column: 1,
  });
  assert.deepEqual(nearestCell(at, whole(7, 7), [999, -9]), { row: 0, column: 6 });
});

test("the frame of a box is around its cells, and within the cells in view", () => {
  const random = randoms();
  const at = { left: 50, top: 40, across: 200, down: 100 };
  const all = whole(20, 30);
  assert.deepEqual(visibleBox(at, whole(10, 10), [2, 3, 4, 3]), [110, 60, 20, 30]);
  for (let i = 0; i < 500; i++) {
    const part = zoomed(all, all, 0.2 + 0.8 * random(), [random(), random()]) ?? all;
    const [row, column] = [Math.floor(random() * 20), Math.floor(random() * 30)];
    const box = [
      row,
      column,
      Math.min(19, row + Math.floor(5 * random())),
      Math.min(29, column + Math.floor(5 * random())),
    ];
    const frame = visibleBox(at, part, box);
    const out =
      box[2] + 1 <= part.row ||
      row >= part.row + part.rows ||
      box[3] + 1 <= part.column ||
      column >= part.column + part.columns;
    assert.equal(frame === null, out);
    if (!frame) continue;
    const [x, y, width, height] = frame;
    assert.ok(width > 0 && height > 0);
    assert.ok(x >= 50 - 1e-9 && y >= 40 - 1e-9 && x + width <= 250 + 1e-9 && y + height <= 140 + 1e-9);
  }
});
