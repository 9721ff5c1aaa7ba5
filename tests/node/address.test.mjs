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

test("what the address chooses is kept for other pages, until one goes back in the history", async () => {
  const [{ forget, kept, start }] = await opened("?layer=3&head=2");
  start("m");
  assert.deepEqual(kept(), { model: "m", kind: null, layer: 2, head: 1 });
  forget();
  assert.equal(kept(), null);
  const [other] = await opened("?view=lines");
  other.start("m");
  assert.equal(other.kept(), null);
});

test("an address is read as counted by people, and what does not exist in it is left out", async () => {
  const [{ start }] = await opened("?kind=cross&layer=3&head=2&view=lines");
  assert.deepEqual(start("m"), { model: "m", kind: "cross", layer: 2, head: 1, view: "lines" });
  for (const search of ["", "?layer=x&head=-4&view=all", "?layer=0&view=%3Cb%3E"]) {
    const [made] = await opened(search);
    assert.deepEqual(made.start("m"), { kind: null, layer: null, head: null });
  }
});

test("a selection is written to the address beside what else is there, and again after it was overwritten", async () => {
  const [{ kept, remember, start, write }, window] = await opened("?model=m&lang=zh");
  assert.equal(kept(), null);
  write();
  assert.equal(window.location.search, "?model=m&lang=zh");
  remember({ model: "m", kind: "encoder", layer: 1, head: 0, view: "grid" });
  const written = "?model=m&lang=zh&kind=encoder&layer=2&head=1&view=grid";
  assert.equal(window.location.search, written);
  window.location = { href: "http://page/attention?model=m&lang=zh", search: "?model=m&lang=zh" };
  write();
  assert.equal(window.location.search, written);
  assert.deepEqual(start("m"), { model: "m", kind: "encoder", layer: 1, head: 0, view: "grid" });
});

test("the address says whether the page is drawn for a projector, which a selection leaves as it is", async () => {
  const [{ isProjected, remember }, window] = await opened("?model=m&projector=1");
  assert.equal(isProjected(), true);
  remember({ model: "m", kind: "encoder", layer: 1, head: 0, view: "grid" });
  assert.match(window.location.search, /projector=1/);
  for (const search of ["", "?projector=0"]) assert.equal((await opened(search))[0].isProjected(), false);
});

test("the selection in one model is none in another", async () => {
  const [{ kept, remember, start }] = await opened("?model=m");
  remember({ model: "m", kind: "encoder", layer: 1, head: 0, view: "grid" });
  globalThis.window.location = { href: "http://page/attention?model=n", search: "?model=n" };
  assert.deepEqual(start("n"), { kind: null, layer: null, head: null });
  assert.equal(kept(), null);
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
