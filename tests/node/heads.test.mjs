import assert from "node:assert/strict";
import { test } from "node:test";
import { VIEWS } from "./setup.mjs";

const { arrangedIn } = await import(`${VIEWS}/heads.js`);

const LARGE = 44; // pixels of a thumbnail that shows enough
const GAP = 6;

/** Return so many kinds of attention. */
const kindsOf = (kinds, layers, heads, size = {}) =>
  Array.from({ length: kinds }, () => ({ layers, heads, queries: 7, keys: 7, ...size }));

/** Call with every arrangement of some models in some rooms. */
function each(check) {
  for (const kinds of [1, 2, 3]) {
    for (const [layers, heads] of [
      [1, 1],
      [1, 2],
      [2, 3],
      [2, 4],
      [1, 8],
      [6, 8],
      [12, 12],
      [24, 16],
      [32, 32],
    ]) {
      for (const size of [{}, { queries: 2, keys: 40 }, { queries: 40, keys: 2 }]) {
        for (const width of [138, 278, 346]) {
          for (const height of [60, 220, 420, 800, 1400]) {
            const all = kindsOf(kinds, layers, heads, size);
            check(arrangedIn(all, { width, height }), all, { width, height });
          }
        }
      }
    }
  }
}

test("few heads in much room stand in one row, in the largest thumbnails, with their roles, in a card for each kind", () => {
  const arranged = arrangedIn(kindsOf(3, 1, 4), { width: 352, height: 900 });
  assert.deepEqual([arranged.cards, arranged.across, arranged.named], [true, 4, true]);
  assert.ok(arranged.side >= 70);
  const alone = arrangedIn(kindsOf(1, 2, 3), { width: 352, height: 900 });
  assert.deepEqual(alone, { cards: true, across: 3, side: 84, named: true });
});

test("there is a card for each kind only if all fit, else there are tabs", () => {
  const all = kindsOf(3, 2, 4);
  const arranged = [1400, 1000, 700, 500, 400].map((height) => arrangedIn(all, { width: 352, height }));
  const cards = arranged.map((each) => each.cards);
  assert.deepEqual([cards[0], cards.at(-1)], [true, false]);
  assert.deepEqual(
    cards,
    [...cards].sort((a, b) => Number(b) - Number(a)),
  ); // less room never brings the cards back
  assert.ok(arranged.every(({ side }) => side >= LARGE)); // what tabs are for
});

test("thumbnails are large if that fits, and small ones fit where large ones do not", () => {
  const all = kindsOf(1, 6, 8);
  const [much, little] = [1800, 420].map((height) => arrangedIn(all, { width: 352, height }));
  assert.ok(much.side >= LARGE && much.named);
  assert.ok(little.side < LARGE && !little.named);
  assert.equal(little.across, 8);
});

test("very many heads stand in few rows, in thumbnails that can still be pressed", () => {
  for (const [layers, heads, across] of [
    [12, 12, 6],
    [24, 16, 8],
    [32, 32, 11],
  ]) {
    const arranged = arrangedIn(kindsOf(1, layers, heads), { width: 352, height: 620 });
    assert.equal(arranged.across, across);
    assert.ok(arranged.side >= 24);
  }
});

test("one kind of attention has no tabs, however little room there is", () => {
  each((arranged, all) => assert.ok(arranged.cards || all.length > 1));
});

test("no row of heads is wider than its room, or than there are heads", () => {
  each(({ across, cards, side }, all, { width }) => {
    assert.ok(across <= all[0].heads);
    assert.ok(
      across * side + (across - 1) * GAP + (cards && all.length > 1 ? 22 : 0) <= width + 1e-9,
      `${across} of ${side} in ${width}`,
    );
    assert.ok(side > 0 && side <= 84);
  });
});

test("a role stands only under a thumbnail that is wide enough for it", () => {
  each(({ side, named }) => assert.equal(named, side >= 56));
});

test("more height never makes thumbnails of as many in a row smaller", () => {
  for (const [layers, heads] of [
    [2, 4],
    [6, 8],
    [12, 12],
  ]) {
    const all = kindsOf(2, layers, heads);
    let largest = 0;
    for (let height = 100; height < 8000; height += 100) {
      const { side } = arrangedIn(all, { width: 352, height });
      if (side >= LARGE) largest ||= height;
      else assert.equal(largest, 0, `${side} at ${height}, but large at ${largest}`);
    }
    assert.ok(largest);
  }
});
