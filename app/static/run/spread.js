// @ts-check
// Median and range of repeated runs, in words.

import { perCall, percent, perSecond, times } from "../draw.js";
import { incomparable } from "../numbers.js";
import { forcedOf } from "../run.js";

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

/** The speed of a run over that of the reference lane, up to the time that is shown; null where it would mean nothing.
 * @param {import("../types/store.js").Store} store @param {import("../types/store.js").Run} run
 * @param {import("../types/store.js").Run | null | undefined} reference @returns {number | null} */
export function speedOver(store, run, reference) {
  if (!reference || reference === run || forcedOf(run) || incomparable(run, reference)) return null;
  const [ours, theirs] = [run, reference].map((one) => store.stats(one).perSecond);
  return ours && theirs ? ours / theirs : null;
}

/** A lane's figures as they are shown: of its repeated runs, the medians, once there are some and the whole is shown;
 * else of the run on the stage up to the time that is shown. Counts are always of that run; `alike` says whether every
 * repeated one has as many calls for its tokens.
 * @param {import("../types/store.js").Store} store @param {import("../types/store.js").Run} run
 * @param {import("../types/store.js").Run | null | undefined} reference that its speed is compared with */
export function shownFigures(store, run, reference) {
  const stats = store.stats(run);
  const again = store.time.at === Infinity ? repeatedOf(store, run.key) : null;
  return {
    again,
    stats,
    perSecond: again ? (again.tokens_per_s?.median ?? null) : stats.perSecond,
    tau: again ? (again.tau?.median ?? null) : stats.tau,
    accepted: stats.drafted ? (again ? (again.accept_rate?.median ?? null) : stats.acceptRate) : null,
    ratio: again ? (again.speedup?.median ?? null) : speedOver(store, run, reference),
    alike: !again?.tau || again.tau.low === again.tau.high,
  };
}

/** "1.83× (1.71× to 2.10×)"; one value alone where all are the same.
 * @param {Spread} spread @param {(value: number) => string} text */
export function range({ median, low, high, n }, text) {
  const [middle, least, most] = [median, low, high].map(text);
  if (n === 1) return `${middle} (once)`;
  return least === most ? `${middle} (all the same)` : `${middle} (${least} to ${most})`;
}

/** What a share of accepted draft tokens is a share of: of repeated runs each has its own number.
 * @param {{again: Repeated | null, stats: {drafted: number}}} shown */
export const ofDrafted = ({ again, stats }) => `of ${again ? "drafted" : stats.drafted}`;

/** What repeated runs of a lane gave, each number with its range. @param {Repeated} found @returns {string[]} */
export function spreadWords({ runs, failed, texts, tokens_per_s, speedup, tau, accept_rate }) {
  const words = [`${runs} ${runs === 1 ? "run" : "runs"}${texts > 1 ? `, ${texts} different texts` : ""}`];
  if (tokens_per_s) words.push(`${range(tokens_per_s, perSecond)} tok/s`);
  if (speedup) words.push(`${range(speedup, times)} speed`);
  if (tau) words.push(`${range(tau, perCall)} tokens a call`);
  if (accept_rate) words.push(`${range(accept_rate, percent)} accepted`);
  if (failed) words.push(`${failed} failed`);
  return words;
}
