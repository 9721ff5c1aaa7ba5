import assert from "node:assert/strict";
import { test } from "node:test";
import { payload, Ruler, VIEWS } from "./setup.mjs";

const { figureText, roleText, titlesOf } = await import(`${VIEWS}/captions.js`);
const { layoutOf, LETTERS, neighbour } = await import(`${VIEWS}/layout.js`);
const { headsByRole, headsByUsualRole } = await import(`${VIEWS}/order.js`);
const { parse } = await import(`${VIEWS}/payload.js`);
const { Selection } = await import(`${VIEWS}/selection.js`);

const { attentions, words } = parse(payload("roles"));
const { encoder, decoder, cross } = attentions;
const unknown = parse(payload("sorted")).attentions.encoder;

const ruler = new Ruler();
ruler.font = `${LETTERS}px sans-serif`;
const wide = (text) => ruler.measureText(text).width;

/** Return the layout of an attention, or of a start of the selection. */
const laid = (attention, width, sort = "place", high = 2000) =>
  layoutOf({ attention, state: { sort } }, ruler, width, high);
const under = ({ placed }) => placed.map(({ texts }) => texts.at(-1));

/** An attention of 12 x 12 heads with every role in it. */
const many = {
  ...{ layers: 12, heads: 12, queries: 5, keys: 5 },
  roles: Array.from(
    { length: 144 },
    (_, i) => ["previous token", "no fixed pattern", "induction", "even"][i % 4],
  ),
  shares: Array.from({ length: 144 }, (_, i) => (i % 4 === 1 ? "" : `${100 - (i >> 1)}%`)),
  figures: {
    role: Array.from({ length: 144 }, (_, i) => -2 * [1, 3, 0, 2][i % 4] - i / 144),
    entropy: Array(144).fill(0.5),
  },
};

test("heads are grouped by role, and those of a role stand from the strongest to the weakest", () => {
  assert.deepEqual(
    [...headsByUsualRole(encoder)],
    [
      ["itself", [4]],
      ["previous token", [2, 5, 0]],
      ["uniform", [3]],
      ["no fixed pattern", [1]],
    ],
  );
  assert.deepEqual(
    [...headsByUsualRole(decoder)].map(([role, numbers]) => [role, numbers.length]),
    [
      ["previous token", 1],
      ["focused", 1],
      ["no fixed pattern", 7],
    ],
  );
  const groups = headsByUsualRole(many);
  assert.deepEqual([...groups.keys()], ["induction", "previous token", "even", "no fixed pattern"]);
  for (const [role, numbers] of groups) {
    assert.deepEqual(
      numbers,
      many.roles.flatMap((each, number) => (each === role ? [number] : [])),
    );
  }
});

test("without a head that is known to have a usual role there is nothing to choose from", () => {
  assert.equal(headsByUsualRole(cross).size, 0);
  assert.equal(headsByUsualRole(unknown).size, 0);
  assert.deepEqual(
    [...headsByRole(unknown)],
    [
      ["previous", [4, 0]],
      ["even", [5, 3, 1]],
      ["mixed", [2]],
    ],
  );
});

test("a usual role has its share, a role in one text has none", () => {
  const shown = encoder.roles.map((_, number) => roleText(encoder, number));
  assert.deepEqual(shown, [
    "previous token · 41%",
    "",
    "previous token · 100%",
    "uniform · 95%",
    "itself · 62%",
    "previous token · 54%",
  ]);
  assert.deepEqual(
    [0, 1].map((number) => figureText(encoder, "role", number)),
    ["41%", ""],
  );
  assert.deepEqual([roleText(unknown, 0), figureText(unknown, "role", 0)], ["", ""]);
});

test("the role that is pointed at is lit, else the one that is kept, as long as heads are seen that have it", () => {
  const selection = new Selection(attentions, { view: "grid", kind: "encoder" });
  assert.equal(selection.litRole(), null);
  selection.select({ role: "previous token" });
  selection.state.pointedRole = "uniform";
  assert.equal(selection.litRole(), "uniform");
  assert.equal(titlesOf(selection, words, { count: 0, of: 0 }).grid, "All heads · 2 × 3 · uniform 1");
  selection.select({ head: 2 });
  assert.equal(selection.litRole(), "previous token");
  selection.select({ kind: "decoder" });
  assert.equal(titlesOf(selection, words, { count: 0, of: 0 }).grid, "All heads · 3 × 3 · previous token 1");
  selection.select({ kind: "cross" });
  assert.equal(titlesOf(selection, words, { count: 0, of: 0 }).grid, "All heads · 3 × 3");
  selection.select({ kind: "encoder", role: "itself" });
  selection.select({ view: "all" });
  assert.equal(selection.litRole(), null);
  selection.select({ view: "grid", role: "itself" });
  selection.update(parse(payload("masked")).attentions);
  assert.equal(selection.litRole(), null);
});

