import assert from "node:assert/strict";
import { test } from "node:test";
import { all, button, ofClass, textOf, tree } from "./drawn.mjs";
import { VIEWS } from "./setup.mjs";

const { ROUTES } = await import(`${VIEWS}/routes.js`);

/** Sentences that name themselves, with what is filled in. */
const WORDS = new Proxy(
  {
    "bench.take_away": "Take {word} away",
    "runs.changes.one": "1 change",
    "runs.changes.other": "{count} changes",
  },
  { get: (texts, key) => texts[key] ?? key },
);
const TOLD = {
  ...{
    token: "t",
    model: "small",
    stamp: "s",
    firstLesson: null,
    language: "en",
    examples: ["A film.", "A plot."],
    hasTarget: false,
  },
  ...{ page: "attention", isLive: true, lesson: null, opened: null, projected: false, words: WORDS },
};
const SAID = {
  ...{
    target: "",
    leaves_out: true,
    stands_in: "[UNK]",
    restored: [],
    answer: [],
    gaps: [],
    notes: [],
    looks: [],
  },
  ...{ ablations: "", explains: false, why_not: "" },
};
const RUN = { target: "", changes: {}, before: null, filled: [] };

const ask = ROUTES.ask.bind(ROUTES);
let pending = 0;
ROUTES.ask = (...asked) => {
  pending++;
  return ask(...asked).finally(() => pending--);
};

/** Wait, and until all that has been asked then is answered. */
async function settled(milliseconds = 0) {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  for (let calm = 0; calm < 3; calm = pending ? 0 : calm + 1)
    await new Promise((resolve) => setTimeout(resolve));
}

/** The words of a text, between blanks; each is a token. */
const spans = (text) =>
  [...text.matchAll(/\S+/g)].map((found, i) => ({
    ...{ start: found.index, end: found.index + found[0].length },
    ...{ tokens: [i], gap: found[0] === "[MASK]" },
  }));

class Part extends EventTarget {
  className = "";
  classList = { toggle() {} };
  append() {}
  dataset = {};
  querySelector = () => null;
  querySelectorAll = () => [];
  closest = () => null;
}

/** Press a key on an element within another. */
function pressKey(element, key, target) {
  const event = Object.assign(new Event("keydown", { cancelable: true }), { key });
  Object.defineProperty(event, "target", { value: target });
  element.dispatchEvent(event);
}

/**
 * Open a workbench on a page with an address, on a server that shows what is asked.
 *
 * @param {string} search
 * @param {{told?: object, said?: object, header?: (question: object) => object, experiment?: (question: object) => object}}
 *   [how] header: the last line of an answer; experiment: what it says of one.
 */
