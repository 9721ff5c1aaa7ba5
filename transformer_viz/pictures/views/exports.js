// What can be taken along: the picture as PNG or SVG, the chosen head as CSV, and as a table to be read aloud.

import { save } from "./saving.js";
import { csvOf } from "./scene.js";
import { tableOf } from "./table.js";

const DIGITS = 4; // half precision holds no more

/** Return {download(kind), table()} of a lens. */
export function exportsOf(lens) {
  const seen = () => ({ all: "matrix" })[lens.state.view] ?? lens.state.view; // side by side, the matrix is saved
  const name = (kind) => {
    const { layer, head, kind: of } = lens.state;
    const view = kind === "csv" ? lens.state.value : seen();
    return `${lens.model}-${of}-layer${layer + 1}-head${head + 1}-${view}.${kind}`;
  };

  /** What stands above a picture: what it is of, and the tokens that were read. */
  function titles() {
    const { attention, words, model, views } = lens;
    const kinds = Object.keys(lens.attentions).length;
    const title = views[seen()].title.textContent || lens.headTitle();
    const tokens = attention.keyTokens.join(" ");
    return [[model, kinds > 1 && attention.name, title].filter(Boolean).join(" · "), `${words.key}: ${tokens}`];
  }

  const csv = () => new Blob([csvOf(lens.scene(), DIGITS)], { type: "text/csv" });

  return {
    async download(kind) {
      const { background, text: colour } = lens.theme;
      const around = { background, colour, font: lens.font, titles: titles() };
      const blob = kind === "csv" ? csv() : await lens.surfaces[seen()].picture(kind, around);
      save(blob, name(kind));
    },

    table: () => tableOf(lens.scene(), lens.words.table_query, lens.words.table_keys),
  };
}
