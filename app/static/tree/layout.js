// @ts-check
// Where the nodes of one round's draft go: left to right, depth = position, branches beside each other where they can.

/**
 * @typedef {import("../types/trace.js").Round} Round
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

/** Lays the tree out. A child takes the first row that is free in its column and in those of its first children, so
 * that branches lie beside each other where they are of other depths; no two edges cross. Subtrees outside the path
 * are folded while the whole has more than `limit` rows, least probable first, what all others hang on never; `open`
 * and `shut` are the reader's own choices.
 * @param {Tree} round @param {{column: number, row: number, limit: number, open: Set<number>, shut: Set<number>}} how
 * @returns {Plan} */
export function layout(round, how) {
  const kids = childrenOf(round);
  const { size, leaves } = measure(round, kids);
  const folded = new Set(how.shut);
  const packed = () => pack(round, how, { kids, size, folded });
  const fits = () => plan.height <= how.limit * how.row;
  let plan = packed();
  const trunk = trunkOf(kids);
  const candidates = [...round.nodes.keys()]
    .filter((index) => !round.path.includes(index) && leaves[index + 1] > 1 && !how.open.has(index))
    .filter((index) => !trunk.has(index))
    .sort((a, b) => (round.nodes[a].score ?? 0) - (round.nodes[b].score ?? 0));
  for (const index of candidates) {
    if (fits()) break;
    if (within(round, index, folded)) continue;
    folded.add(index);
    plan = packed();
  }
  return plan;
}

/** Places of what is not folded.
 * @param {Tree} round @param {{column: number, row: number}} how
 * @param {{kids: number[][], size: number[], folded: Set<number>}} tree @returns {Plan} */
function pack(round, { column, row }, { kids, size, folded }) {
  /** @type {Place[]} */
  const places = [];
  /** @type {Stub[]} */
  const stubs = [];
  /** The first free row of each depth. @type {number[]} */
  const free = [];
  /** @type {Map<number, Round["pruned"][number][]>} */
  const pruned = new Map();
  for (const candidate of round.pruned ?? []) {
    const parent = Number(candidate.parent ?? -1);
    pruned.set(parent, [...(pruned.get(parent) ?? []), candidate]);
  }
  const childrenShown = (/** @type {number} */ index) => (folded.has(index) ? [] : kids[index + 1]);
  const cutShown = (/** @type {number} */ index) => (folded.has(index) ? [] : (pruned.get(index) ?? []));
  /** The first row that is free for a node and for all that stands in its row. */
  const freeFor = (/** @type {number} */ index, /** @type {number} */ depth) => {
    let [y, at, level] = [free[depth] ?? 0, index, depth];
    while (childrenShown(at).length) {
      at = childrenShown(at)[0];
      level += 1;
      y = Math.max(y, free[level] ?? 0);
    }
    return cutShown(at).length ? Math.max(y, free[level + 1] ?? 0) : y;
  };
  /** @param {number} index @param {number} depth @param {number} y */
  const visit = (index, depth, y) => {
    const list = childrenShown(index);
    const parent = index < 0 ? -2 : round.nodes[index].parent;
    const hidden = folded.has(index) ? size[index + 1] - 1 : 0;
    places.push({ index, x: depth * column, y, depth, parent, kids: kids[index + 1].length, hidden });
    free[depth] = y + row;
    list.forEach((child, i) => {
      visit(child, depth + 1, i ? freeFor(child, depth + 1) : y);
    });
    const cut = cutShown(index);
    if (!cut.length) return;
    const at = list.length ? (free[depth + 1] ?? 0) : y;
    stubs.push({ x: (depth + 1) * column, y: at, parent: index, pruned: cut });
    free[depth + 1] = at + row * 0.8;
  };
  visit(-1, 0, 0);
  const levels = free.length - 1;
  return { places, stubs, width: (levels + 1) * column, height: Math.max(...free), kids, levels };
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

/** The nodes that all others hang on: the root's only child, its only child, and so on. @param {number[][]} kids */
function trunkOf(kids) {
  /** @type {Set<number>} */
  const trunk = new Set();
  for (let list = kids[0]; list.length === 1; list = kids[list[0] + 1]) trunk.add(list[0]);
  return trunk;
}

/** Whether a node lies in a folded branch. @param {Tree} round @param {number} index @param {Set<number>} folded */
function within(round, index, folded) {
  for (let at = index; at >= 0; at = round.nodes[at].parent) if (folded.has(at)) return true;
  return false;
}