async function opened(search = "", { told = {}, said = {}, header = () => ({}), experiment } = {}) {
  const page = new EventTarget();
  const location = { href: `http://page/${search}`, search };
  const go = (_state, _title, address) =>
    Object.assign(location, { href: address.href, search: address.search });
  const entries = [];
  const history = {
    state: {},
    replaceState: go,
    pushState: (...to) => entries.push(location.search) && go(...to),
  };
  Object.assign(page, { location, history });
  globalThis.window = page;
  globalThis.localStorage = { getItem: () => null, setItem() {} };
  globalThis.document = Object.assign(new EventTarget(), {
    createElement: () => new Part(),
    body: new Part(),
    baseURI: "http://page/",
  });
  globalThis.HTMLElement = Part;
  globalThis.Element = Part;
  for (const name of ["HTMLInputElement", "HTMLSelectElement", "HTMLTextAreaElement"]) {
    globalThis[name] = class extends Part {};
  }
  globalThis.ResizeObserver = class {
    observe() {}
    disconnect() {}
  };
  ROUTES.answers.clear();
  const asked = [];
  const noted = [];
  const sent = [];
  ROUTES.fetched = async (path, body, signal) => {
    if (path !== "ask") return noted.push([path, body]) && { ok: true };
    asked.push({ ...JSON.parse(JSON.stringify(body)), signal });
    const { model, text, target, changes, before, filled } = body;
    const state = { model, text, target, changes, before, filled };
    const made = { state, key: `k${asked.length}`, ...header(body) };
    const menu = body.experiment ? { experiment: experiment(body.experiment) } : {};
    const shown = { ...SAID, text: made.state.text, words: spans(made.state.text), ...said, ...menu };
    const content = made.problem || made.hint || made.busy || body.wants ? "" : JSON.stringify(shown);
    const line = `${JSON.stringify({ ...made, bytes: content.length })}\n${content}`;
    return { body: new Blob([line]).stream() };
  };
  let last = null;
  const lens = { host: null, view: "masking", enlarged: [] };
  globalThis.mountLens = (_root, bytes, host) => {
    lens.host = host;
    const update = (next) => {
      last = JSON.parse(new TextDecoder().decode(next));
    };
    update(bytes);
    const choice = {
      view: () => lens.view,
      open: (view) => Object.assign(lens, { view }),
      project: (projected) => lens.enlarged.push(projected),
      shape: () => ({ queries: 2, keys: 2 }),
    };
    return { update, said: () => last, receive() {}, keep() {}, destroy() {}, ...choice };
  };
  const root = new Part();
  const parts = [];
  root.append = (...added) => parts.push(...added);
  const parentElement = { querySelector: () => root };
  const { default: mount } = await import(`${VIEWS}/workbench.js?${Math.random()}`);
  const update = async (more = {}) => {
    Object.assign(told, more);
    const data = { ...TOLD, ...told };
    const tell = {
      setStateValue: (...value) => sent.push(value),
      setTriggerValue: (...value) => sent.push(value),
    };
    const leave = mount({ parentElement, data, ...tell });
    await settled();
    return leave;
  };
  const leave = await update();
  return {
    ...{ asked, noted, sent, entries, location, page, update, leave, lens, top: parts[0] },
    drawn: () => tree(parts[0].drawn),
    last: () => asked.at(-1),
    press: async (text) => {
      const event = { target: null };
      button(tree(parts[0].drawn), text).attributes["@click"](event);
      await settled();
    },
    word: (text) => {
      const found = all(tree(parts[0].drawn), "span", (each) => each.attributes["data-word"] !== undefined);
      return found.find((each) => textOf([each]) === text);
    },
  };
}

const run = ({ model, text, target, changes, before }) => ({ model, text, target, changes, before });
const parts = (search) => Object.fromEntries(new URLSearchParams(search));

/** Press a word, and choose what is done with it. */
async function pressWord(bench, text, choice) {
  bench.word(text).attributes["@click"]();
  await settled();
  if (choice) await bench.press(choice);
}

/** Find an element by the one selector that it matches. */
function only(own) {
  return function (selector) {
    return selector === own ? this : null;
  };
}

/** Type into the box and press Enter. */
async function say(bench, text) {
  await bench.press("✎ bench.edit");
  const [box] = all(bench.drawn(), "textarea");
  const typed = Object.assign(new HTMLTextAreaElement(), { value: text, closest: only("textarea") });
  box.attributes["@input"]({ target: typed });
  pressKey(bench.top, "Enter", typed);
  await settled();
}

test("without an address, the model's first example is asked for, unchanged", async () => {
  const { asked, location, word } = await opened();
  assert.equal(asked.length, 1);
  const { signal, ...question } = asked[0];
  const around = { looks: [], ablates: false, stamp: "s", language: "en", lesson: "", revealed: false };
  assert.deepEqual(question, { model: "small", text: "A film.", ...RUN, ...around });
  assert.equal(location.search, "");
  assert.ok(word("film."));
});

test("an address opens the run that it says, and keeps it", async () => {
  const before = { model: "small", text: "A plot.", changes: {} };
  const address = {
    ...{ text: "A dull film.", target: "one two", looks: "words.mean", effects: "1", why: "1" },
    ...{ changes: '{"ablate":[[0,1]]}', before: JSON.stringify(before), layer: "2" },
  };
  const search = `?${new URLSearchParams(address)}`;
  const { last, location } = await opened(search);
  const expected = {
    model: "small",
    text: "A dull film.",
    target: "one two",
    changes: { ablate: [[0, 1]] },
    before,
  };
  assert.deepEqual(run(last()), expected);
  assert.deepEqual([last().looks, last().ablates], [["words", "mean"], true]);
  const { why, ...others } = address; // as usual outside a lesson
  assert.deepEqual(parts(location.search), others);
});

