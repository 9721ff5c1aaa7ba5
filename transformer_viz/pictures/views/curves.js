// Curves over the steps of a training run, with a line at the current step; a press selects another step.

/** @import {Pen} from "./pen.js" */
/** @import {View} from "./surface.js" */
/** @import {Theme} from "./theme.js" */
/** @import {Point} from "./tip.js" */

const [HIGH, ABOVE, BELOW, LEFT, BETWEEN] = [190, 26, 24, 44, 28]; // pixels: of a picture, and around it

/** @typedef {{name: string, steps: number[], values: (number | null)[], colour: string, dots?: boolean}} Curve */

/** @typedef {{title: string, lines: Curve[]}} Picture */

/** @typedef {{left: number, across: number}} Axis */

/** @typedef {{step: number, last: number}} Run The current and the last step. */

/**
 * What the curves need from the page around them.
 *
 * @typedef {object} CurvesHost
 * @property {() => Picture[]} pictures
 * @property {() => Run} run
 * @property {() => Theme} theme
 * @property {(step: number) => void} go Called when a step is pressed.
 * @property {(values: {step: number, texts: string[]} | null, place: Point) => void} hover Called with the values at the
 *   step under the pointer.
 */

/**
 * Return the view.
 *
 * @param {CurvesHost} host
 * @returns {View}
 */
export function curves(host) {
  /** @type {Axis[]} */
  let axes = [];

  /** Return a picture and the step at a place; null: it is beside the pictures. @param {number} x */
  function stepAt(x) {
    const number = axes.findIndex(({ left, across }) => x >= left - LEFT && x <= left + across + BETWEEN / 2);
    if (number < 0) return null;
    const { left, across } = axes[number];
    const step = Math.max(0, Math.min(1, (x - left) / across)) * host.run().last;
    return { picture: host.pictures()[number], step };
  }

  return {
    height: () => HIGH,
    draw(pen, width) {
      const pictures = host.pictures();
      axes = axesOf(pictures.length, width);
      pen.textBaseline = "middle";
      pictures.forEach((picture, i) => drawPicture(pen, picture, axes[i], host.run(), host.theme()));
    },
    point(x, y) {
      const found = stepAt(x);
      host.hover(found && valuesNear(found.picture, found.step), [x, y]);
    },
    leave: () => host.hover(null, [0, 0]),
    press(x) {
      const found = stepAt(x);
      if (found) host.go(found.step);
    },
  };
}

/**
 * @param {number} count
 * @param {number} width
 * @returns {Axis[]}
 */
function axesOf(count, width) {
  const across = (width - (count - 1) * BETWEEN) / count;
  return Array.from({ length: count }, (_, i) => ({
    left: i * (across + BETWEEN) + LEFT,
    across: across - LEFT - 8,
  }));
}

/**
 * Return the values at the measured step nearest to a step; null: nothing was measured.
 *
 * @param {Picture} picture
 * @param {number} step
 */
export function valuesNear({ lines }, step) {
  const measured = lines[0].steps.filter((_, i) => lines.some(({ values }) => values[i] !== null));
  if (!measured.length) return null;
  const nearest = measured.reduce((best, each) =>
    Math.abs(each - step) < Math.abs(best - step) ? each : best,
  );
  const texts = lines.flatMap(({ name, steps, values }) => {
    const value = values[steps.indexOf(nearest)];
    return value === null ? [] : [`${name}: ${value}`];
  });
  return { step: nearest, texts };
}

/**
 * @param {Pen} pen
 * @param {Picture} picture
 * @param {Axis} axis
 * @param {Run} run
 * @param {Theme} theme
 */
function drawPicture(pen, { title, lines }, { left, across }, { step, last }, theme) {
  const [top, down] = [ABOVE, HIGH - ABOVE - BELOW];
  const most = Math.max(1e-9, ...lines.flatMap(({ values }) => values.filter((value) => value !== null)));
  const marks = ticks(most);
  const end = Math.max(most, marks[marks.length - 1]);
  const x = (/** @type {number} */ step) => left + (step / (last || 1)) * across;
  const y = (/** @type {number} */ value) => top + down * (1 - value / end);
  /** @type {(text: string, x: number, y: number, align: CanvasTextAlign) => void} */
  const write = (text, x, y, align) => {
    pen.fillStyle = theme.muted;
    pen.textAlign = align;
    pen.fillText(text, x, y);
  };
  pen.font = `12px ${theme.font}`;
  write(title, left, 10, "left");
  pen.font = `11px ${theme.font}`;
  for (const mark of marks) {
    write(String(mark), left - 6, y(mark), "right");
    trace(
      pen,
      [
        [left, y(mark)],
        [left + across, y(mark)],
      ],
      theme.line,
      1,
    );
  }
  for (const mark of ticks(last)) write(String(mark), x(mark), HIGH - 10, "center");
  for (const curve of lines) drawCurve(pen, curve, x, y);
  trace(
    pen,
    [
      [x(step), top],
      [x(step), top + down],
    ],
    theme.soft,
    1.5,
  );
}

/**
 * @param {Pen} pen
 * @param {Curve} curve
 * @param {(step: number) => number} x
 * @param {(value: number) => number} y
 */
function drawCurve(pen, { steps, values, colour, dots }, x, y) {
  const points = steps.flatMap((step, i) => {
    const value = values[i];
    return value === null ? [] : [/** @type {Point} */ ([x(step), y(value)])];
  });
  trace(pen, points, colour, 2);
  pen.fillStyle = colour;
  if (dots || points.length === 1) for (const [at, high] of points) pen.fillRect(at - 2.5, high - 2.5, 5, 5);
}

/**
 * Draw a line through points.
 *
 * @param {Pen} pen
 * @param {Point[]} points
 * @param {string} colour
 * @param {number} width
 */
function trace(pen, points, colour, width) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
}

/**
 * Return about four round numbers from 0 to at most `most`.
 *
 * @param {number} most
 */
export function ticks(most) {
  if (!most) return [0];
  const size = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map((each) => each * size).find((each) => most / each <= 5) ?? 10 * size;
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) =>
    Number((i * step).toPrecision(6)),
  );
}
