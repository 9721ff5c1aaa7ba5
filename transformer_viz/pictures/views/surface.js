// A canvas with a view on it; the view draws the same on the screen, in a PNG and in an SVG.

import { onKey } from "./keys.js";
import { contextOf } from "./pen.js";
import { SvgContext } from "./svg.js";
import { fitted } from "./text.js";

/** @import {Pen} from "./pen.js" */
/** @import {Point} from "./tip.js" */

/**
 * Something that draws itself and reacts to the pointer and to keys. Places are in pixels of the drawing.
 *
 * @typedef {object} View
 * @property {(width: number) => number} height
 * @property {(pen: Pen, width: number, height: number, scale: number) => void} draw `scale`: pixels of the picture for
 *   each unit of the drawing.
 * @property {(x: number, y: number) => void} [point] The pointer moves.
 * @property {() => void} [leave]
 * @property {(x: number, y: number) => void} [press]
 * @property {(event: WheelEvent, x: number, y: number) => boolean} [wheel] True: the page does not scroll.
 * @property {(dx: number, dy: number) => void} [drag]
 * @property {() => void} [reset] A double click.
 * @property {(event: KeyboardEvent) => boolean} [key] True: the page ignores the key.
 * @property {(x: number, y: number) => boolean} [begin] True: the view follows the pointer by `point` until it is up.
 * @property {(x: number, y: number) => void} [end] The pointer is up after `begin` returned true.
 */

/**
 * The frame of a saved picture.
 *
 * @typedef {object} Around
 * @property {string} background
 * @property {string} colour
 * @property {string} font
 * @property {string[]} titles Lines of text that say what the picture shows; in an SVG, readers of screens read them.
 * @property {boolean} [titled] Whether they stand above the picture, too; by default they do.
 */

/**
 * @typedef {object} Surface
 * @property {HTMLCanvasElement} canvas
 * @property {() => void} redraw
 * @property {(kind: "png" | "svg", around: Around) => Promise<Blob>} picture
 * @property {() => Part} part Returns the view as a part of a saved picture.
 * @property {() => void} destroy
 */

/** @typedef {{view: View, width: number, height: number, title?: string}} Part A view of a saved picture, with its size. */

/** @typedef {{prepare: () => void, measure: () => void, paint: () => void}} Waiting A surface to be drawn. */

const MARGIN = 14; // around a saved picture
const TITLE = 20; // height of a line of text above it
const APART = 24; // between views side by side

/** @type {Set<Waiting>} */
const WAITING = new Set();

/** Draw all waiting surfaces now, not in the next frame: whatever reads the style or size of the page comes first, and once. */
export function paintAll() {
  const waiting = [...WAITING];
  WAITING.clear();
  for (const prepare of new Set(waiting.map(({ prepare }) => prepare))) prepare();
  for (const { measure } of waiting) measure();
  for (const { paint } of waiting) {
    try {
      paint();
    } catch (error) {
      reportError(error); // the others are drawn all the same
    }
  }
}

/**
 * Show a view in an element.
 *
 * @param {HTMLElement} root
 * @param {View} view
 * @param {() => void} prepare Called before each draw, once for all views that have the same function.
 * @returns {Surface}
 */
export function surface(root, view, prepare) {
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  root.append(canvas);
  const context = contextOf(canvas);
  let [width, height] = [0, 0];

  const part = () => ({ view, width, height });
  const own = {
    prepare,
    measure() {
      width = root.clientWidth;
    },
    paint() {
      if (!width) return;
      height = view.height(width);
      const scale = window.devicePixelRatio || 1;
      const [pixels, lines] = [Math.round(width * scale), Math.round(height * scale)];
      if (canvas.width !== pixels || canvas.height !== lines) {
        [canvas.width, canvas.height] = [pixels, lines];
        canvas.style.height = `${height}px`;
      }
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, width, height);
      view.draw(context, width, height, scale);
    },
  };
  const redraw = () => {
    if (!WAITING.size) requestAnimationFrame(paintAll);
    WAITING.add(own);
  };
  listen(canvas, view);
  const observer = new ResizeObserver(() => {
    if (root.clientWidth !== width) redraw(); // an observer also reports the size at the beginning, already drawn
  });
  observer.observe(root);
  redraw();
  return {
    canvas,
    redraw,
    picture: (kind, around) => pictureOf([part()], kind, around),
    part,
    destroy() {
      observer.disconnect();
      WAITING.delete(own);
      canvas.remove();
    },
  };
}