test("what a bad link holds is left out", async () => {
  for (const bad of ["x", "[]", "5", "null", '"a"', "{", "true"]) {
    const { last } = await opened(`?${new URLSearchParams({ changes: bad, before: bad, looks: ".." })}`);
    assert.deepEqual(run(last()), { model: "small", text: "A film.", target: "", changes: {}, before: null });
    assert.deepEqual(last().looks, []);
  }
});

test("an empty text in the address is one; the hint of the server stands in its place", async () => {
  const bench = await opened("?text=", {
    header: () => ({ hint: "Type a sentence above.", key: undefined }),
  });
  assert.equal(bench.last().text, "");
  assert.equal(textOf(ofClass(bench.drawn(), "p", "hint")), "Type a sentence above.");
  assert.equal(all(bench.drawn(), "textarea").length, 1);
});

test("another text takes its target and what was filled in along, and is an entry of the history", async () => {
  const bench = await opened("?target=one", { told: { hasTarget: true } });
  await say(bench, "A dull\nplot.");
  assert.deepEqual([bench.last().text, bench.last().target, bench.last().filled], ["A dull plot.", "", []]);
  assert.deepEqual(parts(bench.location.search), { text: "A dull plot." });
  assert.deepEqual(bench.entries, ["?target=one"]);
});

test("the first example is not in the address, nor what is too long for it", async () => {
  const bench = await opened("?text=B");
  await bench.press("A film.");
  assert.deepEqual([bench.last().text, bench.location.search], ["A film.", ""]);
  await say(bench, "a".repeat(2001));
  assert.equal(bench.last().text.length, 2001);
  assert.equal(bench.location.search, "");
});

test("changes that are too long for the address are kept, and asked for", async () => {
  const changes = { cut: Array.from({ length: 500 }, (_, i) => [0, 0, i, 0]) };
  const header = ({ act, ...question }) => (act ? { state: { ...RUN, ...question, changes } } : {});
  const bench = await opened("?text=B", {
    header,
    said: { answer: [{ press: "Cut", act: { do: "edge" } }] },
  });
  await bench.press("Cut");
  await bench.press("Cut");
  assert.deepEqual(bench.last().changes, changes);
  assert.equal(parts(bench.location.search).changes, undefined);
});

test("back in the history of the browser, the run of that address is shown", async () => {
  const bench = await opened("?text=B");
  await say(bench, "C");
  Object.assign(bench.location, { href: "http://page/?text=B", search: "?text=B" });
  bench.page.dispatchEvent(new Event("popstate"));
  await settled();
  assert.equal(bench.asked.length, 2); // it is known
  assert.ok(bench.word("B"));
});

test("the first run has no earlier ones", async () => {
  const bench = await opened();
  assert.deepEqual(ofClass(bench.drawn(), "details", "earlier"), []);
});

/** Open a workbench, show a second text, and return it with the list of its runs. */
async function withRuns(how) {
  const bench = await opened("", how);
  await say(bench, "A dull story.");
  const rows = () => ofClass(ofClass(bench.drawn(), "details", "earlier"), "div", "run");
  const use = async (side, number) => {
    button([rows()[number]], side).attributes["@click"]({ target: null });
    await settled();
  };
  return { bench, rows, use };
}

test("earlier runs are listed, the latest first, each once, with model and number of changes", async () => {
  const { bench, rows } = await withRuns();
  const names = () => rows().map((row) => textOf(all([row], "span")));
  assert.deepEqual(names(), ["A dull story. · small", "A film. · small"]);
  await bench.press("A film.");
  assert.deepEqual(names(), ["A film. · small", "A dull story. · small"]);
  await say(bench, "x".repeat(60));
  assert.equal(names()[0], `${"x".repeat(48)} … · small`);
  for (let i = 0; i < 20; i++) await say(bench, `text ${i}`);
  assert.equal(names().length, 12);
  const changed = await withRuns({ header: () => ({}) });
  Object.assign(changed.bench.location, { search: '?changes={"ablate":[[0,1],[0,2]],"scaling":false}' });
  changed.bench.page.dispatchEvent(new Event("popstate"));
  await settled();
  assert.equal(textOf(all([changed.rows()[0]], "span")), "A film. · small · 3 changes");
});

