import assert from "node:assert/strict";
import { test } from "node:test";
import { childrenOf, layout } from "../../app/static/tree/layout.js";

/** Two roots; the first has two children, the second a chain of two. Scores fall with the index. */
const TREE = {
  path: [3, 4],
  nodes: [-1, 0, 0, -1, 3].map((parent, i) => ({ parent, depth: parent < 0 ? 1 : 2, score: -i, rank: i + 1 })),
  pruned: [],
};
const HOW = { column: 10, row: 4, limit: 99, open: new Set(), shut: new Set() };
const at = (places, index) => places.find((place) => place.index === index);

test("the accepted path is on top, then the most probable", () => {
  assert.deepEqual(childrenOf(TREE), [[3, 0], [1, 2], [], [], [4], []]);
});

test("leaves have rows of their own and a parent stands beside its first child", () => {
  const { places, width, height, levels } = layout(TREE, HOW);
  assert.deepEqual(
    places.map(({ index, x, y }) => [index, x, y]),
    [
      [-1, 0, 0],
      [3, 10, 0],
      [4, 20, 0],
      [0, 10, 4],
      [1, 20, 4],
      [2, 20, 8],
    ],
  );
  assert.deepEqual({ width, height, levels }, { width: 30, height: 12, levels: 2 });
});

test("over the limit the least probable subtree outside the path is folded", () => {
  const { places, height } = layout(TREE, { ...HOW, limit: 2 });
  assert.equal(at(places, 0).hidden, 2);
  assert.equal(at(places, 1), undefined);
  assert.ok(at(places, 4));
  assert.equal(height, 8);
});

test("of two subtrees the less probable is folded first", () => {
  const parents = [-1, -1, -1, 0, 0, 1, 1, 2];
  const nodes = parents.map((parent, i) => ({ parent, depth: parent < 0 ? 1 : 2, score: [-1, -3, -2][i] ?? -9 }));
  const { places } = layout({ path: [2, 7], nodes, pruned: [] }, { ...HOW, limit: 4 });
  assert.equal(at(places, 1).hidden, 2);
  assert.equal(at(places, 0).hidden, 0);
});

test("a reader opens and shuts subtrees whatever the limit", () => {
  assert.ok(at(layout(TREE, { ...HOW, limit: 1, open: new Set([0]) }).places, 1));
  assert.equal(at(layout(TREE, { ...HOW, shut: new Set([3]) }).places, 3).hidden, 1);
});

test("candidates left out of a draft lie below their parent as one stub", () => {
  const { stubs, levels } = layout({ ...TREE, pruned: [{ parent: 4 }, { parent: 4 }, { parent: -1 }] }, HOW);
  assert.deepEqual(
    stubs.map(({ parent, x, pruned }) => [parent, x / HOW.column, pruned.length]),
    [
      [4, 3, 2],
      [-1, 1, 1],
    ],
  );
  assert.equal(levels, 3);
  assert.deepEqual(
    stubs.map(({ y }) => Math.round(10 * y)),
    [0, 80], // beside its leaf; below the children of the root
  );
});

test("a branch at the root stands below the path, whatever stands below the path farther on", () => {
  const parents = [-1, 0, 1, 1, 1, 1, -1, -1];
  const depths = [1, 2, 3, 3, 3, 3, 1, 1];
  const nodes = parents.map((parent, i) => ({ parent, depth: depths[i], score: -i }));
  const { places, height } = layout({ path: [0, 1, 2], nodes, pruned: [] }, HOW);
  assert.deepEqual(
    [6, 7].map((index) => at(places, index).y),
    [4, 8],
  );
  assert.equal(height, 16, "as many rows as the longest column, not one a leaf");
});

test("no two nodes share a place and no two edges cross", () => {
  for (let seed = 1; seed < 30; seed += 1) {
    let state = seed;
    const draw = (/** @type {number} */ n) => {
      state = (state * 1103515245 + 12345) % 2147483648;
      return state % n;
    };
    const nodes = [];
    for (let i = 0; i < 60; i += 1) {
      const parent = draw(i + 1) - 1;
      nodes.push({ parent, depth: parent < 0 ? 1 : nodes[parent].depth + 1, score: -i });
    }
    const pruned = Array.from({ length: 9 }, () => ({ parent: draw(60) }));
    const { places, stubs, kids } = layout({ path: [], nodes, pruned }, HOW);
    const spots = [...places, ...stubs].map(({ x, y }) => `${x} ${Math.round(y)}`);
    assert.equal(new Set(spots).size, spots.length, `tree ${seed}`);
    const reach = places.map((place) => ({
      depth: place.depth,
      ys: kids[place.index + 1].map((kid) => at(places, kid).y).concat(place.y),
      any: kids[place.index + 1].length > 0,
    }));
    for (const a of reach)
      for (const b of reach)
        if (a !== b && a.any && b.any && a.depth === b.depth)
          assert.ok(
            Math.max(...a.ys) < Math.min(...b.ys) || Math.max(...b.ys) < Math.min(...a.ys),
            `edges of tree ${seed} cross`,
          );
  }
});

test("what all others hang on is not folded", () => {
  const parents = [-1, 0, 1, 1, 1, 1, 2, 2];
  const depths = [1, 2, 3, 3, 3, 3, 4, 4];
  const nodes = parents.map((parent, i) => ({ parent, depth: depths[i], score: -i }));
  const { places } = layout({ path: [], nodes, pruned: [] }, { ...HOW, limit: 1 });
  assert.deepEqual(
    places.map(({ index, hidden }) => [index, hidden]),
    [
      [-1, 0],
      [0, 0],
      [1, 0],
      [2, 2],
      [3, 0],
      [4, 0],
      [5, 0],
    ],
  );
});
