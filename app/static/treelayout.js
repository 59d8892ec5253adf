// @ts-check
// Where the nodes of one round's draft go: left to right, depth = position, leaves on their own rows.

/**
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {Pick<Round, "nodes" | "path" | "pruned">} Tree what is read of a round
 * @typedef {{index: number, x: number, y: number, depth: number, parent: number, kids: number, hidden: number}} Place
 *   of a node; `hidden` nodes are folded under it
 * @typedef {{x: number, y: number, parent: number, pruned: Round["pruned"]}} Stub candidates left out under a node
 * @typedef {{places: Place[], stubs: Stub[], width: number, height: number, kids: number[][], levels: number}} Plan
 */

/** Children lists; `kids[i + 1]` are the children of node i, most probable first, kept path on top.
 * @param {Tree} round @returns {number[][]} */
export function childrenOf(round) {
  /** @type {number[][]} */
  const kids = Array.from({ length: round.nodes.length + 1 }, () => []);
  const kept = new Set(round.path);
  for (const [index, node] of round.nodes.entries()) kids[node.parent + 1]?.push(index);
  const weight = (/** @type {number} */ index) =>
    kept.has(index) ? Infinity : (round.nodes[index].score ?? -(round.nodes[index].rank ?? index));
  for (const list of kids) list.sort((a, b) => weight(b) - weight(a));
  return kids;
}

/** Lays the tree out. Subtrees outside the path are folded while the whole has more than `limit` rows, least probable
 * first; `open` and `shut` are the reader's own choices.
 * @param {Tree} round @param {{column: number, row: number, limit: number, open: Set<number>, shut: Set<number>}} how
 * @returns {Plan} */
export function layout(round, { column, row, limit, open, shut }) {
  const kids = childrenOf(round);
  const { size, leaves } = measure(round, kids);
  const folded = chooseFolds(round, kids, leaves, limit, open, shut);
  /** @type {Place[]} */
  const places = [];
  /** @type {Stub[]} */
  const stubs = [];
  let y = 0;
  let levels = 0;
  /** @type {Map<number, Round["pruned"][number][]>} */
  const pruned = new Map();
  for (const candidate of round.pruned ?? []) {
    const parent = Number(candidate.parent ?? -1);
    pruned.set(parent, [...(pruned.get(parent) ?? []), candidate]);
  }
  /** @param {number} index @param {number} depth @returns {number} */
  const visit = (index, depth) => {
    levels = Math.max(levels, depth);
    const place = {
      index,
      x: depth * column,
      y: 0,
      depth,
      parent: index < 0 ? -2 : round.nodes[index].parent,
      kids: kids[index + 1].length,
      hidden: 0,
    };
    places.push(place);
    const list = folded.has(index) ? [] : kids[index + 1];
    if (folded.has(index)) place.hidden = size[index + 1] - 1;
    const cut = folded.has(index) ? [] : (pruned.get(index) ?? []);
    const ys = list.map((child) => visit(child, depth + 1));
    if (cut.length) {
      levels = Math.max(levels, depth + 1);
      const stub = { x: (depth + 1) * column, y, parent: index, pruned: cut };
      stubs.push(stub);
      y += row * 0.8;
      if (!ys.length) ys.push(stub.y);
    }
    if (!ys.length) {
      place.y = y;
      y += row;
    } else place.y = ys[0];
    return place.y;
  };
  visit(-1, 0);
  return { places, stubs, width: (levels + 1) * column, height: y, kids, levels };
}

/** Nodes and leaves of every subtree; entry i + 1 is of node i. @param {Tree} round @param {number[][]} kids */
function measure(round, kids) {
  /** @type {number[]} */
  const size = new Array(round.nodes.length + 1).fill(1);
  /** @type {number[]} */
  const leaves = new Array(round.nodes.length + 1).fill(0);
  const order = [...round.nodes.keys()].sort((a, b) => round.nodes[b].depth - round.nodes[a].depth);
  for (const index of [...order, -1]) {
    for (const child of kids[index + 1]) {
      size[index + 1] += size[child + 1];
      leaves[index + 1] += leaves[child + 1];
    }
    if (!kids[index + 1].length) leaves[index + 1] = 1;
  }
  return { size, leaves };
}

/** @param {Tree} round @param {number[][]} kids @param {number[]} leaves @param {number} limit
 * @param {Set<number>} open @param {Set<number>} shut */
function chooseFolds(round, kids, leaves, limit, open, shut) {
  const folded = new Set(shut);
  const path = new Set(round.path);
  let rows = leaves[0];
  const candidates = [...round.nodes.keys()]
    .filter((index) => !path.has(index) && kids[index + 1].length && !open.has(index))
    .sort((a, b) => (round.nodes[a].score ?? 0) - (round.nodes[b].score ?? 0));
  const within = (/** @type {number} */ index) => {
    for (let at = round.nodes[index].parent; at >= 0; at = round.nodes[at].parent) if (folded.has(at)) return true;
    return false;
  };
  for (const index of candidates) {
    if (rows <= limit) break;
    if (within(index)) continue;
    const saved = leaves[index + 1] - 1;
    if (saved <= 0) continue;
    folded.add(index);
    rows -= saved;
  }
  return folded;
}