test("an earlier run becomes A beside what is shown", async () => {
  const { bench, use } = await withRuns();
  await use("A", 1);
  const before = { model: "small", text: "A film.", target: "", changes: {} };
  assert.deepEqual(run(bench.last()), {
    model: "small",
    text: "A dull story.",
    target: "",
    changes: {},
    before,
  });
  assert.deepEqual(JSON.parse(parts(bench.location.search).before), before);
});

test("an earlier run becomes B of what was shown", async () => {
  const { bench, use } = await withRuns();
  await use("B", 1);
  assert.deepEqual([bench.last().text, bench.last().before.text], ["A film.", "A dull story."]);
});

test("B is chosen anew beside the same A", async () => {
  const { bench, use } = await withRuns();
  await use("A", 1);
  await say(bench, "A plot.");
  await use("B", 1);
  const { text, before } = parts(bench.location.search);
  assert.deepEqual([text, JSON.parse(before).text], ["A dull story.", "A film."]);
});

test("an earlier run of another model opens that one", async () => {
  const { bench, use } = await withRuns();
  await bench.update({ model: "other", examples: ["Other."] });
  await use("B", 1);
  assert.deepEqual(bench.sent, [["model", "small"]]);
  assert.equal(bench.last().model, "small");
  await bench.update({ model: "small", examples: TOLD.examples });
  assert.deepEqual([bench.last().model, bench.last().before.model], ["small", "other"]);
});

test("another model brings its own example unless something was typed", async () => {
  const bench = await opened();
  await bench.update({ model: "writer", examples: ["Once", "Twice"] });
  assert.deepEqual([bench.last().model, bench.last().text], ["writer", "Once"]);
  await say(bench, "A dull film");
  await bench.update({ model: "small", examples: TOLD.examples });
  assert.deepEqual([bench.last().model, bench.last().text], ["small", "A dull film"]);
});

test("changes made to one model are not made to another; the other run and the looks stay", async () => {
  const before = { model: "small", text: "B", changes: {} };
  const address = { changes: '{"ablate":[[0,1]]}', before: JSON.stringify(before), looks: "mean" };
  const bench = await opened(`?${new URLSearchParams(address)}`);
  await bench.update({ model: "other" });
  assert.deepEqual([bench.last().changes, bench.last().before, bench.last().looks], [{}, before, ["mean"]]);
});

test("another language or lesson is asked for anew, and nothing else is", async () => {
  const bench = await opened();
  await bench.update();
  await bench.update({ projected: true });
  assert.equal(bench.asked.length, 1);
  await bench.update({ language: "zh" });
  assert.equal(bench.last().language, "zh");
  await bench.update({ lesson: { name: "07", revealed: false } });
  assert.deepEqual([bench.last().lesson, bench.last().revealed], ["07", false]);
  await bench.update({ lesson: { name: "07", revealed: true } });
  assert.deepEqual([bench.last().lesson, bench.last().revealed, bench.asked.length], ["07", true, 4]);
});

test("what a lesson or another page opens is shown once", async () => {
  const bench = await opened();
  const run = { number: 1, ablates: true, text: "B", target: "", changes: '{"scaling":false}', before: "" };
  await bench.update({ opened: run });
  assert.deepEqual(
    [bench.last().text, bench.last().changes, bench.last().ablates],
    ["B", { scaling: false }, true],
  );
  await say(bench, "C");
  await bench.update({ opened: run });
  assert.equal(bench.last().text, "C");
});

test("a press on a word offers to take it away, and another brings it back", async () => {
  const said = { before: { text: "A lovely film", words: spans("A lovely film"), answer: [] } };
  const bench = await opened("?text=A+lovely+film");
  await pressWord(bench, "lovely", "Take lovely away");
  assert.deepEqual(bench.last().act, { do: "text", text: "A film" });
  const compared = await opened("?text=A+film", { said });
  assert.equal(compared.word("lovely").attributes["aria-pressed"], "true");
  await pressWord(compared, "lovely");
  assert.deepEqual(compared.last().act, { do: "undo", name: "text" });
  const two = await opened("?text=film", { said });
  await pressWord(two, "lovely");
  assert.deepEqual(two.last().act, { do: "text", text: "lovely film" });
});

