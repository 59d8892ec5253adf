// @ts-check
// Siblings that are drawn one after another: what those that were rejected leave of both distributions to the next.

import { mapOf } from "../bars.js";

/** @typedef {import("../types/trace.js").TopN} TopN */

const NEAR = 0.005; // shares of lists that hold the first n only

/** @param {readonly (readonly [number, number])[]} list @returns {[number, number][]} */
function normed(list) {
  const sum = list.reduce((all, [, share]) => all + share, 0);
  return list.map(([id, share]) => [id, sum > 0 ? share / sum : 0]);
}

/**
 * The distributions that a decision was made on, where earlier siblings took something from them: the target's less the
 * draft's, at least 0, and the draft's without the sibling, both normalised, for each in turn (docs/methods/kernels.md,
 * K6). Null where none came before, or the rule tests siblings otherwise.
 * @param {import("../types/trace.js").Round} round @param {number | null} index of the draft token
 * @returns {{p: number, q: number, lists: {draft: TopN, target: TopN} | null} | null} p and q of the draft token as
 *   compared; lists where the recorded first n suffice to give the same
 */
export function leftBy({ nodes }, index) {
  const node = index === null ? undefined : nodes[index];
  const { p, q } = node?.reason ?? {};
  if (!node || p == null || q == null) return null;
  const elders = nodes.slice(0, index ?? 0).filter((one) => one.parent === node.parent);
  if (!elders.length || (Math.abs(p - (node.p ?? p)) < 1e-6 && Math.abs(q - (node.q ?? q)) < 1e-6)) return null;
  let target = [...(node.law_target ?? node.top_target ?? [])].map(([id, share]) => /** @type {const} */ ([id, share]));
  let draft = [...(node.law_draft ?? node.top_draft ?? [])].map(([id, share]) => /** @type {const} */ ([id, share]));
  for (const { token } of elders) {
    const taken = mapOf(draft);
    target = normed(target.map(([id, share]) => [id, Math.max(0, share - (taken.get(id) ?? 0))]));
    draft = normed(draft.filter(([id]) => id !== token));
  }
  const share = (/** @type {TopN} */ list) => mapOf(list).get(node.token) ?? 0;
  const same = Math.abs(share(target) - p) < NEAR && Math.abs(share(draft) - q) < NEAR;
  const sorted = (/** @type {TopN} */ list) => [...list].sort((a, b) => b[1] - a[1]);
  return { p, q, lists: same ? { draft: sorted(draft), target: sorted(target) } : null };
}
