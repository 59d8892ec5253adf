// @ts-check
// Drafted steps: a round whose whole draft a reward model scored before the target was asked.

import { fmt, prob } from "../draw.js";

/**
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {{from: number, to: number, score: number, accepted: boolean, drafted: number, limit: number | null,
 *   round: number}} Step  positions [from, to) of the drafted step; `limit`: what the score was compared with
 */

/** The step that a round drafted; null where nothing was scored. @param {Round} round @returns {Step | null} */
export function stepOf(round) {
  const score = round.extras?.reward;
  if (score === undefined || score === null || !round.drafted) return null;
  return {
    from: round.start,
    to: round.start + round.levels,
    score,
    accepted: round.accepted > 0,
    drafted: round.drafted,
    limit: round.nodes?.[0]?.reason?.threshold ?? null,
    round: round.index,
  };
}

/** "step of 12 draft tokens, score 0.93, at least 0.7: accepted, the target was not asked".
 * @param {Step} step @returns {string} */
export function stepWords({ score, accepted, drafted, limit }) {
  const against = limit === null ? "" : `, ${accepted ? "at least" : "below"} ${fmt(limit)}`;
  const fate = accepted ? "accepted, the target was not asked" : "rejected, the target writes the step";
  return `step of ${drafted} draft ${drafted === 1 ? "token" : "tokens"}, score ${prob(score)}${against}: ${fate}`;
}