test("a word is hidden by what stands for it: left out of the run, or written over with [MASK]", async () => {
  const bench = await opened("?text=A+lovely+film");
  await pressWord(bench, "lovely", "[UNK]");
  assert.deepEqual(bench.last().act, { do: "leave_out", tokens: [1] });
  const masked = await opened("?text=A+lovely+film", { said: { leaves_out: false, stands_in: "[MASK]" } });
  await pressWord(masked, "lovely", "[MASK]");
  assert.deepEqual(masked.last().act, { do: "hide", begin: 2, end: 8 });
});

test("a hidden word is brought back by a press: the one in the run, or what stood in place of [MASK]", async () => {
  const bench = await opened('?text=A+lovely+film&changes={"leave_out":[1]}');
  assert.equal(bench.word("lovely").attributes["aria-pressed"], "true");
  await pressWord(bench, "lovely");
  assert.deepEqual(bench.last().act, { do: "leave_out", tokens: [1] });
  const said = { leaves_out: false, stands_in: "[MASK]", restored: [[2, 8]] };
  const masked = await opened("?text=A+[MASK]+film", { said });
  await pressWord(masked, "[MASK]");
  assert.deepEqual(masked.last().act, { do: "restore", begin: 2, end: 8 });
});

test("a typed [MASK] hides nothing: a press offers what it offers for a word", async () => {
  const bench = await opened("?text=A+[MASK]+film", { said: { leaves_out: false, stands_in: "[MASK]" } });
  const asked = bench.asked.length;
  await pressWord(bench, "[MASK]");
  assert.equal(bench.asked.length, asked);
  assert.ok(button(bench.drawn(), "Take [MASK] away"));
});

test("the last word of all cannot be taken away by the key Delete while it is hidden", async () => {
  const bench = await opened('?text=film&changes={"leave_out":[0]}');
  const asked = bench.asked.length;
  const { attributes } = bench.word("film");
  const word = Object.assign(new Part(), { closest: only(".word") });
  word.dataset = { word: String(attributes["data-word"]) };
  pressKey(bench.top, "Delete", word);
  await settled();
  assert.equal(bench.asked.length, asked);
});

test("an act is about the run that is shown, not about what is being typed", async () => {
  const bench = await opened("?text=B", {
    said: { answer: [{ press: "append", act: { do: "append", token: "x" } }] },
  });
  await bench.press("✎ bench.edit");
  const [box] = all(bench.drawn(), "textarea");
  box.attributes["@input"]({ target: Object.assign(new HTMLTextAreaElement(), { value: "Something else" }) });
  await bench.press("append");
  assert.deepEqual([bench.last().text, bench.last().act], ["B", { do: "append", token: "x" }]);
});

test("while one types, the run follows word by word, and the address and the list of runs do not", async () => {
  const bench = await opened("?text=B");
  await bench.press("✎ bench.edit");
  const type = async (text) => {
    const [box] = all(bench.drawn(), "textarea");
    box.attributes["@input"]({ target: Object.assign(new HTMLTextAreaElement(), { value: text }) });
    await settled(60);
  };
  await type("A lov");
  assert.deepEqual([bench.last().text, bench.last().live], ["A", true]);
  await type("A love");
  assert.equal(bench.asked.length, 2);
  await type("A lovely film");
  assert.deepEqual([bench.last().text, bench.last().live], ["A lovely", true]);
  assert.equal(bench.location.search, "?text=B");
  assert.deepEqual(ofClass(bench.drawn(), "details", "earlier"), []);
  assert.equal(all(bench.drawn(), "textarea").length, 1);
});

test("nothing follows a model that writes its answer, nor a character that is being composed", async () => {
  for (const isLive of [true, false]) {
    const bench = await opened("?text=B", { told: { isLive } });
    await bench.press("✎ bench.edit");
    const [box] = all(bench.drawn(), "textarea");
    if (isLive) box.attributes["@compositionstart"]();
    box.attributes["@input"]({
      target: Object.assign(new HTMLTextAreaElement(), { value: "A lovely film" }),
    });
    await settled(60);
    assert.equal(bench.asked.length, 1);
  }
});

