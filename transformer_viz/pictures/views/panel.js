// One matrix with its scale below and, where there are any, the sums of its rows beside it; it can be painted on.

import { css, entry, ramp } from "./colour.js";
import { place } from "./place.js";
import { pictureOf, save } from "./saving.js";
import { fitted } from "./text.js";

const PANELS = new WeakMap();
const SCALE = 34; // pixels below the cells: of the scale, and left free where there is none

/** Return what is drawn, from what Python packed (panel.py). */
function read(packed) {
  const bytes = Uint8Array.from(atob(packed.values), (letter) => letter.charCodeAt(0));
  return { ...packed, values: new Float32Array(bytes.buffer), colours: ramp(packed.colours) };
}

export default function ({ data, parentElement, setStateValue }) {
  if (!PANELS.has(parentElement)) PANELS.set(parentElement, panel(parentElement.querySelector("div")));
  PANELS.get(parentElement)(data, (strokes) => setStateValue("strokes", strokes));
}

function panel(root) {
  const canvas = root.appendChild(document.createElement("canvas"));
  const svg = root.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
  const tip = root.appendChild(document.createElement("div"));
  const ctx = canvas.getContext("2d");
  let [of, at, send, strokes, last] = [null, null, null, [], 0];
  let [over, held] = [null, null]; // the cell pointed at; the one a box begins in
  root.className = "panel";
  const buttons = root.appendChild(document.createElement("div"));
  buttons.className = "save";
  for (const kind of ["png", "svg"]) {
    const button = buttons.appendChild(document.createElement("button"));
    Object.assign(button, { type: "button", textContent: kind.toUpperCase() });
    button.addEventListener("click", async () => save(await pictureOf(canvas, svg, of.background, kind), `${of.name}.${kind}`));
  }
  tip.className = "tip";
  canvas.setAttribute("role", "img");

  function add(name, attributes, text = "") {
    const element = svg.appendChild(document.createElementNS(svg.namespaceURI, name));
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
  }

  function write(text, x, y, attributes = {}) {
    const usual = { x, y, fill: of.text, "font-size": of.pixels, "dominant-baseline": "central" };
    add("text", { ...usual, ...attributes }, text);
  }

  function draw() {
    const width = root.clientWidth;
    if (!of || !width) return;
    const scale = window.devicePixelRatio || 1;
    ctx.font = `${of.pixels}px ${getComputedStyle(root).fontFamily}`;
    at = place(of, ctx, width);
    const height = Math.ceil(at.top + at.down + SCALE);
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    canvas.style.height = `${height}px`;
    svg.replaceChildren();
    paintCells((number) => Math.round(number * scale), of.gap ? Math.max(1, Math.round(scale)) : 0);
    writeLabels();
    if (of.sums) drawSums(scale);
    if (of.ticks.length) drawScale(scale);
    show();
  }

  function paintCells(pixel, gap) {
    ctx.fillStyle = of.back;
    const [x, y] = [pixel(at.left), pixel(at.top)];
    ctx.fillRect(x, y, pixel(at.left + at.across) - x, pixel(at.top + at.down) - y);
    const columns = of.columns.length;
    of.values.forEach((value, i) => {
      if (Number.isNaN(value)) return;
      const [row, column] = [Math.floor(i / columns), i % columns];
      const [x, y] = [pixel(at.left + column * at.cell), pixel(at.top + row * at.line)];
      const [right, bottom] = [pixel(at.left + (column + 1) * at.cell), pixel(at.top + (row + 1) * at.line)];
      ctx.fillStyle = css(of.colours[entry(value, of.limit, of.signed)]);
      ctx.fillRect(x, y, right - x - gap, bottom - y - gap);
    });
  }

  function writeLabels() {
    ctx.font = `${of.pixels}px ${getComputedStyle(root).fontFamily}`; // a canvas of another size forgot it
    for (let i = 0; i < of.rows.length; i += at.everyRow) {
      const text = fitted(ctx, of.rows[i], at.left - 6);
      write(text, at.left - 4, at.top + (i + 0.5) * at.line, { "text-anchor": "end", class: "row" });
    }
    for (let i = 0; i < of.columns.length; i += at.everyColumn) {
      const x = at.left + (i + 0.5) * at.cell;
      const y = at.top - (at.tilt ? 5 : 4 + of.pixels / 2);
      const transform = `rotate(${-at.tilt} ${x} ${y})`;
      const anchor = at.tilt ? "start" : "middle";
      const text = fitted(ctx, of.columns[i], at.longest);
      write(text, x, y, { class: "column", transform, "text-anchor": anchor });
    }
  }

  function drawSums(scale) {
    const begin = at.left + at.across + 10;
    const unit = (at.width - begin - 34) * 0.98;
    write(of.sums.title, begin, 8, { fill: of.muted, "font-size": 12 });
    of.sums.values.forEach((sum, i) => {
      const y = at.top + (i + 0.5) * at.line;
      const half = at.line * (at.line > 6 ? 0.37 : 0.5); // thin rows stand without a gap
      const [above, below] = [Math.round((y - half) * scale), Math.round((y + half) * scale)];
      ctx.fillStyle = of.sums.colours[i];
      ctx.fillRect(begin * scale, above, sum * unit * scale, below - above);
      const size = Math.min(11, of.pixels);
      if (i % at.everyRow === 0) write(sum.toFixed(2), begin + sum * unit + 4, y, { "font-size": size });
    });
  }

  function drawScale(scale) {
    const y = at.top + at.down + 8;
    const step = (at.across * scale) / of.colours.length;
    of.colours.forEach((colour, i) => {
      ctx.fillStyle = css(colour);
      ctx.fillRect(at.left * scale + i * step, y * scale, step + 1, 7 * scale);
    });
    of.ticks.forEach((tick, i) => {
      const share = i / (of.ticks.length - 1);
      const anchor = { 0: "start", 1: "end" }[share] ?? "middle";
      const place = at.left + share * at.across;
      write(tick, place, y + 17, { "text-anchor": anchor, fill: of.muted, "font-size": 11 });
    });
  }

  /** Show which cell is pointed at, or which are in the box, and what there is to say of it. */
  function show() {
    svg.querySelector("rect")?.remove();
    const value = over && of.values[over[0] * of.columns.length + over[1]];
    const said = of?.says[Number.isNaN(value) ? 1 : 0];
    tip.style.display = over && said ? "block" : "none";
    if (!over || !at) return;
    const [row, column, endRow, endColumn] = box(held ?? over, over);
    const [x, y] = [at.left + column * at.cell, at.top + row * at.line];
    const [width, height] = [(endColumn - column + 1) * at.cell, (endRow - row + 1) * at.line];
    add("rect", { x, y, width, height, fill: "none", stroke: of.text, "stroke-width": 1.5 });
    const named = { row: of.rows[over[0]], column: of.columns[over[1]], value: value.toFixed(3) };
    tip.textContent = said?.replace(/\{(\w+)\}/g, (_, name) => named[name]);
    Object.assign(tip.style, { color: of.back, background: of.text });
    const beside = at.left + (over[1] + 1) * at.cell + 6;
    tip.style.left = `${Math.max(0, Math.min(beside, at.width - tip.offsetWidth))}px`;
    tip.style.top = `${at.top + (over[0] + 1) * at.line + 6}px`;
  }

  function box([row, column], [otherRow, otherColumn]) {
    const [low, high] = [Math.min, Math.max];
    return [low(row, otherRow), low(column, otherColumn), high(row, otherRow), high(column, otherColumn)];
  }

  function nearestTo(row, column) {
    const within = (number, count) => Math.max(0, Math.min(count - 1, number));
    return [within(row, of.rows.length), within(column, of.columns.length)];
  }

  function cellOf(event) {
    const edge = canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - edge.top - at.top) / at.line);
    const column = Math.floor((event.clientX - edge.left - at.left) / at.cell);
    const nearest = nearestTo(row, column);
    return held || (row === nearest[0] && column === nearest[1]) ? nearest : null;
  }

  /** Set the cells of a stroke; the picture does not wait for the server. */
  function set([, [row, column, endRow, endColumn], may]) {
    for (let i = row; i <= endRow; i++)
      for (let j = column; j <= endColumn; j++) of.values[i * of.columns.length + j] = may ? 1 : Number.NaN;
  }

  /** Mask all cells from one to another if any of them may be read, or else free them. */
  function stroke(from, to) {
    const cells = box(from, to);
    const free = (i, j) => !Number.isNaN(of.values[i * of.columns.length + j]);
    let any = false;
    for (let i = cells[0]; i <= cells[2]; i++) for (let j = cells[1]; j <= cells[3]; j++) any ||= free(i, j);
    last = Math.max(Date.now(), last + 1, of.paint.applied + 1);
    strokes = [...strokes, [last, cells, !any]];
    set(strokes.at(-1));
    send(strokes);
  }

  canvas.addEventListener("pointermove", (event) => {
    over = of && cellOf(event);
    show();
  });
  canvas.addEventListener("pointerleave", () => {
    if (!held) over = null;
    show();
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (!of?.paint || event.button) return;
    held = over = cellOf(event);
    if (held) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held) stroke(held, cellOf(event));
    held = null;
    draw();
  });
  canvas.addEventListener("pointercancel", () => {
    held = over = null;
    show();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!of?.paint || !(step || event.key === " " || event.key === "Enter")) return;
    event.preventDefault();
    if (!step && over) stroke(over, over);
    if (step) over = over ? nearestTo(over[0] + step[0], over[1] + step[1]) : [0, 0];
    draw();
  });
  new ResizeObserver(draw).observe(root);

  return (data, sender) => {
    [of, send] = [read(data), sender];
    root.classList.toggle("paint", Boolean(of.paint));
    canvas.tabIndex = of.paint ? 0 : -1;
    canvas.setAttribute("aria-label", of.alt);
    strokes = of.paint ? strokes.filter(([number]) => number > of.paint.applied) : [];
    strokes.forEach(set);
    if (over && (over[0] >= of.rows.length || over[1] >= of.columns.length)) over = held = null;
    draw();
  };
}
