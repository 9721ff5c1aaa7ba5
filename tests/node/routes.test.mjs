import assert from "node:assert/strict";
import { test } from "node:test";
import { VIEWS } from "./setup.mjs";

const MEGABYTE = 2 ** 20;
const QUESTION = { model: "m", text: "a", target: "", changes: {}, before: null, filled: [], looks: [] };
const HEADER = { state: QUESTION, key: "k1", bytes: 0 };
const CONTENT = new Uint8Array([10, 0, 123, 10, 255]); // with newlines, as bytes may be

/** Load the module anew; the server answers with `respond`. */
async function opened(respond) {
  globalThis.document = { baseURI: "http://page/base/" };
  const asked = [];
  globalThis.fetch = async (address, { method = "GET", body, headers, signal }) => {
    const question = body === undefined ? undefined : JSON.parse(body);
    asked.push({ address: String(address), method, question, token: headers["X-Token"], signal });
    return respond(asked.length);
  };
  return { ...(await import(`${VIEWS}/routes.js?${Math.random()}`)), asked };
}

/** Return a response whose body arrives in pieces of a size. */
function streamed(lines, content = new Uint8Array(0), size = 7) {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const whole = new Uint8Array([...new TextEncoder().encode(text), ...content]);
  const body = new ReadableStream({
    start(controller) {
      for (let at = 0; at < whole.length; at += size) controller.enqueue(whole.slice(at, at + size));
      controller.close();
    },
  });
  return { ok: true, status: 200, body };
}

test("an answer is lines of JSON and bytes, in whatever pieces they arrive", async () => {
  const progress = [
    { said: "正在计算……", share: 0.5 },
    { said: "…", share: 1 },
  ];
  for (const size of [1, 2, 7, 1000]) {
    const header = { ...HEADER, bytes: CONTENT.length };
    const { ROUTES } = await opened(() => streamed([...progress, header], CONTENT, size));
    const told = [];
    const answer = await ROUTES.ask(QUESTION, { tell: (line) => told.push(line) });
    assert.deepEqual(told, progress);
    assert.deepEqual(answer, { header, bytes: CONTENT });
  }
});

test("a question is sent as JSON with the token, to the data routes beside the page", async () => {
  const { ROUTES, asked } = await opened(() => streamed([HEADER]));
  ROUTES.token = "secret";
  const { signal } = new AbortController();
  await ROUTES.ask(QUESTION, { act: { do: "compare" }, live: true, signal });
  assert.deepEqual(asked, [
    {
      address: "http://page/base/data/ask",
      method: "POST",
      question: { ...QUESTION, act: { do: "compare" }, live: true },
      token: "secret",
      signal,
    },
  ]);
});

test("what was answered is known, whatever else was asked since", async () => {
  const { ROUTES, asked } = await opened((number) => streamed([{ ...HEADER, key: `k${number}` }]));
  assert.equal(ROUTES.known(QUESTION), null);
  const first = await ROUTES.ask(QUESTION);
  await ROUTES.ask({ ...QUESTION, text: "b" });
  assert.equal(ROUTES.known({ ...QUESTION }), first);
  assert.equal(ROUTES.known({ ...QUESTION, text: "c" }), null);
  assert.equal(asked.length, 2);
});

test("what an act leads to is known under what is asked then", async () => {
  const state = { ...QUESTION, changes: { ablate: [[0, 1]] } };
  const { ROUTES } = await opened(() => streamed([{ ...HEADER, state }]));
  const answer = await ROUTES.ask(QUESTION, { act: { do: "head" } });
  assert.equal(ROUTES.known(QUESTION), null);
  assert.equal(ROUTES.known({ ...QUESTION, ...state }), answer);
});

test("an answer without a key, or without a part that breaks it, is asked for again", async () => {
  for (const header of [
    { state: QUESTION, problem: "It failed.", bytes: 0 },
    { ...HEADER, left_out: "Without looks." },
  ]) {
    const { ROUTES } = await opened(() => streamed([header]));
    await ROUTES.ask(QUESTION);
    assert.equal(ROUTES.known(QUESTION), null);
  }
});

test("of more than the browser keeps, what was used longest ago is forgotten", async () => {
  const { ROUTES } = await opened(() => null);
  const texts = ["a", "b", "c"];
  const of = (text) => ({ ...QUESTION, text });
  const keep = (text, size) => ROUTES.keep(of(text), { header: HEADER, bytes: { length: size * MEGABYTE } });
  keep("a", 40);
  keep("b", 40);
  ROUTES.known(of("a"));
  keep("c", 40);
  assert.deepEqual(
    texts.map((text) => Boolean(ROUTES.known(of(text)))),
    [true, false, true],
  );
  keep("a", 40);
  keep("a", 40); // the same again takes no more
  assert.ok(ROUTES.known(of("c")));
  keep("d", 500); // the last one is kept, however large
  assert.deepEqual(
    [...texts, "d"].map((text) => Boolean(ROUTES.known(of(text)))),
    [false, false, false, true],
  );
});

test("a server that does not answer this page is said to refuse", async () => {
  for (const response of [
    { ok: false, status: 403 },
    streamed([{ refused: "Too much at once." }]),
    streamed([{ said: "…", share: 0 }]),
    streamed([]),
  ]) {
    const { ROUTES, RefusedError } = await opened(() => response);
    await assert.rejects(ROUTES.ask(QUESTION), RefusedError);
    assert.equal(ROUTES.known(QUESTION), null);
  }
});

test("the vectors of a layer are asked for by the key of the run", async () => {
  const { ROUTES, asked } = await opened(() => ({ ok: true, arrayBuffer: async () => CONTENT.buffer }));
  assert.deepEqual(await ROUTES.vectors("k1", "cross", 2), CONTENT);
  assert.deepEqual([asked[0].address, asked[0].method], ["http://page/base/data/vectors/k1/cross/2", "GET"]);
});

test("a file has the name that the server gives it, and is asked for with the selection", async () => {
  const headers = new Headers({
    "content-disposition": "attachment; filename*=utf-8''%E6%B5%8B-attention.csv",
  });
  const { ROUTES, asked } = await opened(() => ({ ok: true, headers, blob: async () => "content" }));
  assert.deepEqual(await ROUTES.file("k1", "csv", { start: { head: 1 } }), ["content", "测-attention.csv"]);
  assert.deepEqual(
    [asked[0].address, asked[0].question],
    ["http://page/base/data/save/k1/csv", { start: { head: 1 } }],
  );
});

test("telling what is shown disturbs nobody if it fails", async () => {
  const { ROUTES, asked } = await opened(() => ({ ok: false, status: 403 }));
  await ROUTES.show({ text: "a" });
  assert.deepEqual([asked[0].address, asked[0].question], ["http://page/base/data/shown", { text: "a" }]);
});