test("typing is followed again after Enter has ended a run that followed it", async () => {
  const bench = await opened("?text=B");
  const answer = ROUTES.fetched;
  ROUTES.fetched = (path, body, signal) =>
    body.text === "A lovely"
      ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("ended"))))
      : answer(path, body, signal);
  const type = async (text) => {
    await bench.press("✎ bench.edit");
    const [box] = all(bench.drawn(), "textarea");
    box.attributes["@input"]({ target: Object.assign(new HTMLTextAreaElement(), { value: text }) });
    await new Promise((resolve) => setTimeout(resolve, 60)); // one is never answered
  };
  await type("A lovely film");
  await say({ ...bench, press: async () => {} }, "A film");
  assert.deepEqual([bench.last().text, bench.last().live], ["A film", undefined]);
  await type("One more film");
  assert.deepEqual([bench.last().text, bench.last().live], ["One more", true]);
});

test("a run that others keep waiting is asked for again", async () => {
  let busy = true;
  const bench = await opened("?text=B", {
    header: ({ live }) => (live && busy ? { busy: true, key: undefined } : {}),
  });
  await bench.press("✎ bench.edit");
  const [box] = all(bench.drawn(), "textarea");
  box.attributes["@input"]({ target: Object.assign(new HTMLTextAreaElement(), { value: "A lovely film" }) });
  await settled(60);
  busy = false;
  await settled(420);
  assert.deepEqual(
    bench.asked.slice(1).map(({ text }) => text),
    ["A lovely", "A lovely"],
  );
});

test("the server is told what is shown if it was not asked for it", async () => {
  const bench = await opened("?text=B");
  await say(bench, "C");
  await say(bench, "B");
  assert.equal(bench.asked.length, 2);
  await settled(320);
  assert.deepEqual(bench.noted, [["shown", { text: "B", target: "", changes: "", before: "" }]]);
});

test("whoever asks for something else ends the former work", async () => {
  const bench = await opened("?text=B");
  const [{ signal }] = bench.asked;
  assert.equal(signal.aborted, false);
  await say(bench, "C");
  assert.equal(signal.aborted, true);
  bench.leave();
  assert.equal(bench.last().signal.aborted, true);
});

test("a call of the page that another has overtaken does not end the workbench", async () => {
  const bench = await opened("?text=B");
  const leave = await bench.update({ projected: true });
  bench.leave();
  await say(bench, "C");
  assert.equal(bench.last().signal.aborted, false);
  leave();
  assert.equal(bench.last().signal.aborted, true);
});

test("what was left out is said, and gone from what is asked and from the address", async () => {
  const header = ({ looks }) =>
    looks.length ? { left_out: "Without looks.", looks: [], ablates: false } : {};
  const bench = await opened("?text=B&looks=mean", { header });
  assert.equal(textOf(ofClass(bench.drawn(), "p", "problem")), "Without looks.");
  assert.equal(bench.location.search, "?text=B");
  await say(bench, "C");
  assert.deepEqual(bench.last().looks, []);
});

test("a problem stands there with ways out of it", async () => {
  const before = JSON.stringify({ model: "small", text: "C", changes: {} });
  const header = () => ({ problem: "It cannot be read.", key: undefined });
  const bench = await opened(`?${new URLSearchParams({ text: "B", before })}`, { header });
  const [said] = ofClass(bench.drawn(), "p", "problem");
  assert.ok(textOf([said]).startsWith("It cannot be read."));
  await bench.press("change.undo_all");
  assert.deepEqual(bench.last().act, { do: "undo_all" });
  await bench.press("change.end");
  assert.deepEqual(bench.last().act, { do: "end" });
});

test("a server that refuses or is gone is named as such", async () => {
  const bench = await opened("?text=B");
  const { RefusedError } = await import(`${VIEWS}/routes.js`);
  for (const [error, sentence] of [
    [new RefusedError("403"), "bench.refused"],
    [new TypeError("Failed to fetch"), "bench.unreachable"],
  ]) {
    ROUTES.fetched = () => Promise.reject(error);
    await say(bench, `text ${sentence}`);
    assert.ok(textOf(ofClass(bench.drawn(), "p", "problem")).startsWith(sentence));
  }
});

