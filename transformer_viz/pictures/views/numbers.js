// Numbers as the language of the page writes them, with a real minus sign.

const LEAST = 1e-4; // smaller ones are written with an exponent
const LEAST_SHARE = 1e-6; // of smaller ones, only that they are smaller is written

/** @typedef {ReturnType<typeof numbersIn>} Numbers */

/**
 * Return the ways in which a language writes numbers.
 *
 * @param {string} language BCP 47.
 */
export function numbersIn(language) {
  /** @param {Intl.NumberFormatOptions} options @returns {(number: number) => string} */
  const written = (options) => {
    const format = new Intl.NumberFormat(language, options);
    return (number) => format.format(number).replaceAll("-", "−");
  };
  const three = { maximumSignificantDigits: 3 };
  const [plain, tiny] = [written(three), written({ ...three, notation: "scientific" })];
  const exact = written({ ...three, minimumSignificantDigits: 3, style: "percent" });
  const least = written({ maximumSignificantDigits: 1, style: "percent" })(LEAST_SHARE);
  const [whole, tenths] = [0, 1].map((digits) =>
    written({ style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits }),
  );
  return {
    short: (/** @type {number} */ number) =>
      number && Math.abs(number) < LEAST ? tiny(number) : plain(number),
    decimal: written({ minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    hundredths: written({ minimumFractionDigits: 2, maximumFractionDigits: 2 }),
    percent: (/** @type {number} */ share) => (share < 0.1 ? tenths : whole)(share),
    exactPercent: (/** @type {number} */ share) => (share < LEAST_SHARE ? `< ${least}` : exact(share)),
  };
}
