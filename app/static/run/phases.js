// @ts-check
// Inside a round: first a draft, then the target's probabilities, then the decision. What is known after each.

/**
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {import("../types/trace.js").Node} Node
 * @typedef {import("../types/store.js").Inside} Inside
 */

/** What a draft token is before the target has seen it; the rest comes with the target's call. */
const DRAFTED = /** @type {const} */ ([
  "token",
  "parent",
  "depth",
  "rank",
  "score",
  "q",
  "h_draft",
  "top_draft",
  "law_draft",
  "source",
  "confidence",
]);
/** And what the target adds; what the rule then makes of both is the decision. */
const VERIFIED = /** @type {const} */ ([...DRAFTED, "p", "h_target", "top_target", "law_target", "overlap", "margin"]);

/** What each state says in the middle of a sentence. @type {Readonly<Record<Inside, string>>} */
export const SAYS = {
  drafted: "drafted, not yet verified",
  verified: "verified, not yet decided",
};

/**
 * The round as it is at a point inside it: no decision, no emitted token, and before the target's call none of
 * its numbers.
 * @param {Round} round @param {Inside} inside @returns {Round}
 */
export function roundInside(round, inside) {
  const fields = inside === "drafted" ? DRAFTED : VERIFIED;
  /** @param {Node} node */
  const known = (node) =>
    /** @type {Node} */ (
      /** @type {unknown} */ ({
        ...Object.fromEntries(fields.filter((name) => node[name] !== undefined).map((name) => [name, node[name]])),
        state: inside,
      })
    );
  return { ...round, accepted: 0, emitted: 0, path: [], tcr: undefined, nodes: round.nodes.map(known), tokens: [] };
}

/**
 * The next point of time, or the one before: drafted, verified, decided. `from` rounds are whole; a point inside the
 * round after them follows. At the ends it stays.
 * @param {{at: number, inside: Inside | null}} from @param {1 | -1} by @param {number} span rounds of the longest run
 * @returns {{at: number, inside: Inside | null}}
 */
export function stepped({ at, inside }, by, span) {
  const whole = Math.min(Math.floor(at), span);
  const order = /** @type {const} */ ([null, "drafted", "verified"]);
  const place = Math.max(0, 3 * whole + order.indexOf(inside) + by);
  if (place >= 3 * span) return { at: Infinity, inside: null };
  return { at: Math.floor(place / 3), inside: order[place % 3] };
}

/** The chain of draft tokens that the draft itself thinks likeliest: indices from the root on. @param {Round} round */
export function mainLine(round) {
  const line = [];
  for (let parent = -1; ; ) {
    let best = -1;
    for (const [i, node] of round.nodes.entries())
      if (node.parent === parent && (best < 0 || (node.rank ?? Infinity) < (round.nodes[best].rank ?? Infinity)))
        best = i;
    if (best < 0) return line;
    line.push(best);
    parent = best;
  }
}
