// @ts-check
/** A threshold that lies beyond every number it is compared with: the rule then changes nothing, and the page says so.
 * The same meaning as engine/analysis/idle.py; tests/vectors hold the two together. */

import { fmt } from "./draw.js";
import { choose, holds, terms } from "./rules.js";

/** @typedef {import("./types/threshold.js").Threshold} Threshold */
/** @typedef {import("./types/threshold.js").Condition} Condition */
/** @typedef {import("./types/threshold.js").Compare} Compare */
/** @typedef {import("./types/analysis.js").Idle} Idle */
/** @typedef {import("./rules.js").Numbers} Numbers */
/** @typedef {import("./rules.js").Knobs} Knobs */

const SHARES = ["overlap", "p", "q", "score", "confidence", "reward"];
const ENTROPIES = ["h", "h_draft", "h_target"];
const ASKS = { ">": "more than", ">=": "at least", "<": "less than", "<=": "at most" };
/** @type {Readonly<Record<string, string>>} */
const NAMES = {
  h_draft: "the draft's entropy",
  h_target: "the target's entropy",
  overlap: "the share of common first choices",
  p: "the target's probability",
  q: "the draft's probability",
  rank: "the rank with the target",
  gap: "the gap to the target's first choice",
  score: "the judge's importance",
  reward: "the step's reward",
};

/** The first comparison that no node meets, or that none can; null where the condition may hold.
 * @param {Threshold} threshold @param {Knobs} knobs @param {readonly Numbers[]} nodes tested ones; those that the
 * condition does not decide on are left out @param {number} vocab @returns {Idle | null} */
export function idle(threshold, knobs, nodes, vocab) {
  const seen = nodes.filter((node) => isAsked(threshold, knobs, node));
  for (const one of necessary(threshold.condition, knobs)) {
    const [fixed] = terms(one, knobs, {});
    const upper = one.compare === ">" || one.compare === ">=";
    const end = possible(fixed.name, upper, vocab);
    const about = { name: fixed.name, sign: one.compare, knob: fixed.knob };
    if (end !== null && fixed.limit !== null && !holds({ ...one, left: end, right: fixed.limit }, {}, {}))
      return { ...about, limit: fixed.limit, extreme: end, asked: 0 };
    const found = seen
      .map((node) => terms(one, knobs, node)[0])
      .filter((term) => term.name && term.value !== null && term.limit !== null);
    const limits = new Set(found.map((term) => term.limit));
    if (limits.size !== 1 || found.some((term) => term.holds)) continue;
    const values = found.map((term) => Number(term.value));
    const extreme = upper ? Math.max(...values) : Math.min(...values);
    return { ...about, limit: Number(found[0].limit), extreme, asked: found.length };
  }
  return null;
}

/** Whether the condition decides a node's fate: an override is asked where the exact rule rejects, a rule that decides
 * alone departs where there is no exact match.
 * @param {Threshold} threshold @param {Knobs} knobs @param {Numbers} node */
function isAsked(threshold, knobs, node) {
  if (node.state === "discarded" || (threshold.effect === "override" && node.state === "accepted")) return false;
  return threshold.effect !== "decide" || isPlain(threshold.exact) || holds(threshold.exact, knobs, node) !== true;
}

/** Whether every match counts as exact. @param {Condition} exact */
const isPlain = (exact) => "all" in exact && exact.all.length === 0;

/** The comparisons that must all hold. @param {Condition} given @param {Knobs} knobs @returns {Compare[]} */
function necessary(given, knobs) {
  const condition = choose(given, knobs);
  if ("compare" in condition) return [condition];
  if ("all" in condition) return condition.all.flatMap((part) => necessary(part, knobs));
  if ("any" in condition && condition.any.length === 1) return necessary(condition.any[0], knobs);
  return [];
}

/** The end of what a number can be at all; null where nothing bounds it.
 * @param {string} name @param {boolean} upper @param {number} vocab @returns {number | null} */
function possible(name, upper, vocab) {
  if (SHARES.includes(name)) return upper ? 1 : 0;
  if (ENTROPIES.includes(name)) return upper ? Math.log(vocab) : 0;
  if (name === "rank") return upper ? vocab : 1;
  return name === "gap" && !upper ? 0 : null;
}

/** That comparison in words. @param {Idle} found @returns {string} */
export function idleWords({ name, sign, limit, knob, extreme, asked }) {
  const bound = sign.startsWith(">") ? "at most" : "at least";
  const asks = ASKS[/** @type {keyof typeof ASKS} */ (sign)];
  const where = asked ? "here" : "in any text";
  const found = `${NAMES[name] ?? name} is ${bound} ${fmt(extreme)} ${where}`;
  return `It cannot hold: ${found}, and ${knob || "the rule"} asks for ${asks} ${fmt(limit)}.`;
}
