// Curves over the steps of a training, with a line at the step that is shown; a press goes to another.

const [HIGH, ABOVE, BELOW, LEFT, BETWEEN] = [190, 26, 24, 44, 28]; // pixels: of all, and around each picture

/**
 * @typedef {object} Picture
 * @property {string} title
 * @property {{name: string, steps: number[], values: (number | null)[], colour: string, dots: boolean}[]} lines
 */

/**
 * What curves are drawn for.
 *
 * @typedef {object} Host
 * @property {() => Picture[]} pictures
 * @property {() => number} step That is shown.
 * @property {() => number} last
 * @property {(step: number) => void} go Called when another is pressed.
 * @property {(said: [number, string[]] | null, place?: [number, number]) => void} say Called with the step that is pointed
 *   at and what the lines hold there.
 * @property {object} theme
 */

/** Return the view, as `surface` takes it. */
export function curves(/** @type {Host} */ host) {
  let places = [];

  const placed = (width) => {
    const count = host.pictures().length;
    const across = (width - (count - 1) * BETWEEN) / count;
    return host.pictures().map((_, i) => ({ left: i * (across + BETWEEN) + LEFT, across: across - LEFT - 8 }));
  };

  function drawPicture(ctx, { title, lines }, { left, across }) {
    const [top, down] = [ABOVE, HIGH - ABOVE - BELOW];
    const most = Math.max(1e-9, ...lines.flatMap(({ values }) => values.filter((value) => value !== null)));
    const marks = ticks(most);
    const end = Math.max(most, marks.at(-1));
    const x = (step) => left + (step / (host.last() || 1)) * across;
    const y = (value) => top + down * (1 - value / end);
    ctx.font = `12px ${host.theme.font}`;
    write(ctx, title, left, 10, "left");
    ctx.font = `11px ${host.theme.font}`;
    for (const mark of marks) {
      write(ctx, String(mark), left - 6, y(mark), "right");
      trace(ctx, [[left, y(mark)], [left + across, y(mark)]], host.theme.line, 1);
    }
    for (const mark of ticks(host.last())) write(ctx, String(mark), x(mark), HIGH - 10, "center");
    for (const { steps, values, colour, dots } of lines) {
      const found = steps.map((step, i) => [x(step), values[i]]).filter(([, value]) => value !== null);
      const points = found.map(([at, value]) => [at, y(value)]);
      trace(ctx, points, colour, 2);
      ctx.fillStyle = colour;
      if (dots || points.length === 1) for (const [at, high] of points) ctx.fillRect(at - 2.5, high - 2.5, 5, 5);
    }
    trace(ctx, [[x(host.step()), top], [x(host.step()), top + down]], host.theme.soft, 1.5);
  }

  function write(ctx, text, x, y, align) {
    ctx.fillStyle = host.theme.muted;
    ctx.textAlign = align;
    ctx.fillText(text, x, y);
  }

  /** Return [number of the picture, step] at a place; null: it is beside them. */
  function stepAt(x) {
    const number = places.findIndex(({ left, across }) => x >= left - LEFT && x <= left + across + BETWEEN / 2);
    if (number < 0) return null;
    const { left, across } = places[number];
    return [number, Math.max(0, Math.min(1, (x - left) / across)) * host.last()];
  }

  /** Return what the lines of a picture hold at the measured step nearest to one, in words. */
  function valuesNear(number, step) {
    const { lines } = host.pictures()[number];
    const measured = lines[0].steps.filter((_, i) => lines.some(({ values }) => values[i] !== null));
    if (!measured.length) return null;
    const nearest = measured.reduce((best, each) => (Math.abs(each - step) < Math.abs(best - step) ? each : best));
    const held = lines.map(({ name, steps, values }) => [name, values[steps.indexOf(nearest)]]);
    return [nearest, held.filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${value}`)];
  }

  return {
    height: () => HIGH,
    draw(ctx, width) {
      places = placed(width);
      ctx.textBaseline = "middle";
      host.pictures().forEach((picture, i) => drawPicture(ctx, picture, places[i]));
    },
    point(x, y) {
      const found = stepAt(x);
      host.say(found && valuesNear(...found), [x, y]);
    },
    leave: () => host.say(null),
    press(x) {
      const found = stepAt(x);
      if (found) host.go(found[1]);
    },
  };
}

function trace(ctx, points, colour, width) {
  ctx.beginPath();
  points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  Object.assign(ctx, { strokeStyle: colour, lineWidth: width });
  ctx.stroke();
}

/** Return about four round numbers from 0 to at most so much. */
export function ticks(most) {
  if (!most) return [0];
  const size = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map((each) => each * size).find((each) => most / each <= 5);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}
