// One head as a matrix: rows read, columns are read. Zoom with the wheel, pan by dragging, arrows move the cell.

import { css, entry } from "./colour.js";
import { fitted, PIXELS, stride, widest } from "./text.js";

const LEAST_CELL = 3;
const MOST_CELL = 44;
const LEGEND = 34;
const MOST_HEIGHT = 640;
const MOST_LABEL = 110;
const TILT = Math.SQRT1_2; // of a label turned by 45 degrees
const SEPARATE = 9; // pixels from which cells are told apart by a line
const VECTORS = 4000; // visible cells up to which each is a rectangle of its own

/** Return the view; `lens` has `attention`, `state`, `select`, `theme`, `ramps`, `font`. */
export function matrix(lens) {
  let window_ = null; // [first row, rows, first column, columns] in view, in tokens; null: all
  let seen = ""; // what the window belongs to
  let layout = null;
  const ruler = new OffscreenCanvas(1, 1).getContext("2d");

  function measure(width) {
    const { queryTokens, keyTokens, queries, keys } = lens.attention;
    ruler.font = `${PIXELS}px ${lens.font}`;
    const left = widest(ruler, queryTokens, MOST_LABEL) + 26;
    const longest = widest(ruler, keyTokens, MOST_LABEL);
    const within = (room) => Math.min(MOST_CELL, Math.max(LEAST_CELL, MOST_HEIGHT / queries), Math.max(60, room) / keys);
    const flat = within(width - left - 8);
    const tilted = longest > Math.max(flat, PIXELS * 1.2) - 4;
    const cell = tilted ? within(width - left - longest * TILT) : flat; // the last label ends within the picture
    const top = (tilted ? Math.min(MOST_LABEL, longest) * TILT + 14 : PIXELS + 8) + 20;
    return { left, top, tilted, width: cell * keys, height: Math.min(MOST_HEIGHT, cell * queries) };
  }

  function view() {
    const { kind, queries, keys } = lens.attention;
    const key = `${kind}/${queries}/${keys}`;
    if (key !== seen) [seen, window_] = [key, null];
    return window_ ?? [0, queries, 0, keys];
  }

  const at = (x, y) => {
    if (!layout) return null;
    const [row, rows, column, columns] = view();
    const query = Math.floor(row + ((y - layout.top) / layout.height) * rows);
    const key = Math.floor(column + ((x - layout.left) / layout.width) * columns);
    const [right, bottom] = [layout.left + layout.width, layout.top + layout.height];
    return x >= layout.left && x < right && y >= layout.top && y < bottom ? { query, key } : null;
  };

  function zoom(factor, x, y) {
    const { queries, keys } = lens.attention;
    const [row, rows, column, columns] = view();
    const sizes = [Math.min(queries, Math.max(4, rows * factor)), Math.min(keys, Math.max(4, columns * factor))];
    if (sizes[0] === queries && sizes[1] === keys) window_ = null;
    else {
      const shares = [(y - layout.top) / layout.height, (x - layout.left) / layout.width];
      const begin = (first, before, after, total, share) =>
        Math.max(0, Math.min(total - after, first + (before - after) * share));
      window_ = [
        begin(row, rows, sizes[0], queries, shares[0]),
        sizes[0],
        begin(column, columns, sizes[1], keys, shares[1]),
        sizes[1],
      ];
    }
    lens.redraw();
    return true;
  }

  /** Move what is in view so that a cell is in it. */
  function reveal(query, key) {
    if (!window_) return;
    const [row, rows, column, columns] = window_;
    const within = (first, count, index) => Math.max(index + 1 - count, Math.min(index, first));
    window_ = [within(row, rows, query), rows, within(column, columns, key), columns];
  }

  function drawCells(ctx, field, steps, ramp) {
    const { queries, keys } = lens.attention;
    const [row, rows, column, columns] = view();
    const [first, last] = [Math.floor(row), Math.min(queries, Math.ceil(row + rows))];
    const [begin, end] = [Math.floor(column), Math.min(keys, Math.ceil(column + columns))];
    const [across, down] = steps;
    const gap = Math.min(across, down) >= SEPARATE ? 1 : 0;
    const largest = lens.largest(field);
    if ((last - first) * (end - begin) <= VECTORS) {
      for (let query = first; query < last; query++) {
        for (let key = begin; key < end; key++) {
          const number = field.data[query * keys + key];
          if (Number.isNaN(number)) continue;
          const [x, y] = [layout.left + (key - column) * across, layout.top + (query - row) * down];
          const [left, top] = [Math.max(x, layout.left), Math.max(y, layout.top)];
          const right = Math.min(x + across - gap, layout.left + layout.width);
          const bottom = Math.min(y + down - gap, layout.top + layout.height);
          ctx.fillStyle = css(ramp[entry(number, largest, field.signed)]);
          ctx.fillRect(left, top, right - left, bottom - top);
        }
      }
    } else {
      const image = new OffscreenCanvas(end - begin, last - first);
      const pixels = new ImageData(end - begin, last - first);
      const colours = new Uint32Array(pixels.data.buffer);
      let pixel = 0;
      for (let query = first; query < last; query++) {
        for (let key = begin; key < end; key++, pixel++) {
          const number = field.data[query * keys + key];
          if (!Number.isNaN(number)) colours[pixel] = ramp[entry(number, largest, field.signed)];
        }
      }
      image.getContext("2d").putImageData(pixels, 0, 0);
      ctx.imageSmoothingEnabled = false;
      const inView = [column - begin, row - first, columns, rows];
      ctx.drawImage(image, ...inView, layout.left, layout.top, layout.width, layout.height);
    }
  }

  function drawLabels(ctx, across, down) {
    const { queryTokens, keyTokens } = lens.attention;
    const { query: litQuery, key: litKey } = lens.state;
    const [row, rows, column, columns] = view();
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    const every = stride(down, PIXELS + 1);
    for (let query = Math.ceil(row - 0.5); query < row + rows - 0.5; query++) {
      if (query % every && query !== litQuery) continue;
      const lit = query === litQuery;
      if (!lit && litQuery !== null && Math.abs(query - litQuery) * down < PIXELS) continue;
      label(ctx, queryTokens[query], lit, layout.left - 8, layout.top + (query + 0.5 - row) * down);
    }
    const each = stride(across, layout.tilted ? (PIXELS + 2) / TILT : across);
    for (let key = Math.ceil(column - 0.5); key < column + columns - 0.5; key++) {
      if (key % each && key !== litKey) continue;
      const lit = key === litKey;
      if (!lit && litKey !== null && Math.abs(key - litKey) * across < PIXELS) continue;
      ctx.save();
      ctx.translate(layout.left + (key + 0.5 - column) * across, layout.top - 7);
      ctx.textAlign = layout.tilted ? "left" : "center";
      if (layout.tilted) ctx.rotate(-Math.PI / 4);
      label(ctx, keyTokens[key], lit, layout.tilted ? 2 : 0, layout.tilted ? 0 : -4);
      ctx.restore();
    }
  }

  /** The scale of the colours with the numbers at its ends. */
  function drawLegend(ctx, field) {
    const ramp = field.signed ? lens.ramps.diverging : lens.ramps.sequential;
    const largest = lens.largest(field);
    const y = layout.top + layout.height + 14;
    const begin = field.signed ? (-largest).toPrecision(3) : "0";
    ctx.font = `${PIXELS - 1}px ${lens.font}`;
    ctx.fillStyle = lens.theme.muted;
    ctx.textAlign = "left";
    ctx.fillText(begin, layout.left, y + 5);
    const x = layout.left + ctx.measureText(begin).width + 6;
    for (let i = 0; i < 64; i++) {
      ctx.fillStyle = css(ramp[i * 4 + 2]);
      ctx.fillRect(x + i * 2, y, 2.5, 9);
    }
    ctx.fillStyle = lens.theme.muted;
    ctx.fillText(`${largest.toPrecision(3)}  ${lens.words.values[lens.state.value]}`, x + 135, y + 5);
  }

  function label(ctx, token, lit, x, y) {
    ctx.font = `${lit ? 600 : 400} ${PIXELS}px ${lens.font}`;
    ctx.fillStyle = lit ? lens.theme.text : lens.theme.soft;
    ctx.fillText(fitted(ctx, token, MOST_LABEL), x, y);
  }

  return {
    height: (width) => {
      const { top, height } = measure(width);
      return top + height + LEGEND;
    },
    draw(ctx, width) {
      layout = measure(width);
      const { layer, head, value, query, key } = lens.state;
      const [row, rows, column, columns] = view();
      const [across, down] = [layout.width / columns, layout.height / rows];
      const field = lens.attention.field(layer, head, value);
      drawCells(ctx, field, [across, down], field.signed ? lens.ramps.diverging : lens.ramps.sequential);
      drawLabels(ctx, across, down);
      ctx.font = `${PIXELS - 1}px ${lens.font}`;
      ctx.fillStyle = lens.theme.muted;
      ctx.textAlign = "left";
      ctx.fillText(lens.words.key, layout.left, 9);
      ctx.save();
      ctx.translate(9, layout.top + layout.height / 2);
      ctx.rotate(-Math.PI / 2);
      ctx.textAlign = "center";
      ctx.fillText(lens.attention.queryTitle, 0, 0);
      ctx.restore();
      drawLegend(ctx, field);
      ctx.strokeStyle = lens.theme.text;
      ctx.lineWidth = 1;
      ctx.globalAlpha = 0.55;
      const inside = (index, first, count) => index !== null && index >= first && index < first + count;
      if (inside(query, row, rows)) {
        ctx.strokeRect(layout.left, layout.top + (query - row) * down, layout.width, Math.max(1, down));
      }
      if (inside(key, column, columns)) {
        ctx.strokeRect(layout.left + (key - column) * across, layout.top, Math.max(1, across), layout.height);
      }
      ctx.globalAlpha = 1;
    },
    point(x, y) {
      const cell = at(x, y);
      lens.light(cell ?? { query: null, key: null }, cell && [x, y]);
    },
    leave: () => lens.light({ query: null, key: null }),
    press(x, y) {
      const cell = at(x, y);
      if (cell) lens.pin(cell);
    },
    wheel: (event, x, y) => at(x, y) && (event.ctrlKey || window_ || event.altKey) && zoom(event.deltaY < 0 ? 0.8 : 1.25, x, y),
    drag(dx, dy) {
      if (!window_) return;
      const { queries, keys } = lens.attention;
      const [row, rows, column, columns] = window_;
      const move = (first, count, total, pixels, size) =>
        Math.max(0, Math.min(total - count, first - (pixels / size) * count));
      window_ = [
        move(row, rows, queries, dy, layout.height),
        rows,
        move(column, columns, keys, dx, layout.width),
        columns,
      ];
      lens.redraw();
    },
    reset() {
      window_ = null;
      lens.redraw();
    },
    key(event) {
      const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const { queries, keys } = lens.attention;
      const center = [layout.left + layout.width / 2, layout.top + layout.height / 2];
      if (event.key === "+" || event.key === "=") return zoom(0.7, ...center);
      if (event.key === "-") return zoom(1.4, ...center);
      const { query, key } = lens.state;
      if (event.key === "Escape") lens.pin({ query: null, key: null });
      if ((event.key === "Enter" || event.key === " ") && query !== null && key !== null) {
        lens.pin({ query, key });
        return true;
      }
      if (!(event.key in moves)) return event.key === "Escape";
      const [down, right] = moves[event.key];
      const moved = (index, by, count) => Math.max(0, Math.min(count - 1, index === null ? 0 : index + by));
      const cell = { query: moved(query, down, queries), key: moved(key, right, keys) };
      reveal(cell.query, cell.key);
      lens.light(cell, "cell");
      return true;
    },
    /** Place of a cell's middle on the canvas. */
    middle(query, key) {
      const [row, rows, column, columns] = view();
      return [
        layout.left + ((key + 0.5 - column) / columns) * layout.width,
        layout.top + ((query + 0.5 - row) / rows) * layout.height,
      ];
    },
  };
}
