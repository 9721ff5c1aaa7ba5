import assert from "node:assert/strict";
import { test } from "node:test";
import { VIEWS } from "./setup.mjs";

globalThis.HTMLElement = class {
  constructor(kinds = []) {
    this.kinds = kinds;
  }

  addEventListener(_name, listener) {
    this.listener = listener;
  }

  closest(selector) {
    return this.kinds.includes(selector) ? this : null;
  }
};

const { onKey } = await import(`${VIEWS}/keys.js`);

const view = new HTMLElement();
const [own, other] = [new HTMLElement(["button.head"]), new HTMLElement(["button.other"])];

/** Press a key and return what was told, and whether the browser does nothing more with it. */
function pressed(selector, target, event = {}, isUsed = true) {
  const told = [];
  onKey(view, selector, (event, pressedOn) => {
    told.push([event.key, pressedOn]);
    return isUsed;
  });
  const given = {
    key: "o",
    target,
    defaultPrevented: false,
    ctrlKey: false,
    altKey: false,
    metaKey: false,
    ...event,
  };
  given.preventDefault = () => (given.defaultPrevented = true);
  view.listener(given);
  return [told, given.defaultPrevented];
}

test("a key is for the controls of a view that it is meant for", () => {
  assert.deepEqual(pressed("button.head", own), [[["o", own]], true]);
  assert.deepEqual(pressed("button.head", own, {}, false), [[["o", own]], false]);
  assert.deepEqual(pressed("button.head", other), [[], false]);
  assert.deepEqual(pressed("", view), [[["o", view]], true]);
  assert.deepEqual(pressed("", own), [[], false]);
});

test("keys of the browser and the system are left alone", () => {
  for (const modifier of ["ctrlKey", "altKey", "metaKey"]) {
    assert.deepEqual(pressed("button.head", own, { [modifier]: true }), [[], false]);
  }
  assert.deepEqual(pressed("button.head", own, { shiftKey: true, key: "+" })[0], [["+", own]]);
});

test("a key that a control within the view has used is not used again", () => {
  assert.deepEqual(pressed("button.head", own, { defaultPrevented: true })[0], []);
});
