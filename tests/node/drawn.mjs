// What lit-html would draw, as a tree, without a browser; and the workbench with stand-ins for what is around it.

import { registerHooks } from "node:module";

const TEMPLATES = `
  export const nothing = Symbol("nothing");
  export const html = (strings, ...values) => ({ strings, values });
  export const render = (value, container) => { container.drawn = value; };
`;
const LENS = `
  export const mount = (...args) => globalThis.mountLens(...args);
`;
const STAND_INS = { "./lit.js": TEMPLATES, "./lens.js": LENS };

registerHooks({
  resolve: (specifier, context, next) =>
    STAND_INS[specifier]
      ? { url: `data:text/javascript,${encodeURIComponent(STAND_INS[specifier])}`, shortCircuit: true }
      : next(specifier, context),
});

const VOID = ["input"];
const MARK = "\uE000"; // stands around the number of a value in the text of a template
const TAG = /<(\/?)([a-z]+)((?:[^>"\uE000]|"[^"]*"|\uE000\d+\uE000)*)>/g;
const ATTRIBUTE = /([@.?]?[\w-]+)(?:=("[^"]*"|\S+))?/g;

/**
 * Return what is drawn as a tree: elements with `name`, `attributes` ("@click", ".value", ...) and `children`, and texts.
 *
 * @param {unknown} drawn Templates, texts, and lists of them.
 */
export function tree(drawn) {
  if (typeof drawn === "symbol" || drawn === null || drawn === undefined) return [];
  if (Array.isArray(drawn)) return drawn.flatMap(tree);
  if (typeof drawn !== "object") return [String(drawn)];
  const { strings, values } = drawn;
  const text = strings.reduce((whole, part, i) => `${whole}${MARK}${i - 1}${MARK}${part}`);
  const root = { children: [] };
  const open = [root];
  const add = (between) => {
    for (const [i, part] of between.split(MARK).entries()) {
      if (i % 2) open.at(-1).children.push(...tree(values[part]));
      else if (part.trim()) open.at(-1).children.push(part.replace(/\s+/g, " "));
    }
  };
  let last = 0;
  for (const found of text.matchAll(TAG)) {
    add(text.slice(last, found.index));
    last = found.index + found[0].length;
    const [, end, name, rest] = found;
    if (end) open.pop();
    else {
      const each = { name, attributes: attributes(rest, values), children: [] };
      open.at(-1).children.push(each);
      if (!VOID.includes(name)) open.push(each);
    }
  }
  add(text.slice(last));
  return root.children;
}

function attributes(text, values) {
  const found = {};
  for (const [, name, given = ""] of text.matchAll(ATTRIBUTE)) {
    const written = given.replace(/^"|"$/g, "");
    const alone = /^\uE000(\d+)\uE000$/.exec(written);
    const value = alone
      ? values[alone[1]]
      : written.replace(/\uE000(\d+)\uE000/g, (_, i) => String(values[i]));
    if (typeof value !== "symbol") found[name] = value;
  }
  return found;
}

/** Return the elements of a name, wherever they are, of which something holds. */
export function all(nodes, name, holds = () => true) {
  return nodes.flatMap((node) => {
    if (typeof node === "string") return [];
    const within = all(node.children, name, holds);
    return node.name === name && holds(node) ? [node, ...within] : within;
  });
}

/** Return the text of nodes. */
export const textOf = (nodes) =>
  nodes.map((node) => (typeof node === "string" ? node : textOf(node.children))).join("");

/** Return the elements of a class. */
export const ofClass = (nodes, name, kind) =>
  all(nodes, name, ({ attributes: { class: classes = "" } }) => classes.split(" ").includes(kind));

/** Return the one button with a text. */
export function button(nodes, text) {
  const [found, ...more] = all(nodes, "button", (each) => textOf([each]).trim() === text);
  if (!found || more.length) throw new Error(`${more.length + Boolean(found)} buttons say ${text}`);
  return found;
}