test("a role is written as far as there is room: with its share, its name, its beginning, or not at all", () => {
  assert.deepEqual(
    under(laid(encoder, 1000)),
    encoder.roles.map((_, number) => roleText(encoder, number)),
  );
  assert.deepEqual(under(laid(encoder, 22 + 3 * 100)).slice(0, 4), [
    "previous token",
    "",
    "previous token",
    "uniform",
  ]);
  assert.deepEqual(under(laid(encoder, 22 + 3 * 60)).slice(0, 4), ["previous…", "", "previous…", "uniform"]);
  const apart = [1000, 22 + 3 * 110, 22 + 3 * 60].map((width) => laid(encoder, width).across);
  assert.deepEqual(apart, [6 + 140, 110, 60]); // no further than the largest thumbnails
  for (const { texts } of [
    ...laid(encoder, 22 + 3 * 53).placed,
    ...laid(cross, 1000).placed,
    ...laid(unknown, 1000).placed,
  ]) {
    assert.deepEqual(texts, []);
  }
});

test("no text of a head reaches into the next one or out of the view, however wide that is", () => {
  const few = { ...encoder, figures: { ...encoder.figures, entropy: Array(6).fill(0.5) } };
  for (const attention of [few, many]) {
    for (const sort of ["place", "role", "entropy"]) {
      for (let width = 250; width < 1800; width += 50) {
        const layout = laid(attention, width, sort);
        for (const { corner, texts } of layout.placed) {
          for (const text of texts) {
            const [from, to] = [-1, 1].map((side) => corner[0] + layout.side / 2 + (side * wide(text)) / 2);
            assert.ok(wide(text) < layout.across, `${text} at ${width}, ${sort}`);
            assert.ok(from >= 0 && to <= width, `${text} from ${from} to ${to} at ${width}, ${sort}`);
          }
          assert.ok(corner[0] >= 0 && corner[0] + layout.side <= width);
        }
      }
    }
  }
});

test("all heads are seen at once unless their thumbnails would be too small", () => {
  const four = {
    ...encoder,
    layers: 4,
    heads: 8,
    figures: {},
    roles: Array(32).fill("next"),
    shares: undefined,
  };
  for (const width of [900, 1400]) {
    for (const high of [400, 520, 640]) {
      const { height, side, placed, tall } = laid(four, width, "place", high);
      assert.ok(height <= high && side >= 56, `${height} of ${high}`);
      assert.ok(Math.max(...placed.map(({ corner }) => corner[1] + tall)) <= high);
    }
  }
  assert.equal(laid(four, 1400, "place", 200).side, laid(four, 1400).side);
});

test("sorted by role, the heads of each stand under its name, in rows of their own", () => {
  const { placed, headings, height } = laid(encoder, 300, "role");
  assert.deepEqual(
    headings.map(({ text }) => text),
    ["itself 1", "previous token 3", "uniform 1", "no fixed pattern 1"],
  );
  assert.deepEqual(
    placed.map(({ number }) => number),
    [4, 2, 5, 0, 3, 1],
  );
  assert.deepEqual(
    placed.map(({ texts }) => texts.join(" ")),
    ["L2 H2 62%", "L1 H3 100%", "L2 H3 54%", "L1 H1 41%", "L2 H1 95%", "L1 H2 "],
  );
  const sections = [...headings.slice(1).map(({ y }) => y), height];
  const sectionOf = ({ corner: [, y] }) => sections.findIndex((end) => y < end);
  assert.deepEqual(placed.map(sectionOf), [0, 1, 1, 1, 2, 3]);
});

test("arrows lead to the next head in the order, and to the nearest one in the next row", () => {
  const layout = laid(encoder, 300, "role"); // 4 | 2 5 0 | 3 | 1
  const steps = {
    ArrowRight: [1, 2, 3, 4, 5],
    ArrowDown: [1, 4, 4, 4, 5],
    ArrowLeft: [undefined, 0, 1, 2, 3],
  };
  for (const [key, places] of Object.entries(steps)) {
    assert.deepEqual(
      places.map((_, place) => neighbour(layout, place, key)),
      places,
      key,
    );
  }
  assert.deepEqual(
    [0, 3, 4].map((place) => neighbour(layout, place, "ArrowUp")),
    [undefined, 0, 1],
  );
  assert.deepEqual(
    ["ArrowRight", "ArrowDown"].map((key) => neighbour(layout, 5, key)),
    [undefined, undefined],
  );
  const rows = laid(many, 1000);
  assert.deepEqual([neighbour(rows, 13, "ArrowUp"), neighbour(rows, 13, "ArrowDown")], [1, 25]);
});
