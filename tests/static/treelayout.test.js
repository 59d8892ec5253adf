import assert from "node:assert/strict";
import { test } from "node:test";
import { childrenOf, layout } from "../../app/static/treelayout.js";

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
    [0, 112], // a stub is 0.8 of a row high
  );
});