test("of the looks that combine heads one is on, and each is in the address", async () => {
  const looks = ["words", "mean", "max", "rollout"].map((name) => [name, name]);
  const bench = await opened("?text=B", { said: { looks } });
  await bench.press("words");
  await bench.press("mean");
  await bench.press("max");
  assert.deepEqual([bench.last().looks, parts(bench.location.search).looks], [["words", "max"], "words.max"]);
  await bench.press("max");
  assert.deepEqual(parts(bench.location.search).looks, "words");
});

test("why is asked once the picture stands, until it is switched off; a lesson asks only if it is switched on", async () => {
  const bench = await opened("?text=B", { said: { explains: true } });
  assert.deepEqual(
    bench.asked.map(({ wants }) => wants),
    [undefined, "why"],
  );
  const [box] = all(bench.drawn(), "input", ({ attributes }) => attributes.type === "checkbox");
  assert.equal(box.attributes[".checked"], true);
  box.attributes["@change"]({ target: Object.assign(new HTMLInputElement(), { checked: false }) });
  await settled();
  assert.equal(bench.asked.length, 2);
  assert.equal(parts(bench.location.search).why, "0");
  const lesson = await opened("?text=B", {
    said: { explains: true },
    told: { lesson: { name: "07", revealed: false } },
  });
  assert.deepEqual(
    lesson.asked.map(({ wants }) => wants),
    [undefined],
  );
  const asked = await opened("?text=B&why=1", { said: { explains: true }, told: { lesson: { name: "07" } } });
  assert.deepEqual(
    asked.asked.map(({ wants }) => wants),
    [undefined, "why"],
  );
  assert.equal(parts(asked.location.search).why, "1");
});

test("a text that is too long to be explained says so, and why is not asked", async () => {
  const bench = await opened("?text=B", { said: { explains: true, why_not: "Shorten it." } });
  assert.equal(bench.asked.length, 1);
  assert.ok(textOf(bench.drawn()).includes("Shorten it."));
});

test("the address says which answer is explained", async () => {
  const bench = await opened("?text=B&about=good&rather=bad&at=2", { said: { explains: true } });
  assert.deepEqual(bench.last().about, { about: "good", rather: "bad", at: "2" });
  assert.deepEqual(parts(bench.location.search), { text: "B", about: "good", rather: "bad", at: "2" });
});

/** A menu that keeps what it is asked, as the server does where all of it is possible. */
const menu = ({ page, kind, ...kept }) => ({
  ...{ kept, groups: [], sliders: [], switches: [], again: null, note: "", of: kind || "cross" },
  ...{ bits: kept.bits ?? "8", painted: kept.mask === "painted" ? "paint it" : "" },
  groups: [{ name: "mask", label: "Mask", tip: "", options: masks(page), chosen: kept.mask ?? "causal" }],
  sliders: [{ name: "pads", label: "[PAD]", tip: "", low: 0, high: 9, value: Number(kept.pads ?? 0) }],
});
const masks = (page) => ["causal", "window", "painted"].map((name) => [name, `${page}: ${name}`]);
const onMasks = () => ({ told: { page: "masks" }, experiment: menu });

test("an experiment asks for what the address chooses, and for the run without its changes", async () => {
  const changes = { ablate: [[0, 1]] };
  const address = `?text=B&mask=window&pads=2&seed=3&kind=decoder&changes=${JSON.stringify(changes)}`;
  const bench = await opened(address, onMasks());
  const { experiment, text, looks, before } = bench.last();
  assert.deepEqual(experiment, { page: "masks", kind: "decoder", mask: "window", pads: "2" });
  assert.deepEqual([text, bench.last().changes, looks, before], ["B", {}, [], null]);
  assert.deepEqual(parts(bench.location.search).mask, "window");
  assert.equal(parts(bench.location.search).changes, undefined);
  await bench.update({ page: "positions" });
  assert.deepEqual(bench.last().experiment, { page: "positions", seed: "3" });
  await bench.update({ page: "attention" });
  assert.deepEqual([bench.last().experiment, bench.last().changes], [undefined, changes]);
  assert.deepEqual(JSON.parse(parts(bench.location.search).changes), changes);
});

