// All heads of one attention as thumbnails, layers down and heads across, or in the order of one of their figures.

import { HALF } from "./payload.js";
import { PIXELS } from "./text.js";

const MOST_SIDE = 96;
const GAP = 6;
const FINEST = 64; // pixels of a thumbnail: more tokens are pooled to their largest weight

/** Return the view; `lens` as for the matrix. */
export function grid(lens) {
  let layout = null;
  let images = null;

  /** Return the thumbnails of an attention, drawn once. */
  function thumbnails() {
    const { attention, ramps } = lens;
    if (images?.attention === attention && images.ramp === ramps.sequential) return images.all;
    const all = [];
    for (let layer = 0; layer < attention.layers; layer++) {
      for (let head = 0; head < attention.heads; head++) all.push(thumbnail(attention, layer, head, ramps.sequential));
    }
    images = { attention, ramp: ramps.sequential, all };
    return all;
  }

  function order() {
    const { attention, state } = lens;
    const places = Array.from({ length: attention.layers * attention.heads }, (_, i) => i);
    const figure = attention.figures[state.sort];
    if (!figure) return places;
    return places.sort((a, b) => (figure[b] ?? -Infinity) - (figure[a] ?? -Infinity) || a - b);
  }

  function measure(width) {
    const { attention, state } = lens;
    const { layers, heads } = attention;
    const sorted = Boolean(attention.figures[state.sort]);
    const left = sorted ? 0 : 22;
    const columns = sorted ? Math.max(1, Math.min(layers * heads, Math.floor(width / 70))) : heads;
    const rows = sorted ? Math.ceil((layers * heads) / columns) : layers;
    const shape = Math.max(0.4, Math.min(2.5, attention.queries / attention.keys));
    const side = Math.min(MOST_SIDE, (width - left) / columns - GAP);
    const below = sorted ? 2 * PIXELS + 8 : 0; // its name, and its figure
    return { sorted, left, top: 24, columns, rows, side, tall: side * shape, below };
  }

  const corner = (place) => [
    layout.left + (place % layout.columns) * (layout.side + GAP),
    layout.top + Math.floor(place / layout.columns) * (layout.tall + GAP + layout.below),
  ];

  const at = (x, y) => {
    if (!layout) return null;
    return order().find((_, place) => {
      const [left, top] = corner(place);
      return x >= left && x < left + layout.side + GAP && y >= top && y < top + layout.tall + GAP + layout.below;
    });
  };

  const chosen = () => lens.state.layer * lens.attention.heads + lens.state.head;
  const choose = (number) =>
    lens.select({ layer: Math.floor(number / lens.attention.heads), head: number % lens.attention.heads });

  return {
    height(width) {
      const { rows, tall, below, top } = measure(width);
      return top + rows * (tall + GAP + below) + 6;
    },
    draw(ctx, width) {
      layout = measure(width);
      const { heads } = lens.attention;
      const pictures = thumbnails();
      ctx.textBaseline = "middle";
      ctx.imageSmoothingEnabled = false;
      order().forEach((number, place) => {
        const [x, y] = corner(place);
        const { image, columns, rows } = pictures[number];
        ctx.drawImage(image, 0, 0, columns, rows, x, y, layout.side, layout.tall);
        const [layer, head] = [Math.floor(number / heads), number % heads];
        const isChosen = number === chosen();
        const isShown = isChosen || (layer === lens.state.layer && lens.state.shown.has(head));
        ctx.strokeStyle = isShown ? lens.colours[head % lens.colours.length] : lens.theme.line;
        ctx.lineWidth = isChosen ? 3 : 1;
        ctx.strokeRect(x, y, layout.side, layout.tall);
        if (!layout.sorted) return;
        const middle = x + layout.side / 2;
        text(ctx, `L${layer + 1} H${head + 1}`, middle, y + layout.tall + 11, isChosen);
        text(ctx, lens.figure(lens.state.sort, number), middle, y + layout.tall + 26, isChosen);
      });
      if (layout.sorted) return;
      for (let head = 0; head < heads; head++) {
        text(ctx, head + 1, corner(head)[0] + layout.side / 2, 12, head === lens.state.head);
      }
      for (let layer = 0; layer < lens.attention.layers; layer++) {
        text(ctx, layer + 1, 8, corner(layer * heads)[1] + layout.tall / 2, layer === lens.state.layer);
      }
    },
    point(x, y) {
      const number = at(x, y);
      lens.hint(number === undefined ? null : number, [x, y]);
    },
    leave: () => lens.hint(null),
    press(x, y) {
      const number = at(x, y);
      if (number !== undefined) choose(number);
    },
    key(event) {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -layout.columns, ArrowDown: layout.columns }[event.key];
      if (!by) return false;
      const places = order();
      const next = places.indexOf(chosen()) + by;
      if (next >= 0 && next < places.length) choose(places[next]);
      return true;
    },
    /** A thumbnail, for an enlarged picture of it. */
    thumbnail: (number) => thumbnails()[number],
  };

  function text(ctx, words, x, y, lit) {
    ctx.font = `${lit ? 600 : 400} ${PIXELS - 1}px ${lens.font}`;
    ctx.fillStyle = lit ? lens.theme.text : lens.theme.muted;
    ctx.textAlign = "center";
    ctx.fillText(words, x, y);
  }
}

/** Return a head as an image of at most FINEST pixels a side; each pixel is the largest weight of its tokens. */
function thumbnail(attention, layer, head, table) {
  const { queries, keys } = attention;
  const [rows, columns] = [Math.min(queries, FINEST), Math.min(keys, FINEST)];
  const bits = attention.bits(layer, head);
  const pooled = new Uint16Array(rows * columns); // halves of weights are in the order of their bits
  const column = Uint16Array.from({ length: keys }, (_, key) => Math.floor((key * columns) / keys));
  let largest = 0;
  for (let query = 0, cell = 0; query < queries; query++) {
    const row = Math.floor((query * rows) / queries) * columns;
    for (let key = 0; key < keys; key++, cell++) {
      const pixel = row + column[key];
      if (bits[cell] > pooled[pixel]) pooled[pixel] = bits[cell];
    }
  }
  for (const weight of pooled) largest = Math.max(largest, weight);
  const scale = 255 / (HALF[largest] || 1);
  const pixels = new ImageData(columns, rows);
  const colours = new Uint32Array(pixels.data.buffer);
  pooled.forEach((weight, pixel) => {
    colours[pixel] = table[Math.round(HALF[weight] * scale)];
  });
  const image = new OffscreenCanvas(columns, rows);
  image.getContext("2d").putImageData(pixels, 0, 0);
  return { image, columns, rows };
}
