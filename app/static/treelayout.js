/** Where the nodes of one round's draft go: left to right, depth = position, leaves on their own rows. */

/** @typedef {{index: number, x: number, y: number, depth: number, parent: number, kids: number, hidden: number, stub: any}} Place */

/** Children lists; `kids[i + 1]` are the children of node i, most probable first, kept path on top.
 * @param {any} round @returns {number[][]} */
export function childrenOf(round) {
  const kids = Array.from({ length: round.nodes.length + 1 }, () => []);
  const kept = new Set(round.path);
  round.nodes.forEach((node, index) => kids[node.parent + 1]?.push(index));
  const weight = (index) =>
    kept.has(index) ? Infinity : (round.nodes[index].score ?? -(round.nodes[index].rank ?? index));
  for (const list of kids) list.sort((a, b) => weight(b) - weight(a));
  return kids;
}

/** Lays the tree out. Subtrees outside the path are folded while the whole has more than `limit` rows, least probable first;
 * `open` and `shut` are the reader's own choices.
 * @param {any} round @param {{column: number, row: number, limit: number, open: Set<number>, shut: Set<number>}} how
 * @returns {{places: Place[], stubs: Place[], width: number, height: number, kids: number[][], levels: number}} */
export function layout(round, { column, row, limit, open, shut }) {
  const kids = childrenOf(round);
  const { size, leaves } = measure(round, kids);
  const folded = chooseFolds(round, kids, leaves, limit, open, shut);
  const places = [];
  const stubs = [];
  let y = 0;
  let levels = 0;
  const pruned = new Map();
  for (const candidate of round.pruned ?? []) {
    const parent = candidate.parent ?? -1;
    if (!pruned.has(parent)) pruned.set(parent, []);
    pruned.get(parent).push(candidate);
  }
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
      stub: null,
    };
    places.push(place);
    const list = folded.has(index) ? [] : kids[index + 1];
    if (folded.has(index)) place.hidden = size[index + 1] - 1;
    const cut = folded.has(index) ? [] : (pruned.get(index) ?? []);
    const ys = list.map((child) => visit(child, depth + 1));
    if (cut.length) {
      levels = Math.max(levels, depth + 1);
      const stub = {
        index: -1,
        x: (depth + 1) * column,
        y,
        depth: depth + 1,
        parent: index,
        kids: 0,
        hidden: 0,
        stub: cut,
      };
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

function measure(round, kids) {
  const size = new Array(round.nodes.length + 1).fill(1);
  const leaves = new Array(round.nodes.length + 1).fill(0);
  const order = round.nodes.map((node, index) => index).sort((a, b) => round.nodes[b].depth - round.nodes[a].depth);
  for (const index of [...order, -1]) {
    for (const child of kids[index + 1]) {
      size[index + 1] += size[child + 1];
      leaves[index + 1] += leaves[child + 1];
    }
    if (!kids[index + 1].length) leaves[index + 1] = 1;
  }
  return { size, leaves };
}

function chooseFolds(round, kids, leaves, limit, open, shut) {
  const folded = new Set(shut);
  const path = new Set(round.path);
  let rows = leaves[0];
  const candidates = round.nodes
    .map((node, index) => index)
    .filter((index) => !path.has(index) && kids[index + 1].length && !open.has(index))
    .sort((a, b) => (round.nodes[a].score ?? 0) - (round.nodes[b].score ?? 0));
  const within = (index) => {
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
