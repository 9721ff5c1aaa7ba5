// The part of a canvas context that the views use, writing SVG instead of pixels; `role` becomes the class of a text.

import { contextOf, newRuler } from "./pen.js";

/** @import {Pen} from "./pen.js" */

/** @implements {Pen} */
export class SvgContext {
  fillStyle = "#000";
  strokeStyle = "#000";
  globalAlpha = 1;
  lineWidth = 1;
  font = "12px sans-serif";
  textAlign = /** @type {CanvasTextAlign} */ ("start");
  textBaseline = /** @type {CanvasTextBaseline} */ ("alphabetic");
  imageSmoothingEnabled = false;
  role = "";
  path = "";
  moves = /** @type {string[]} */ ([]);
  states = /** @type {object[]} */ ([]);
  ruler = newRuler();

  /**
   * @param {number} width
   * @param {number} height
   * @param {string} background
   * @param {string} title What the picture shows, for screen readers.
   */
  constructor(width, height, background, title = "") {
    this.width = width;
    this.height = height;
    this.title = title;
    this.parts = [`<rect width="${width}" height="${height}" fill="${escaped(background)}"/>`];
  }

  save() {
    const { fillStyle, strokeStyle, globalAlpha, lineWidth, font, textAlign, textBaseline, moves } = this;
    this.states.push({
      fillStyle,
      strokeStyle,
      globalAlpha,
      lineWidth,
      font,
      textAlign,
      textBaseline,
      moves,
    });
  }

  restore() {
    Object.assign(this, this.states.pop());
  }

  /** @type {Pen["translate"]} */
  translate(x, y) {
    this.moves = [...this.moves, `translate(${short(x)} ${short(y)})`];
  }

  /** @type {Pen["rotate"]} */
  rotate(angle) {
    this.moves = [...this.moves, `rotate(${short((angle * 180) / Math.PI)})`];
  }

  /** @type {Pen["scale"]} */
  scale(x, y) {
    this.moves = [...this.moves, `scale(${short(x)} ${short(y)})`];
  }

  /** @type {Pen["fillRect"]} */
  fillRect(x, y, width, height) {
    const size = `width="${short(width)}" height="${short(height)}"`;
    this.write("rect", `x="${short(x)}" y="${short(y)}" ${size} fill="${this.fillStyle}"`);
  }

  /** @type {Pen["strokeRect"]} */
  strokeRect(x, y, width, height) {
    const size = `width="${short(width)}" height="${short(height)}"`;
    this.write("rect", `x="${short(x)}" y="${short(y)}" ${size} fill="none" ${this.line()}`);
  }

  beginPath() {
    this.path = "";
  }

  /** @type {Pen["moveTo"]} */
  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }

  /** @type {Pen["lineTo"]} */
  lineTo(x, y) {
    this.path += `L${short(x)} ${short(y)}`;
  }

  /** @type {Pen["bezierCurveTo"]} */
  bezierCurveTo(...points) {
    this.path += `C${points.map(short).join(" ")}`;
  }

  stroke() {
    if (this.path) this.write("path", `d="${this.path}" fill="none" ${this.line()}`);
  }

  /** @type {Pen["fillText"]} */
  fillText(text, x, y) {
    const anchor = { center: "middle", right: "end", end: "end", left: "start", start: "start" }[
      this.textAlign
    ];
    const baseline = this.textBaseline === "middle" ? "central" : "auto";
    const font = escaped(`font:${this.font}`);
    const place = `x="${short(x)}" y="${short(y)}" text-anchor="${anchor}" dominant-baseline="${baseline}"`;
    const role = this.role ? ` class="${this.role}"` : "";
    this.write("text", `${place}${role} style="${font}" fill="${this.fillStyle}"`, escaped(text));
  }

  /** @type {Pen["measureText"]} */
  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  /**
   * Draw an image as rectangles, one for each run of one colour in a row.
   *
   * As on a canvas, the part that is drawn may begin and end within a pixel.
   *
   * @type {Pen["drawImage"]}
   */
  drawImage(image, left, top, columns, rows, x, y, width, height) {
    const { data } = contextOf(image).getImageData(0, 0, image.width, image.height);
    const pixels = new Uint32Array(data.buffer);
    const [across, down] = [width / columns, height / rows];
    const [right, bottom] = [left + columns, top + rows];
    for (let row = Math.floor(top); row < bottom; row++) {
      const [high, low] = [Math.max(row, top), Math.min(row + 1, bottom)];
      for (let from = Math.floor(left), to = from; from < right; from = to) {
        const colour = pixels[row * image.width + from];
        while (to < right && pixels[row * image.width + to] === colour) to++;
        if (!(colour >>> 24)) continue;
        const [begin, end] = [Math.max(from, left), Math.min(to, right)];
        const channels = [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
        this.fillStyle = `rgb(${channels.join()})`;
        this.fillRect(
          x + (begin - left) * across,
          y + (high - top) * down,
          (end - begin) * across,
          (low - high) * down,
        );
      }
    }
  }

  line() {
    return `stroke="${this.strokeStyle}" stroke-width="${short(this.lineWidth)}"`;
  }

  /**
   * @param {string} name
   * @param {string} attributes
   * @param {string} text
   */
  write(name, attributes, text = "") {
    const moved = this.moves.length ? ` transform="${this.moves.join(" ")}"` : "";
    const faint = this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : "";
    this.parts.push(`<${name} ${attributes}${moved}${faint}>${text}</${name}>`);
  }

  toString() {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
    const named = this.title && ` role="img" aria-label="${escaped(this.title)}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}${named}>${this.parts.join("\n")}</svg>`;
  }
}

const short = (/** @type {number} */ number) => Math.round(number * 100) / 100;

const escaped = (/** @type {string} */ text) =>
  String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
