import assert from "node:assert/strict";
import { test } from "node:test";
import { VIEWS } from "./setup.mjs";

/** Load the module anew, on a page with an address. */
async function opened(search) {
  const window = { location: { href: `http://page/attention${search}`, search }, history: { state: { own: 1 } } };
  window.history.replaceState = (state, _title, address) => {
    assert.equal(state, window.history.state);
    window.location = { href: address.href, search: address.search };
  };
  globalThis.window = window;
  return [await import(`${VIEWS}/address.js?${Math.random()}`), window];
}

test("an address is read as counted by people, and what does not exist in it is left out", async () => {
  const [{ start }] = await opened("?kind=cross&layer=3&head=2&view=lines");
  assert.deepEqual(start(), { kind: "cross", layer: 2, head: 1, view: "lines" });
  for (const search of ["", "?layer=x&head=-4&view=all", "?layer=0&view=%3Cb%3E"]) {
    const [made] = await opened(search);
    assert.deepEqual(made.start(), { kind: null, layer: 0, head: 0 });
  }
});

test("a selection is written to the address beside what else is there, and again after it was overwritten", async () => {
  const [{ kept, remember, start, write }, window] = await opened("?model=m&lang=zh");
  assert.equal(kept(), null);
  write();
  assert.equal(window.location.search, "?model=m&lang=zh");
  remember({ kind: "encoder", layer: 1, head: 0, view: "grid" });
  const written = "?model=m&lang=zh&kind=encoder&layer=2&head=1&view=grid";
  assert.equal(window.location.search, written);
  window.location = { href: "http://page/attention?model=m&lang=zh", search: "?model=m&lang=zh" };
  write();
  assert.equal(window.location.search, written);
  assert.deepEqual(start(), { kind: "encoder", layer: 1, head: 0, view: "grid" });
});

test("widgets take the selection of the views when they appear, and give theirs afterwards", async () => {
  await opened("?kind=encoder");
  const { default: choice } = await import(`${VIEWS}/choice.js`);
  const { keep, kept } = await import(`${VIEWS}/address.js`);
  const sent = [];
  const show = (parentElement, data) => choice({ data, parentElement, setStateValue: (name, value) => sent.push([name, value]) });
  const first = {};
  show(first, { kind: "encoder", layer: 0, head: 0 });
  assert.deepEqual([sent, kept()], [[], { kind: "encoder", layer: 0, head: 0 }]);
  keep({ layer: 1 });
  show({}, { kind: "encoder", layer: 0, head: 0 });
  assert.deepEqual(sent, [["chosen", { kind: "encoder", layer: 1, head: 0 }]]);
  show(first, { kind: "encoder", layer: 0, head: 2 });
  assert.equal(sent.length, 1);
  assert.deepEqual(kept(), { kind: "encoder", layer: 0, head: 2 });
});

test("who follows the selection is told of each change, until it is no longer wanted", async () => {
  const [{ follow, remember }] = await opened("");
  const told = [];
  follow(() => told.push("first") > 0);
  follow(() => told.push("second") < 3);
  remember({ head: 1 });
  remember({ head: 2 });
  remember({ head: 3 });
  assert.deepEqual(told, ["first", "second", "first", "second", "first"]);
});
