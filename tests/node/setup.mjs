// What the tests share: the parts of a browser's canvas that the views use, payloads packed by Python, and drawn pictures.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export const VIEWS = "../../transformer_viz/pictures/views";

/** Measures texts without a font: Latin letters are half as wide as they are high, Chinese characters as wide. */
export class Ruler {
  font = "10px sans-serif";

  constructor(wide = 0.5) {
    this.wide = wide;
  }

  measureText(text) {
    const size = Number(/([\d.]+)px/.exec(this.font)[1]);
    return { width: [...text].reduce((sum, letter) => sum + size * (letter > "\u2e80" ? 1 : this.wide), 0) };
  }
}

class Context extends Ruler {
  putImageData(image) {
    this.image = image;
  }

  getImageData() {
    return this.image;
  }
}

globalThis.OffscreenCanvas = class {
  constructor(width, height) {
    Object.assign(this, { width, height, context: new Context() });
  }

  getContext() {
    return this.context;
  }

  append() {}
};

/** The modules that are tested without a browser create no other elements than canvases. */
globalThis.document = { createElement: () => new OffscreenCanvas(0, 0) };

globalThis.ImageData = class {
  constructor(width, height) {
    Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) });
  }
};

const folder = process.env.PAYLOADS;

/** What Python packed under a name. */
export const payload = (name) => new Uint8Array(readFileSync(join(folder, `${name}.bin`)));

/** What Python says is in the payloads. */
export const expected = JSON.parse(readFileSync(join(folder, "expected.json"), "utf-8"));

/** A theme, with colours that can be told apart in a picture. */
export const THEME = {
  ...{ text: "#000001", soft: "#000002", muted: "#000003", line: "#000004", background: "#ffffff" },
  ...{ font: "sans-serif", name: "light" },
};

/** Return the attributes and the text of every element of a name in an SVG. */
export function elements(svg, name) {
  const found = [...String(svg).matchAll(new RegExp(`<${name} ([^>]*)>([^<]*)</${name}>`, "g"))];
  return found.map(([, attributes, text]) => {
    const pairs = [...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]);
    const plain = text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
    return { ...Object.fromEntries(pairs), textContent: plain };
  });
}

export const texts = (svg) => elements(svg, "text").map(({ textContent }) => textContent);

/** Return the filled rectangles of an SVG, without its background. */
export const filled = (svg) =>
  elements(svg, "rect")
    .filter(({ x, fill }) => x && fill !== "none")
    .map(({ x, y, width, height, fill }) => ({
      x: Number(x),
      y: Number(y),
      width: Number(width),
      height: Number(height),
      fill,
    }));

/** Random numbers from 0 to 1, the same in every run. */
export function randoms(seed = 1) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
