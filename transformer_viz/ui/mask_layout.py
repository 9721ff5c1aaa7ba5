"""What the browser draws of the figure of a matrix, and where: the first half of a panel's script."""

LAYOUT = """
import { css, entry, ramp } from "./colour.js";
import { fitted, stride, widest } from "./text.js";

const SLANT = Math.SQRT1_2;
const MOST_LABEL = 96;
const [LOW, LOW_LINE] = [190, 30]; // pixels that the rows, and one of them, need not exceed
const LINE = 1.25; // of the size of a font, from one label to the next

/** Return the numbers of an array as Plotly's JSON has them. */
function numbers({ bdata }) {
  return new Float32Array(Uint8Array.from(atob(bdata), (letter) => letter.charCodeAt(0)).buffer);
}

/** Return what is drawn of a Plotly figure of a matrix. */
function read({ figure, rows, columns, paint, words, alt }) {
  const { data, layout } = JSON.parse(figure);
  const [cells, sums] = data;
  return {
    rows, columns, paint, words, alt,
    values: numbers(cells.z),
    colours: ramp(cells.colorscale),
    limit: cells.zmax,
    signed: cells.zmin < 0,
    gap: cells.xgap,
    ticks: cells.showscale ? cells.colorbar.ticktext : [],
    hover: cells.hovertemplate,
    sums: sums && { values: numbers(sums.x), colours: sums.marker.color, title: layout.xaxis2.title.text },
    pixels: layout.xaxis.tickfont.size,
    text: layout.font.color,
    muted: cells.colorbar.tickfont.color,
    back: layout.shapes[0].fillcolor,
  };
}

/** Return where everything stands; panels of the same tokens and width have the same. */
function place(of, ruler, width) {
  const [count, lines] = [of.columns.length, of.rows.length];
  const left = widest(ruler, of.rows, Math.min(MOST_LABEL, width * 0.3)) + 6;
  const longest = widest(ruler, of.columns, MOST_LABEL);
  const share = of.sums ? 0.74 : 1;
  const room = ((width - left - 4) * share) / count;
  const flat = longest + 4 <= Math.max(room, of.pixels * 1.4 + 4);
  const need = { 0: longest + 4, 45: (of.pixels * LINE) / SLANT, 90: of.pixels * LINE };
  const beyond = of.columns.map(
    (token, i) => (widest(ruler, [token], MOST_LABEL) + of.pixels) * SLANT - (count - i - 0.5) * room,
  );
  const overhang = of.sums ? 4 : Math.max(4, ...beyond);
  const slanted = ((width - left - overhang) * share) / count >= need[45];
  const tilt = flat ? 0 : slanted ? 45 : 90;
  const right = tilt === 45 ? overhang : 4;
  const across = (width - left - right) * share;
  const cell = across / count;
  const above = { 0: of.pixels, 45: (longest + of.pixels) * SLANT, 90: longest }[tilt] + 6;
  const top = Math.max(of.sums ? 20 : 0, above);
  const most = Math.min(across, cell * lines, Math.max(LOW, LOW_LINE * lines));
  const down = lines <= 40 ? Math.max(lines * of.pixels * 1.4, most) : across;
  const line = down / lines;
  const [everyRow, everyColumn] = [stride(line, of.pixels * LINE), stride(cell, need[tilt])];
  return { left, top, right, across, down, cell, line, tilt, longest, width, everyRow, everyColumn };
}
"""
