// @ts-check
// What kind of token this is, in a sentence, where the engine gave none.

import { pieceOf, prob, SIGNS } from "../draw.js";

/** @param {import("./subject.js").Subject} it @param {string | undefined} state */
export function neutral({ run, node, token, round }, state) {
  const chosen = node?.top_target?.[0] ?? token?.top_target?.[0];
  const first = chosen ? ` The target's first choice is ${pieceOf(run, chosen[0])} (${prob(chosen[1])}).` : "";
  if (token?.origin === "bonus") {
    const all = round.accepted === 1 ? "The tested draft token was" : `All ${round.accepted} tested draft tokens were`;
    return `${all} accepted, so the target's own next token comes with the same call.${first}`;
  }
  if (token?.origin === "target") return `Plain decoding: one target call, one token.${first}`;
  if (token?.origin === "correction")
    return `Put in place of the rejected draft token ${node ? pieceOf(run, node.token) : ""}.${first}`;
  if (node && state === "drafted")
    return `Drafted${node.q == null ? "" : ` with probability ${prob(node.q)}`}; the target has not seen it yet.`;
  if (node && state === "verified")
    return (
      `The target gives it ${prob(node.p)}${node.q == null ? "" : `, the draft ${prob(node.q)}`}; the rule has ` +
      `not decided yet.${first}`
    );
  if (state === "discarded") return "Never tested: the target's path had already left this branch.";
  return `${SIGNS[state ?? ""]?.label ?? "Emitted"}: draft ${prob(node?.q)}, target ${prob(node?.p)}.${first}`;
}
