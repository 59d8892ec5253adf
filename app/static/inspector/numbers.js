// @ts-check
// The recorded numbers of a decision, with their units.

import { samples } from "../columns.js";
import { fmt, importance, nats, pieceOf, prob } from "../draw.js";
import { givenOf, lookedAt } from "../looks.js";
import { sourceOf, sourceWords } from "../source.js";
import { overlapWords } from "../thresholds.js";
import { leftBy } from "./siblings.js";

/** @typedef {import("../words.js").Anchor} Anchor */

/** As [name, value, what it is, its entry in the glossary].
 * @param {import("./subject.js").Subject} it
 * @param {number} n of overlap@n @param {number | null} residual the weight of p, where a correction was drawn from one
 * @returns {[string, string, string, Anchor | null][]} */
export function numbers({ run, round, index, node, token }, n, residual) {
  /** @template T @param {T | null | undefined} value @param {(value: T) => string} say */
  const told = (value, say) => (value == null ? null : say(value));
  const inNats = (/** @type {number} */ value) => `${nats(value)} nats`;
  const barred = node?.reason?.fired ? node.reason.remove : null;
  const overlap = node?.overlap ?? null;
  const left = leftBy(round, index);
  const whose = left ? ", of what rejected siblings left" : "";
  /** @type {[string, string | null, string, Anchor | null][]} */
  const rows = [
    ["p", told(left?.p ?? node?.p, prob), `the target's probability of the draft token${whose}`, "distribution"],
    ["q", told(left?.q ?? node?.q, prob), `the draft's probability of the draft token${whose}`, "distribution"],
    [
      "P(accept)",
      told(node?.accept_prob, prob),
      node?.reason?.weight == null
        ? "probability that the rule accepts the draft token"
        : "probability that the block passes at this draft token",
      "acceptance-probability",
    ],
    [
      "weight",
      told(node?.reason?.weight, prob),
      "probability that the draft stays up to this token, over all that may be drafted behind it",
      null,
    ],
    ["u", samples(run) ? told(node?.u, prob) : null, "the uniform number compared with P(accept)", "draw"],
    [
      "H draft",
      told(node?.h_draft ?? token?.h_draft, inNats),
      "entropy of the draft's distribution, whole vocabulary, temperature 1",
      "entropy",
    ],
    [
      "H target",
      told(node?.h_target ?? token?.h_target, inNats),
      "entropy of the target's distribution, whole vocabulary, temperature 1",
      "entropy",
    ],
    [
      `overlap@${n}`,
      told(overlap, (share) => overlapWords(share, n)),
      "tokens in both first-n lists (bracketed)",
      "overlap",
    ],
    [
      "barred",
      typeof barred === "number" ? pieceOf(run, barred) : null,
      "removed by a veto from the target's distribution before this draft token was tested",
      "veto",
    ],
    [
      "margin",
      told(node?.margin, inNats),
      "log p of the target's first choice minus log p of the draft token",
      "margin",
    ],
    ["confidence", told(node?.confidence, fmt), "the draft's own confidence", "confidence"],
    ["importance", told(node?.judge, importance), "the judge's score", "importance"],
    [
      "draft rank",
      told(node?.rank, (rank) => `${rank} of ${round.nodes.length}`),
      "place among the draft tokens of this round, by the draft's probability of the path",
      "rank",
    ],
    [
      "residual",
      residual === null ? null : `max(${residual < 1 ? `${prob(residual)} ` : ""}p−q, 0), hatched`,
      "the distribution that the correction is drawn from",
      "residual",
    ],
    [
      "looked at",
      told(token?.looks ?? null, (looks) => lookedAt(run, looks)),
      "words of the source with the largest shares of the decoder's attention, mean over its layers and heads",
      null,
    ],
    [
      "from",
      node?.source ? sourceWords(sourceOf(node), givenOf(run)) : null,
      "where the draft token comes from",
      "drafter",
    ],
  ];
  return rows.flatMap(([name, value, what, anchor]) => (value === null ? [] : [[name, value, what, anchor]]));
}
