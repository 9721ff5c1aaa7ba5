// Where the cells, the labels and the sums of a panel stand.

import { stride, widest } from "./text.js";

const SLANT = Math.SQRT1_2;
const MOST_LABEL = 96;
const [LOW, LOW_LINE] = [190, 30]; // pixels that the rows, and one of them, need not exceed
const LINE = 1.25; // of the size of a font, from one label to the next

/** Return where everything stands; panels of the same tokens and width have the same. */
export function place(of, ruler, width) {
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
