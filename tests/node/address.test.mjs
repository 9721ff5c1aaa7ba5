import assert from "node:assert/strict";
import { test } from "node:test";
import { VIEWS } from "./setup.mjs";

/** Load the module anew, on a page with an address. */
async function opened(search) {
  const window = {
    location: { href: `http://page/attention${search}`, search },
    history: { state: { own: 1 } },
  };
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

test("value, scale, order and pinned cell are written unless they are the usual ones, and read again", async () => {
  const [{ remember, start }, window] = await opened("?model=m");
  const head = { model: "m", kind: "encoder", layer: 0, head: 0, view: "grid" };
  const special = { value: "scores", scale: "one", sort: "even", pinned: { query: 4, key: 2 } };
  remember({ ...head, ...special });
  const written = "&value=scores&scale=one&sort=even&cell=5-3";
  assert.equal(window.location.search, `?model=m&kind=encoder&layer=1&head=1&view=grid${written}`);
  remember({ value: "weights", scale: "head", sort: "place", pinned: { query: null, key: null } });
  assert.equal(window.location.search, "?model=m&kind=encoder&layer=1&head=1&view=grid");
  assert.deepEqual(start("m"), { ...head, value: "weights", scale: "head", sort: "place" });
  const [again] = await opened(`?model=m&kind=encoder&layer=1&head=1&view=grid${written}`);
  assert.deepEqual(again.start("m"), { ...head, ...special });
});

test("what is pinned is forgotten when the views open again: the text may be another one", async () => {
  const [{ remember, start, write }, window] = await opened("?model=m");
  remember({ model: "m", kind: "encoder", layer: 0, head: 0, value: "norms", pinned: { query: 1, key: 0 } });
  assert.match(window.location.search, /&value=norms&cell=2-1$/);
  assert.equal(start("m").pinned, undefined);
  write();
  assert.match(window.location.search, /&value=norms$/);
});

test("a query or a key can be pinned alone; what is none is left out", async () => {
  for (const [cell, query, key] of [
    ["5-", 4, null],
    ["-3", null, 2],
  ]) {
    const [{ remember, start }, window] = await opened(`?cell=${cell}`);
    assert.deepEqual(start("m").pinned, { query, key });
    remember({ model: "m", kind: "encoder", layer: 0, head: 0, pinned: { query, key } });
    assert.equal(new URLSearchParams(window.location.search).get("cell"), cell);
  }
  for (const cell of ["-", "0-1", "5", "a-b", "1-2-3", "9999999-1"]) {
    const [{ start }] = await opened(`?layer=1&cell=${cell}&value=before&scale=two`);
    assert.deepEqual(start("m"), { model: "m", kind: null, layer: 0, head: null });
  }
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
