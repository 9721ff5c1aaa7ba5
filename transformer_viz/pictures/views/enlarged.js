// A view drawn larger, for a projector: as in a smaller window, whose picture is enlarged to fill its canvas.

/** @import {View} from "./surface.js" */
/** @import {Point} from "./tip.js" */

export const PROJECTED = 1.65; // times the usual size: the smallest letters, of 11 pixels, have 18

/**
 * Return a view whose texts, lines and marks are `factor()` times as large, on a canvas of the same width.
 *
 * @param {View} view
 * @param {() => number} factor
 * @returns {View}
 */
export function enlarged(view, factor) {
  /** @type {(called: ((x: number, y: number) => any) | undefined) => ((x: number, y: number) => any) | undefined} */
  const scaled = (called) => called && ((x, y) => called(x / factor(), y / factor()));
  const { wheel } = view;
  return {
    ...view,
    height: (width) => view.height(width / factor()) * factor(),
    draw(pen, width, height, scale) {
      const times = factor();
      pen.save();
      pen.scale(times, times);
      view.draw(pen, width / times, height / times, scale * times);
      pen.restore();
    },
    point: scaled(view.point),
    press: scaled(view.press),
    drag: scaled(view.drag),
    begin: scaled(view.begin),
    end: scaled(view.end),
    wheel: wheel && ((event, x, y) => wheel(event, x / factor(), y / factor())),
  };
}

/**
 * Return the place on the canvas of a place in an enlarged view.
 *
 * @param {Point} place
 * @param {number} factor
 * @returns {Point}
 */
export const onCanvas = ([x, y], factor) => [x * factor, y * factor];
