// What can be taken along: the picture as PNG or SVG, the chosen head as CSV, and as a table to be read aloud.

import { element } from "./controls.js";
import { save } from "./saving.js";

const DIGITS = 4; // half precision holds no more
const MOST_READ = 3; // keys of a query that the table names

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

  function rows() {
    const { attention, state } = lens;
    const { data } = attention.field(state.layer, state.head, state.value);
    return attention.queryTokens.map((token, query) => [
      token,
      data.subarray(query * attention.keys, (query + 1) * attention.keys),
    ]);
  }

  function csv() {
    const quoted = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const lines = [["", ...lens.attention.keyTokens].map(quoted).join(",")];
    for (const [token, numbers] of rows()) {
      const cells = Array.from(numbers, (number) => (Number.isNaN(number) ? "" : Number(number.toPrecision(DIGITS))));
      lines.push([quoted(token), ...cells].join(","));
    }
    return new Blob([`\ufeff${lines.join("\r\n")}\r\n`], { type: "text/csv" });
  }

  return {
    async download(kind) {
      const { background, text: colour } = lens.theme;
      const around = { background, colour, font: lens.font, titles: titles() };
      const blob = kind === "csv" ? csv() : await lens.surfaces[seen()].picture(kind, around);
      save(blob, name(kind));
    },

    table() {
      const { words, attention } = lens;
      const table = element("table", {});
      const head = element("tr", {});
      for (const text of [words.table_query, words.table_keys]) {
        head.append(element("th", { textContent: text, scope: "col" }));
      }
      table.append(element("thead", {}, head));
      const body = element("tbody", {});
      for (const [token, numbers] of rows()) {
        const best = Array.from(numbers.keys()).filter((key) => !Number.isNaN(numbers[key]));
        best.sort((a, b) => numbers[b] - numbers[a]);
        const read = best.slice(0, MOST_READ).map((key) => `${attention.keyTokens[key]} ${numbers[key].toFixed(3)}`);
        const row = element("tr", {}, element("th", { textContent: token, scope: "row" }));
        row.append(element("td", { textContent: read.join(" · ") }));
        body.append(row);
      }
      table.append(body);
      return table;
    },
  };
}
