import assert from "node:assert/strict";
import { test } from "node:test";
import "../../app/static/filterkinds.js";
import { makeFilter, specOf } from "../../app/static/filters.js";
import { createStore } from "../../app/static/store.js";
import { round, trace } from "./runs.js";

const store = createStore();
store.load([trace("chain", [round({ drafted: 3, accepted: 2 }), round({ drafted: 3, accepted: 0 })])]);
const run = store.runs.get("chain");
/** Positions of tokens, and [round, node] of candidates, that pass a filter. */
function passing(spec) {
  const { test: holds } = makeFilter(spec);
  const tokens = run.tokens.filter((token) => {
    const at = run.rounds[token.round];
    return holds(run, at, at.nodes[token.node] ?? null, token);
  });
  const nodes = run.rounds.flatMap((at, r) => at.nodes.map((node, n) => (holds(run, at, node, null) ? [r, n] : null)));
  return { tokens: tokens.map((token) => token.pos), nodes: nodes.filter(Boolean) };
}

test("a range of positions takes tokens and candidates at them", () => {
  const { tokens, nodes } = passing({ kind: "range", range: [2, 3] });
  assert.deepEqual(tokens, [2, 3]);
  assert.deepEqual(nodes, [
    [0, 2],
    [1, 0],
  ]);
});

test("a sign takes tokens of that origin and candidates of that state", () => {
  assert.deepEqual(passing({ kind: "sign", sign: "correction" }).tokens, [2, 3]);
  assert.deepEqual(passing({ kind: "sign", sign: "rejected" }).nodes, [
    [0, 2],
    [1, 0],
  ]);
});

test("the sign of accepted tokens takes the draft tokens that became them", () => {
  const { tokens, nodes } = passing({ kind: "sign", sign: "draft" });
  assert.deepEqual(tokens, [0, 1]);
  assert.deepEqual(nodes, [
    [0, 0],
    [0, 1],
  ]);
});

test("a depth takes the candidates of that level", () => {
  assert.deepEqual(passing({ kind: "depth", depth: 2 }).nodes, [
    [0, 1],
    [1, 1],
  ]);
  const tokens = [1, 2, 3].map((depth) => passing({ kind: "depth", depth }).tokens);
  assert.deepEqual(tokens, [[0, 3], [1], [2]], "a correction stands where its draft token stood");
});

test("rounds by how many candidates they accepted, and by the rank of the last", () => {
  assert.deepEqual(passing({ kind: "kept", kept: 0 }).tokens, [3]);
  assert.deepEqual(passing({ kind: "tcr", low: 1, high: 2 }).tokens, [0, 1, 2]);
});

test("an entropy filter leaves out what has none, and its upper end", () => {
  const { test: holds } = makeFilter({ kind: "entropy", field: "h_draft", low: 0, high: 1 });
  assert.equal(holds(run, run.rounds[0], { h_draft: 0 }, null), true);
  assert.equal(holds(run, run.rounds[0], { h_draft: 1 }, null), false);
  assert.equal(holds(run, run.rounds[0], {}, null), false);
});

test("a probability filter reads a candidate, or the one that a token was; its upper end belongs to the last bin alone", () => {
  const holds = (low, high, node, token = null, nodes = []) =>
    makeFilter({ kind: "probability", low, high }).test(run, { ...run.rounds[0], nodes }, node, token);
  assert.equal(holds(0.8, 0.9, { q: 0.8 }), true);
  assert.equal(holds(0.8, 0.9, { q: 0.9 }), false);
  assert.equal(holds(0.9, 1, { q: 1 }), true);
  assert.equal(holds(0, 0.1, { q: null }), false);
  assert.equal(holds(0.9, 1, null, { node: 1 }, [{ q: 0.2 }, { q: 0.95 }]), true);
  assert.equal(holds(0.9, 1, null, { node: 0 }, [{ q: 0.2 }, { q: 0.95 }]), false);
  assert.equal(holds(0, 1, null, {}, [{ q: 0.2 }]), false, "a token that was no draft");
});

test("a filter gives back its spec; an unknown kind makes none", () => {
  const spec = { kind: "sign", sign: "bonus" };
  assert.deepEqual(specOf(makeFilter(spec)), spec);
  assert.deepEqual(specOf({ label: "x", range: [1, 2] }), { kind: "range", range: [1, 2] });
  assert.equal(specOf({ label: "x" }), null);
  assert.equal(makeFilter({ kind: "colour" }), null);
});