test("what the server keeps of a choice is the choice, and the same question is not asked twice", async () => {
  const kept = (asked) => ({
    ...menu(asked),
    kept: { mask: asked.mask === "window" ? "window" : "", pads: "" },
  });
  const bench = await opened("?text=B&mask=strange&pads=99", { ...onMasks(), experiment: kept });
  assert.equal(bench.asked.length, 1);
  assert.deepEqual(
    [parts(bench.location.search).mask, parts(bench.location.search).pads],
    [undefined, undefined],
  );
  await bench.press("masks: window");
  assert.deepEqual(bench.last().experiment, { page: "masks", kind: "cross", mask: "window" });
  assert.equal(parts(bench.location.search).mask, "window");
  assert.equal(bench.entries.length, 1);
  await bench.update({ page: "attention" });
  await bench.update({ page: "masks" });
  assert.equal(bench.asked.length, 3);
});

test("the words of an experiment are no buttons: its text is typed", async () => {
  const bench = await opened("?text=A dull film", onMasks());
  assert.equal(bench.word("dull"), undefined);
  await say(bench, "C");
  assert.deepEqual([bench.last().text, bench.last().experiment.page], ["C", "masks"]);
});

test("a painted mask begins as the one that is shown, of as many tokens", async () => {
  const bench = await opened("?text=A b&mask=window&pads=2", {
    ...onMasks(),
    experiment: (asked) => ({ ...menu(asked), bits: asked.bits ?? "b" }),
  });
  await bench.press("masks: painted");
  const { mask, bits, pads } = bench.last().experiment;
  assert.deepEqual([mask, bits, pads], ["painted", "b", "2"]);
  assert.equal(parts(bench.location.search).bits, "b");
});

test("strokes in quick succession are all painted, and undone one by one", async () => {
  const bench = await opened("?text=A b&mask=painted&bits=8", onMasks());
  const { paint } = bench.lens.host;
  paint([0, 1, 0, 1], true);
  paint([1, 1, 1, 1], true);
  paint([0, 0, 0, 1], false);
  await settled();
  assert.equal(bench.last().experiment.bits, "1");
  for (const bits of ["d", "c", "8"]) {
    await bench.press("↶ masks.undo");
    assert.equal(parts(bench.location.search).bits, bits);
  }
  assert.equal(button(bench.drawn(), "↶ masks.undo").attributes["?disabled"], true);
});

test("a mask is inverted and cleared as a whole", async () => {
  const bench = await opened("?text=A b&mask=painted&bits=9", onMasks());
  await bench.press("masks.invert");
  assert.equal(bench.last().experiment.bits, "6");
  await bench.press("masks.clear");
  assert.equal(bench.last().experiment.bits, "f");
});

test("what was painted is forgotten once another mask is chosen", async () => {
  const bench = await opened("?text=A b&mask=painted&bits=8", onMasks());
  bench.lens.host.paint([0, 1, 0, 1], true);
  await settled();
  await bench.press("masks: causal");
  await bench.press("masks: painted");
  assert.equal(button(bench.drawn(), "↶ masks.undo").attributes["?disabled"], true);
});

test("where there is no brush, a press leads to the view that has one", async () => {
  const bench = await opened("?text=A b&mask=painted&bits=8", onMasks());
  bench.lens.view = "all";
  await bench.update();
  assert.throws(() => button(bench.drawn(), "masks.invert"));
  await bench.press("✎ masks.paint_elsewhere");
  assert.equal(bench.lens.view, "masking");
});

test("the size that is chosen beside the workbench is that of the views, and is known to the page", async () => {
  const bench = await opened("?text=A b");
  await bench.update({ projected: true });
  assert.deepEqual(bench.lens.enlarged, [true]);
  assert.deepEqual(bench.sent.at(-1), ["projected", true]);
  await bench.update({ projected: true });
  assert.equal(bench.sent.length, 1);
});

test("another kind of attention is masked in another way, and asked for", async () => {
  const bench = await opened("?text=A b", onMasks());
  const selected = { model: "small", layer: 0, head: 0, view: "masking", value: "weights" };
  bench.lens.host.remember({ ...selected, kind: "encoder", pinned: { query: null, key: null } });
  await settled();
  assert.equal(bench.last().experiment.kind, "encoder");
});
