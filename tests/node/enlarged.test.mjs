import assert from "node:assert/strict";
import { test } from "node:test";
import { elements, payload, Ruler, THEME, texts, VIEWS } from "./setup.mjs";

const { ramp } = await import(`${VIEWS}/colour.js`);
const { enlarged, onCanvas, PROJECTED } = await import(`${VIEWS}/enlarged.js`);
const { grid } = await import(`${VIEWS}/grid.js`);
const { sceneOf } = await import(`${VIEWS}/head.js`);
const { lines } = await import(`${VIEWS}/lines.js`);
const { matrix } = await import(`${VIEWS}/matrix.js`);
const { parse } = await import(`${VIEWS}/payload.js`);
const { Selection } = await import(`${VIEWS}/selection.js`);
const { steps } = await import(`${VIEWS}/steps.js`);
const { SvgContext } = await import(`${VIEWS}/svg.js`);

const TABLE = ramp([
  [0, "#ffffff"],
  [1, "#000000"],
]);
const LOOK = {
  theme: THEME,
  ramps: { sequential: TABLE, diverging: TABLE },
  gap: "#c4bfba",
  heads: ["#100000", "#200000", "#300000"],
};
const [WIDTH, TALL, LEAST] = [1000, 700, 18];

/** Return the views of a payload on a canvas, and what was pointed at. */
function shown(name, projected, start = {}) {
  const { attentions, words } = parse(payload(name));
  const selection = new Selection(attentions, { projected, ...start });
  const factor = projected ? PROJECTED : 1;
  const pointed = [];
  const scene = sceneOf(selection, words, LOOK, TALL / factor);
  const host = {
    ...{ selection, words: () => words, look: () => LOOK, theme: () => THEME, scene: () => scene },
    ...{
      tall: () => TALL / factor,
      aligned: () => undefined,
      counted() {},
      hover() {},
      pin() {},
      tell() {},
      point() {},
      redraw() {},
    },
    highlighted: () => ({ row: null, column: null }),
    highlight: (cell, place) => pointed.push([cell, place]),
  };
  const made = Object.entries({ matrix, lines, grid, steps }).map(([kind, of]) => [
    kind,
    enlarged(of(host), () => factor),
  ]);
  return { views: Object.fromEntries(made), pointed, factor };
}

function drawn(view, width = WIDTH) {
  const pen = new SvgContext(width, view.height(width), "#fff");
  view.draw(pen, width, view.height(width), 1);
  return pen;
}

const scaleOf = ({ transform = "" }) => Number(/scale\(([\d.]+)/.exec(transform)?.[1] ?? 1);
const pixelsOf = (text) => Number(/([\d.]+)px/.exec(text.style)[1]) * scaleOf(text);

for (const name of ["masked", "writing"]) {
  for (const kind of ["matrix", "lines", "grid", "steps"]) {
    test(`on a projector every text of ${kind} of ${name} has letters of 18 pixels or more, within the canvas`, () => {
      const svg = drawn(shown(name, true).views[kind]);
      const found = elements(svg, "text");
      assert.ok(found.length > 3);
      for (const text of found) {
        const share = kind === "matrix" && text.fill !== THEME.soft && text.fill !== THEME.muted; // as large as its cell allows
        if (!share) assert.ok(pixelsOf(text) >= LEAST, `${text.textContent}: ${pixelsOf(text)}`);
        if (/rotate|translate/.test(text.transform)) continue;
        const ruler = new Ruler();
        ruler.font = `${pixelsOf(text)}px`;
        const { width } = ruler.measureText(text.textContent);
        const begin =
          Number(text.x) * scaleOf(text) - width * { start: 0, middle: 0.5, end: 1 }[text["text-anchor"]];
        assert.ok(begin >= -1 && begin + width <= WIDTH + 1, `${text.textContent}: ${begin}, ${width}`);
        assert.ok(Number(text.y) * scaleOf(text) <= svg.height);
      }
    });
  }
}

test("usually the same texts are smaller", () => {
  const [small, large] = [false, true].map((projected) => drawn(shown("masked", projected).views.lines));
  assert.deepEqual(texts(small), texts(large));
  elements(small, "text").forEach((text, i) =>
    assert.ok(pixelsOf(text) < pixelsOf(elements(large, "text")[i])),
  );
});

test("on a projector the percentages in the cells are larger, and so are the lines and the opacity of weak ones", () => {
  const [small, large] = [false, true].map((projected) => shown("half", projected).views);
  const share = (views) =>
    pixelsOf(elements(drawn(views.matrix), "text").find(({ textContent }) => textContent === "50"));
  assert.ok(share(large) > 1.2 * share(small));
  const [weak, strong] = [false, true].map((projected) => {
    const paths = elements(drawn(shown("masked", projected).views.lines), "path");
    const wide = (path) => Number(path["stroke-width"]) * scaleOf(path);
    return { opacity: Math.min(...paths.map(({ opacity }) => Number(opacity))), widths: paths.map(wide) };
  });
  assert.ok(strong.opacity > weak.opacity + 0.2);
  assert.equal(strong.widths.length, weak.widths.length);
  strong.widths.forEach((width, i) => assert.ok(width > weak.widths[i]));
});

test("the pointer finds the cell that is drawn there, and the tooltip stands beside it", () => {
  const { views, pointed, factor } = shown("half", true);
  const [cell] = elements(drawn(views.matrix), "rect").filter(({ x, transform }) => x && transform);
  const place = onCanvas(
    [Number(cell.x) + Number(cell.width) / 2, Number(cell.y) + Number(cell.height) / 2],
    factor,
  );
  views.matrix.point(...place);
  const [found, at] = pointed.at(-1);
  assert.deepEqual(found, { row: 0, column: 0 });
  onCanvas(at, factor).forEach((pixel, i) => assert.ok(Math.abs(pixel - place[i]) < 1e-9));
});
