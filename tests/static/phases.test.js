import assert from "node:assert/strict";
import { test } from "node:test";
import { resolve } from "../../app/static/columns.js";
import { mainLine, roundInside, stepped } from "../../app/static/run/phases.js";
import { createStore } from "../../app/static/store.js";
import { recordedRun } from "./recorded.js";
import { round, trace } from "./runs.js";

const DECISIONS = ["accept_prob", "u", "judge", "reason", "why", "rule"];

test("inside a round nothing is known before its time", () => {
  const whole = recordedRun("first_look-1-sd").rounds.find(({ nodes }) => nodes.some((node) => node.reason && node.q));
  const drafted = roundInside(whole, "drafted");
  const verified = roundInside(whole, "verified");
  assert.equal(drafted.nodes.length, whole.nodes.length);
  for (const [i, node] of whole.nodes.entries()) {
    for (const name of DECISIONS) assert.ok(!(name in drafted.nodes[i]) && !(name in verified.nodes[i]), name);
    for (const name of ["p", "h_target", "top_target", "overlap", "margin"])
      assert.ok(!(name in drafted.nodes[i]), name);
    assert.equal(drafted.nodes[i].q, node.q);
    assert.deepEqual(drafted.nodes[i].top_draft, node.top_draft);
    assert.deepEqual(verified.nodes[i].top_target, node.top_target);
    assert.deepEqual([drafted.nodes[i].state, verified.nodes[i].state], ["drafted", "verified"]);
  }
  assert.deepEqual([drafted.tokens, drafted.path, drafted.accepted], [[], [], 0]);
  assert.ok(whole.tokens.length && whole.nodes[0].reason, "the trace's own round stays");
});

test("events go draft, verify, decide, and back the same way", () => {
  let time = { at: 0, inside: null };
  const seen = [];
  for (let i = 0; i < 7; i++) {
    time = stepped(time, 1, 2);
    seen.push(`${time.at} ${time.inside}`);
  }
  assert.deepEqual(seen, [
    "0 drafted",
    "0 verified",
    "1 null",
    "1 drafted",
    "1 verified",
    "Infinity null",
    "Infinity null",
  ]);
  assert.deepEqual(stepped({ at: Infinity, inside: null }, -1, 2), { at: 1, inside: "verified" });
  assert.deepEqual(stepped({ at: 0, inside: null }, -1, 2), { at: 0, inside: null });
});

test("the store shows the round that has begun; any other move of time ends it", () => {
  const store = createStore();
  store.load([
    trace("a", [round({ drafted: 2, accepted: 1 }), round({ drafted: 2, accepted: 0 })]),
    trace("b", [round()]),
  ]);
  const a = store.runs.get("a");
  store.setTime({ mode: "calls", at: 1, inside: "drafted" });
  assert.equal(store.halfRound(a).index, 1);
  assert.equal(store.halfRound(a), store.halfRound(a), "one object while it stays, so that views need not draw again");
  assert.equal(store.halfRound(store.runs.get("b")), null, "this run has ended");
  const found = resolve(store, { run: "a", round: 1, node: 0 });
  assert.deepEqual([found.node.state, found.token, found.round.tokens.length], ["drafted", null, 0]);
  assert.equal(resolve(store, { run: "a", round: 0, node: 0 }).node.state, "accepted", "rounds before it are decided");
  store.setTime({ at: 2 });
  assert.deepEqual([store.time.inside, store.halfRound(a)], [null, null]);
});

test("the main line follows the likeliest child, not the first", () => {
  const nodes = [
    { parent: -1, rank: 2 },
    { parent: -1, rank: 1 },
    { parent: 0, rank: 4 },
    { parent: 1, rank: 5 },
    { parent: 1, rank: 3 },
  ];
  assert.deepEqual(mainLine({ nodes }), [1, 4]);
  assert.deepEqual(mainLine({ nodes: [] }), []);
});
