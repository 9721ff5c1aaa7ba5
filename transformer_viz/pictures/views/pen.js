// The drawing commands that the views use.

/**
 * A canvas context, or the `SvgContext` that writes the same drawing as SVG.
 *
 * @typedef {Pick<CanvasRenderingContext2D, "fillStyle" | "strokeStyle" | "globalAlpha" | "lineWidth" | "font" | "textAlign"
 *   | "textBaseline" | "imageSmoothingEnabled" | "save" | "restore" | "translate" | "rotate" | "scale" | "fillRect" | "strokeRect"
 *   | "beginPath" | "moveTo" | "lineTo" | "bezierCurveTo" | "stroke"> & Ruler & Images & {role?: string}} Pen
 */

/**
 * @typedef {object} Ruler Measures texts in its font.
 * @property {string} font
 * @property {(text: string) => {width: number}} measureText
 */

/**
 * @typedef {object} Images
 * @property {(text: string, x: number, y: number) => void} fillText
 * @property {(image: HTMLCanvasElement | OffscreenCanvas, left: number, top: number, columns: number, rows: number, x: number, y: number,
 *   width: number, height: number) => void} drawImage Draws a part of an image in a rectangle.
 */

/**
 * Return the context of a canvas.
 *
 * @param {HTMLCanvasElement | OffscreenCanvas} canvas
 * @returns {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D}
 */
export function contextOf(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser has no 2D canvas.");
  return /** @type {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} */ (context);
}

/**
 * Return a new ruler.
 *
 * @returns {Ruler}
 */
export const newRuler = () => contextOf(new OffscreenCanvas(1, 1));
