import assert from "node:assert/strict";
import { test } from "node:test";
import { elements, texts, VIEWS } from "./setup.mjs";

const { SvgContext } = await import(`${VIEWS}/svg.js`);

const HOSTILE = [
  "<img src=x onerror=z()>",
  "</text><script>z()</script>",
  '" onload="z()',
  "a & b &amp; &#60;",
  "好 ␀",
];

/** Throw unless every element is closed in its order and every attribute is quoted. */
function checkWellFormed(svg) {
  const open = [];
  const rest = svg.replace(
    /<(\/?)(\w+)((?: [\w:-]+="[^"<&]*(?:&#\d+;[^"<&]*)*")*)(\/?)>/g,
    (_, closes, name, _attributes, alone) => {
      if (closes) assert.equal(open.pop(), name);
      else if (!alone) open.push(name);
      return "";
    },
  );
  assert.deepEqual(open, []);
  assert.doesNotMatch(rest.replace(/&#\d+;/g, ""), /[<>&"]/);
}

test("texts from anywhere are texts, and the file is well-formed", () => {
  const pen = new SvgContext(100, 50, '"><script>');
  pen.font = '12px "Source Sans", sans-serif';
  HOSTILE.forEach((text, i) => pen.fillText(text, 1, i));
  checkWellFormed(pen.toString());
  assert.deepEqual(texts(pen), HOSTILE);
  assert.deepEqual(elements(pen, "script"), []);
});

test("a saved state is restored with its moves, fonts and colours", () => {
  const pen = new SvgContext(100, 50, "#fff");
  pen.fillStyle = "#111";
  pen.save();
  pen.translate(3, 4);
  pen.rotate(Math.PI / 2);
  pen.fillStyle = "#222";
  pen.fillText("moved", 0, 0);
  pen.restore();
  pen.fillText("back", 0, 0);
  const [moved, back] = elements(pen, "text");
  assert.equal(moved.transform, "translate(3 4) rotate(90)");
  assert.deepEqual([moved.fill, back.fill, back.transform], ["#222", "#111", undefined]);
});

test("a line is one path, and no path is no element", () => {
  const pen = new SvgContext(100, 50, "#fff");
  pen.beginPath();
  pen.stroke();
  pen.beginPath();
  pen.moveTo(1, 2);
  pen.lineTo(3.14159, 4);
  pen.bezierCurveTo(1, 2, 3, 4, 5, 6);
  pen.globalAlpha = 0.5;
  pen.stroke();
  const [path, ...others] = elements(pen, "path");
  assert.deepEqual(others, []);
  assert.equal(path.d, "M1 2L3.14 4C1 2 3 4 5 6");
  assert.equal(path.opacity, "0.5");
});

test("an image is drawn as runs of one colour, without its transparent pixels, cut to the part that is drawn", () => {
  const pen = new SvgContext(100, 50, "#fff");
  const image = new OffscreenCanvas(4, 2);
  const pixels = new ImageData(4, 2);
  const [red, blue] = [0xff0000ff, 0xffff0000];
  new Uint32Array(pixels.data.buffer).set([red, red, red, blue, 0, 0, blue, blue]);
  image.getContext("2d").putImageData(pixels, 0, 0);
  pen.drawImage(image, 0.5, 0, 3, 2, 10, 20, 30, 40);
  const drawn = elements(pen, "rect");
  assert.deepEqual(
    drawn.map(({ x, y, width, height, fill }) => [x, y, width, height, fill]),
    [
      ["10", "20", "25", "20", "rgb(255,0,0)"],
      ["35", "20", "5", "20", "rgb(0,0,255)"],
      ["25", "40", "15", "20", "rgb(0,0,255)"],
    ],
  );
});
