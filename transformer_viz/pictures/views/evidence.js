// A bar chart of one head: its mean weight on each pattern over many texts, uniform attention, and this text.

import { element } from "./element.js";
import { fill } from "./text.js";

/** @import {Measured, Words} from "./payload.js" */

const percent = (/** @type {number} */ share) => `${Math.round(100 * share)}%`;
const isKnown = (/** @type {number} */ share) => !Number.isNaN(share);

/**
 * Return the title of the evidence.
 *
 * @param {Measured[]} measured
 * @param {Words} words
 */
export function evidenceTitle(measured, words) {
  const texts = Math.max(0, ...measured.map((each) => each.texts));
  return texts ? fill(words.evidence, { texts: texts.toLocaleString("en") }) : words.evidence_here;
}

/**
 * Return a measure as a sentence.
 *
 * @param {Measured} measure
 * @param {Words} words
 */
export function measureText({ meaning, texts, mean, spread, held, uniform, here }, words) {
  const shown = isKnown(here) ? percent(here) : words.unshown;
  const facts = { meaning, uniform: percent(uniform), here: shown };
  if (!isKnown(mean)) return fill(words.measured_here, facts);
  const over = { mean: percent(mean), spread: percent(spread), held: Math.round(held * texts), texts };
  return fill(words.measured, { ...facts, ...over });
}

/**
 * Return the elements that show the evidence for what a head does; none if nothing was measured.
 *
 * @param {Measured[]} measured
 * @param {string} role Name of the measure that stands out.
 * @param {Words} words
 */
export function evidenceOf(measured, role, words) {
  if (!measured.length) return [];
  const body = element("tbody", {});
  for (const measure of measured) {
    const share = isKnown(measure.mean) ? measure.mean : measure.here;
    body.append(
      element(
        "tr",
        { title: measureText(measure, words), className: measure.name === role ? "role" : "" },
        element("th", { scope: "row", textContent: measure.name }),
        element("td", { className: "track" }, trackOf(measure)),
        element("td", { className: "share", textContent: percent(share) }),
      ),
    );
  }
  const hasMean = measured.some(({ mean }) => isKnown(mean));
  const keys = hasMean ? ["mean", "uniform", "here"] : ["here", "uniform"];
  const legend = element("p", { className: "legend" });
  for (const key of /** @type {("mean" | "uniform" | "here")[]} */ (keys)) {
    const mark = element("span", { className: hasMean || key !== "here" ? `mark ${key}` : "mark mean" });
    legend.append(element("span", {}, mark, words[key]));
  }
  const title = element("summary", {}, element("h3", { textContent: evidenceTitle(measured, words) }));
  return [title, element("table", {}, body), legend];
}

/** @param {Measured} measure */
function trackOf({ mean, spread, uniform, here }) {
  const track = element("div", {});
  const add = (/** @type {string} */ name, /** @type {number} */ left, /** @type {number} */ width = 0) => {
    const part = element("span", { className: name });
    part.style.left = `${100 * left}%`;
    if (width) part.style.width = `${100 * width}%`;
    track.append(part);
  };
  add("mean", 0, isKnown(mean) ? mean : here);
  if (isKnown(mean)) {
    const low = Math.max(0, mean - spread);
    add("spread", low, Math.min(1, mean + spread) - low);
  }
  if (isKnown(uniform)) add("uniform", uniform);
  if (isKnown(mean) && isKnown(here)) add("here", here);
  return track;
}
