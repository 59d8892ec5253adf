// @ts-check
// Median and range of repeated runs, in words.

import { num } from "../dom.js";
import { percent } from "../draw.js";

/**
 * @typedef {import("../types/analysis.js").Repeated} Repeated
 * @typedef {import("../types/analysis.js").Spread} Spread
 */

/** The repeated runs of a lane, once there are several.
 * @param {import("../types/store.js").Store} store @param {string} key */
export function repeatedOf(store, key) {
  const found = store.status.repeated?.lanes[key];
  return found && found.runs > 1 ? found : null;
}

/** "1.83× (1.71 to 2.10)"; one value alone where all are the same.
 * @param {Spread} spread @param {(value: number) => string} text */
export function range({ median, low, high, n }, text) {
  const [middle, least, most] = [median, low, high].map(text);
  if (n === 1) return `${middle} (once)`;
  return least === most ? `${middle} (all the same)` : `${middle} (${least} to ${most})`;
}

/** @param {number} value */
export const times = (value) => `${num(value, 2)}×`;
/** @param {number} value */
const share = (value) => percent(value) ?? "";

/** What repeated runs of a lane gave, each number with its range. @param {Repeated} found @returns {string[]} */
export function spreadWords({ runs, failed, texts, speedup, tau, accept_rate }) {
  const words = [`${runs} ${runs === 1 ? "run" : "runs"}${texts > 1 ? `, ${texts} different texts` : ""}`];
  if (speedup) words.push(`${range(speedup, times)} speed`);
  if (tau) words.push(`${range(tau, (value) => num(value, 2))} tokens a call`);
  if (accept_rate) words.push(`${range(accept_rate, share)} accepted`);
  if (failed) words.push(`${failed} failed`);
  return words;
}
