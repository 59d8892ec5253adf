// @ts-check
// What the inspector shows: the draft token under the cursor or the pointer, and the token that was emitted there.

import { rejectedNode, resolve } from "../columns.js";
import { cellAt } from "../run/canvas.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/trace.js").Node} Node
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {NonNullable<ReturnType<typeof subject>>} Subject
 */

/** What is to be shown: the draft token (accepted or rejected), the emitted token, and both distributions there.
 * @param {Store} store */
export function subject(store) {
  const at = resolve(store);
  if (!at?.round) return null;
  const { run, round, token } = at;
  let { node, index } = at;
  if (!node && token?.origin === "correction") {
    index = rejectedNode(round);
    node = index === null ? null : round.nodes[index];
  }
  const here =
    token ?? (round.tokens ?? []).find((candidate) => candidate.pos === at.pos && onPath(round, node)) ?? null;
  const cell = cellAt(round, at.pos); // of a text that is written in place
  return { ...at, run, round, node, index, emitted: here, own: Boolean(token), cell };
}

/** @param {Round} round @param {Node | null} node */
const onPath = (round, node) => node && node.parent === (round.path[round.path.length - 1] ?? -1);
