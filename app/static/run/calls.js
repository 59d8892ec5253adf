// @ts-check
// A lane's calls in words; which lane needed the fewest target calls, and what made them few.

import { nameOf } from "../columns.js";
import { count } from "../dom.js";
import { percent } from "../draw.js";
import { summary } from "../numbers.js";
import { endedWhole } from "../run.js";
import { answerOf } from "./answer.js";

/** @typedef {{rounds: number, calls: number, drafted: number, iterations: number}} Counts */

/**
 * A sentence about a lane's target calls beside those of the lanes that answered the same prompt to their end.
 * Calls are few where drafts are long and are accepted: both numbers are given, for this lane and the next best.
 * @param {import("../types/store.js").Store} store
 * @param {import("../types/store.js").Run} run
 * @param {boolean} [counted] whether this lane's calls were told just before
 */
export function callsSaid(store, run, counted = false) {
  const lanes = store.lanes
    .flatMap((key) => store.runs.get(key) ?? [])
    .filter((one) => endedWhole(one) && one.head?.prompt === run.head?.prompt && summary(one.rounds).drafted > 0)
    .sort((a, b) => callsOf(a) - callsOf(b));
  if (lanes.length < 2 || !lanes.includes(run)) return "";
  const [least, next] = lanes;
  const calls = callsOf(run);
  if (calls > callsOf(least)) {
    const fewest = `needed the fewest target calls: ${callsOf(least)}, where this needed ${calls}`;
    return `${nameOf(store, least)} ${fewest}${amiss(run, least)}.`;
  }
  const tied = lanes.filter((one) => one !== run && callsOf(one) === calls);
  const told = (/** @type {string} */ words) =>
    counted ? words.charAt(0).toUpperCase() + words.slice(1) : `${count(calls, "target call")}, ${words}`;
  if (tied.length) return told(`as few as ${listed(tied.map((one) => nameOf(store, one)))}.`);
  const [own, other] = [drafts(run), drafts(next)];
  return told(
    `the fewest here: drafts of ${own.size} tokens, ${own.share} of them accepted ` +
      `(${nameOf(store, next)}: ${count(callsOf(next), "call")}, ${other.size} tokens, ${other.share}).`,
  );
}

/** Names in a sentence. @param {readonly string[]} names */
const listed = (names) => [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and ");

/** That few calls made a wrong answer, where this lane's is right.
 * @param {import("../types/store.js").Run} run @param {import("../types/store.js").Run} least */
const amiss = (run, least) =>
  answerOf(run.end)?.right && answerOf(least.end)?.right === false ? ", but its answer is wrong" : "";

/** Calls in words: of the target, or of who writes alone and never asks it: a draft model, or one that writes in place.
 * @param {Counts} numbers */
export function callWords(numbers) {
  if (numbers.iterations) return count(numbers.iterations, "iteration");
  return writesAlone(numbers) ? count(numbers.rounds, "draft call") : count(numbers.calls, "target call");
}

/** Whether a draft model writes by itself. @param {Counts} numbers */
export const writesAlone = ({ rounds, calls, drafted, iterations }) =>
  rounds > 0 && calls === 0 && drafted === 0 && !iterations;

/** Tokens a target call in words; nothing where there was none. @param {number | null} tau @param {string} shown */
export const tauWords = (tau, shown) => (tau === null ? "" : `${shown} tokens a target call`);

/** How often a lane called the target. @param {import("../types/store.js").Run} run */
const callsOf = (run) => run.sums.calls.at(-1) ?? 0;

/** The mean size of a draft, and the share of draft tokens that were accepted.
 * @param {import("../types/store.js").Run} run */
function drafts(run) {
  const { drafted, drafting, accepted } = summary(run.rounds);
  return { size: (drafted / Math.max(1, drafting)).toFixed(1), share: percent(accepted / Math.max(1, drafted)) };
}
