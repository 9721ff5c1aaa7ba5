import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, Ruler, randoms, VIEWS } from "./setup.mjs";

const { fill, fitted, percent, stride, widest } = await import(`${VIEWS}/text.js`);
const ruler = new Ruler();

test("a fitted text is never wider than its room, and is the whole text or its longest beginning", () => {
  const random = randoms();
  for (let i = 0; i < 300; i++) {
    const text = Array.from({ length: Math.floor(20 * random()) }, () => (random() < 0.5 ? "a" : "好")).join(
      "",
    );
    const room = 120 * random();
    const cut = fitted(ruler, text, room);
    assert.ok(ruler.measureText(cut).width <= room || cut === "");
    if (cut === text) continue;
    assert.ok(ruler.measureText(text).width > room);
    const kept = cut.replace("…", "");
    assert.ok(text.startsWith(kept));
    assert.ok(ruler.measureText(`${text.slice(0, kept.length + 1)}…`).width > room);
  }
});

test("a weight is a percentage with one decimal, and only nothing is 0%", () => {
  const shares = [0, 1, 0.5, 0.9595, 0.0449, 0.0004, -0.25, -0.0001];
  const written = ["0%", "100%", "50%", "96%", "4.5%", "<0.1%", "−25%", "−<0.1%"];
  assert.deepEqual(shares.map(percent), written);
  assert.deepEqual(
    expected.percents.map(([share]) => percent(share)),
    expected.percents.map(([, text]) => text),
  );
});

test("the widest text is measured, up to a limit", () => {
  assert.equal(widest(ruler, ["a", "aaa", "aa"], 100), 15);
  assert.equal(widest(ruler, ["a", "a".repeat(50)], 100), 100);
  assert.equal(widest(ruler, [], 100), 0);
});

test("labels that are a stride apart do not overlap, and a smaller stride would", () => {
  const random = randoms();
  for (let i = 0; i < 300; i++) {
    const [step, needed] = [0.1 + 30 * random(), 40 * random()];
    const every = stride(step, needed);
    assert.ok(every * step >= needed);
    assert.ok(every === 1 || (every - 1) * step < needed);
  }
});

test("names in a sentence are replaced once, whatever is in their place", () => {
  assert.equal(fill("“{a}” → “{b}” {c}", { a: "{b}", b: "$&" }), "“{b}” → “$&” {c}");
  assert.equal(fill("{count} others", { count: 0 }), "0 others");
});
