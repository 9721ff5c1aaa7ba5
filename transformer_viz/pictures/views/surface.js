// One canvas that a view draws on and is pointed at; the same drawing goes to the screen, a PNG or an SVG.

import { SvgContext } from "./svg.js";
import { fitted } from "./text.js";

const MARGIN = 14; // around a picture that is saved
const TITLE = 20; // height of a line of text above it

/** Show a view in an element.

 * A view has `height(width)` and `draw(ctx, width, height, scale)`, where `scale` is how many pixels of the picture are
 * one of the drawing; `prepare()`, called before both; and, where it can be pointed at or typed into, `point(x, y)`,
 * `leave()`, `press(x, y)`, `wheel(event, x, y)`, `drag(dx, dy)`, `reset()` and `key(event)`; what it returns says
 * whether the event was for it. Where `begin(x, y)` is true, the pointer that went down there belongs to the view,
 * which is told of its way by `point` and of its end by `end(x, y)`.
 */
export function surface(root, view) {
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  root.append(canvas);
  const ctx = canvas.getContext("2d");
  let frame = 0;
  let width = 0;
  let height = 0;
  let held = null;

  function paint() {
    frame = 0;
    width = root.clientWidth;
    if (!width) return;
    view.prepare?.();
    height = view.height(width);
    const scale = window.devicePixelRatio || 1;
    const [pixels, lines] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== pixels || canvas.height !== lines) {
      [canvas.width, canvas.height] = [pixels, lines];
      canvas.style.height = `${height}px`;
    }
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    view.draw(ctx, width, height, scale);
  }

  const redraw = () => {
    frame ||= requestAnimationFrame(paint);
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const on = (name, handle, options) => canvas.addEventListener(name, handle, options);
  on("pointermove", (event) => {
    const [x, y] = place(event);
    if (held?.own) return view.point(x, y);
    if (held && view.drag && Math.hypot(x - held.from[0], y - held.from[1]) > 3) held.moved = true;
    if (held?.moved) view.drag(x - held.at[0], y - held.at[1]);
    else view.point?.(x, y);
    if (held) held.at = [x, y];
    return undefined;
  });
  on("pointerdown", (event) => {
    if (event.button) return;
    held = { from: place(event), at: place(event), own: view.begin?.(...place(event)) ?? false };
    if (view.drag || held.own) canvas.setPointerCapture(event.pointerId);
  });
  on("pointerup", (event) => {
    if (held?.own) view.end(...place(event));
    else if (held && !held.moved) view.press?.(...place(event));
    held = null;
  });
  const leave = () => {
    held = null;
    view.leave?.();
  };
  on("pointerleave", leave);
  on("pointercancel", leave);
  on("wheel", (event) => view.wheel?.(event, ...place(event)) && event.preventDefault(), { passive: false });
  on("dblclick", () => view.reset?.());
  on("keydown", (event) => view.key?.(event) && event.preventDefault());
  const observer = new ResizeObserver(redraw);
  observer.observe(root);
  redraw();
  return {
    canvas,
    redraw,
    /** The picture as it stands, as a Blob of "png" or "svg", with lines of text above it. */
    async picture(kind, { background, colour, font, titles }) {
      const above = titles.length * TITLE + (titles.length ? MARGIN / 2 : 0);
      const size = [width + 2 * MARGIN, height + above + 2 * MARGIN];
      const copy = new OffscreenCanvas(size[0] * 2, size[1] * 2);
      const drawing = kind === "svg" ? new SvgContext(...size, background) : copy.getContext("2d");
      if (kind === "png") {
        drawing.scale(2, 2);
        drawing.fillStyle = background;
        drawing.fillRect(0, 0, ...size);
      }
      drawing.textBaseline = "middle";
      drawing.fillStyle = colour;
      titles.forEach((title, i) => {
        drawing.font = `${i ? 400 : 600} 13px ${font}`;
        drawing.fillText(fitted(drawing, title, width), MARGIN, MARGIN + (i + 0.5) * TITLE);
      });
      drawing.translate(MARGIN, MARGIN + above);
      view.draw(drawing, width, height, kind === "svg" ? 1 : 2);
      if (kind === "svg") return new Blob([drawing.toString()], { type: "image/svg+xml" });
      return copy.convertToBlob({ type: "image/png" });
    },
    destroy() {
      observer.disconnect();
      cancelAnimationFrame(frame);
      canvas.remove();
    },
  };
}