/**
 * Call a view with the events of its canvas.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {View} view
 */
function listen(canvas, view) {
  /** @type {{from: Point, at: Point, own: boolean, moved: boolean} | null} */
  let held = null; // while the pointer is down
  /** @type {(event: MouseEvent) => Point} */
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (held?.own) return view.point?.(x, y);
    if (held && view.drag && Math.hypot(x - held.from[0], y - held.from[1]) > 3) held.moved = true;
    if (held?.moved) view.drag?.(x - held.at[0], y - held.at[1]);
    else view.point?.(x, y);
    if (held) held.at = [x, y];
    return undefined;
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    held = {
      from: place(event),
      at: place(event),
      own: view.begin?.(...place(event)) ?? false,
      moved: false,
    };
    if (view.drag || held.own) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held?.own) view.end?.(...place(event));
    else if (held && !held.moved) view.press?.(...place(event));
    held = null;
  });
  const leave = () => {
    held = null;
    view.leave?.();
  };
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("pointercancel", leave);
  const wheel = (/** @type {WheelEvent} */ event) =>
    view.wheel?.(event, ...place(event)) && event.preventDefault();
  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("dblclick", () => view.reset?.());
  onKey(canvas, "", (event) => view.key?.(event));
}

/**
 * Return views side by side as an image file, each below its title.
 *
 * @param {Part[]} parts
 * @param {"png" | "svg"} kind
 * @param {Around} around
 * @returns {Promise<Blob>}
 */
export async function pictureOf(parts, kind, { background, colour, font, titles, titled = true }) {
  const lines = titled ? titles : [];
  const head = parts.some(({ title }) => title) ? TITLE : 0;
  const width = parts.reduce((sum, part) => sum + part.width + APART, -APART);
  const height = head + Math.max(...parts.map((part) => part.height));
  const above = lines.length * TITLE + (lines.length ? MARGIN / 2 : 0);
  const [across, down] = [width + 2 * MARGIN, height + above + 2 * MARGIN];
  /** @type {(pen: Pen, scale: number) => void} */
  const draw = (pen, scale) => {
    pen.textBaseline = "middle";
    pen.fillStyle = colour;
    lines.forEach((title, i) => {
      pen.font = `${i ? 400 : 600} 13px ${font}`;
      pen.fillText(fitted(pen, title, width), MARGIN, MARGIN + (i + 0.5) * TITLE);
    });
    pen.translate(MARGIN, MARGIN + above);
    for (const { view, width: wide, height: high, title = "" } of parts) {
      pen.font = `600 13px ${font}`;
      pen.fillStyle = colour;
      pen.textAlign = "left";
      if (title) pen.fillText(fitted(pen, title, wide), 0, TITLE / 2);
      pen.save();
      pen.translate(0, head);
      view.draw(pen, wide, high, scale);
      pen.restore();
      pen.translate(wide + APART, 0);
    }
  };
  if (kind === "svg") {
    const pen = new SvgContext(across, down, background, titles.join(". "));
    draw(pen, 1);
    return new Blob([pen.toString()], { type: "image/svg+xml" });
  }
  const canvas = new OffscreenCanvas(across * 2, down * 2);
  const pen = contextOf(canvas);
  pen.scale(2, 2);
  pen.fillStyle = background;
  pen.fillRect(0, 0, across, down);
  draw(pen, 2);
  return canvas.convertToBlob({ type: "image/png" });
}
