import assert from "node:assert/strict";
import { test } from "node:test";
import { all, textOf, tree } from "./drawn.mjs";
import { VIEWS } from "./setup.mjs";

const { menu, parts } = await import(`${VIEWS}/blocks.js`);
const { html } = await import("./lit.js");

test("what stands between two pairs of stars is bold, and nothing in it is markup", () => {
  const said = tree(parts("The model predicts **<b>good**, not **bad**"));
  assert.equal(textOf(said), "The model predicts <b>good, not bad");
  assert.deepEqual(
    all(said, "b").map((each) => textOf([each])),
    ["<b>good", "bad"],
  );
  assert.deepEqual(
    all(tree(parts("a * b ** c")), "b").map((each) => textOf([each])),
    [" c"],
  );
});

test("a menu has its label, its help, and its body below", () => {
  const [found] = tree(menu("looks", "Heads", html`<p>body</p>`, "help"));
  assert.equal(found.attributes.class, "menu looks");
  const [summary, body] = found.children;
  assert.deepEqual([textOf([summary]), summary.attributes.title, textOf([body])], ["Heads", "help", "body"]);
  assert.equal("title" in tree(menu("looks", "Heads", html`<p></p>`))[0].children[0].attributes, false);
});
