// What a method's page says of the runs on the stage.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FIGURES } from "../../app/static/aggregates/figures.js";
import { factsOf, lanesOf } from "../../app/static/learn/onstage.js";
import { byPosition, incomparable, summary, tested } from "../../app/static/numbers.js";
import { callWords, tauWords } from "../../app/static/run/calls.js";
import { sorted } from "../../app/static/stage/bands.js";
import { figuresOf } from "../../app/static/stage/heads.js";
import { budget, ranksOf } from "../../app/static/stage/sharefigures.js";
import { whyNone } from "../../app/static/stage/treegrid.js";
import { createStore } from "../../app/static/store.js";
import { clockParts } from "../../app/static/timelinepaint.js";
import { round, trace } from "./runs.js";

test("the numbers of each lane of a method, and none of one that did not run", () => {
  const store = createStore();
  store.load([
    trace(
      "plain",
      [1, 2, 3, 4].map((id) => round({ ids: [id], verify_ms: 10 })),
      { guarantee: "reference" },
    ),
    trace("chain", [round({ drafted: 3, accepted: 2, ids: [1, 2, 9], verify_ms: 10 })]),
    trace("silent", [round({ ids: [1], verify_ms: 10 })]),
    trace("alone", [round({ ids: [1], draft_ms: 10, fed: 0 }), round({ ids: [2], draft_ms: 10, fed: 0 })], {
      guarantee: "lossy",
    }),
  ]);
  assert.deepEqual(
    lanesOf(store, "chain").map(({ key }) => key),
    ["chain"],
  );
  assert.deepEqual(lanesOf(store, "tree"), []);
  const told = (key) => Object.fromEntries(factsOf(store, store.runs.get(key)).map(([name, value]) => [name, value]));
  assert.deepEqual(told("chain"), {
    "target calls": "1",
    tokens: "3",
    "tokens a call": "3.00",
    drafted: "3 tokens",
    accepted: "67 %",
    speed: "300 tokens/s",
    "against the reference": "3.00×, once",
    text: "another from position 2 on",
  });
  assert.equal(told("plain").text, undefined);
  assert.equal(told("plain")["against the reference"], undefined, "it is the reference");
  assert.equal(told("plain")["draft calls"], undefined);
  assert.equal(told("silent").text, "the reference's");
  assert.equal(told("silent").draft, "none: it drafted nothing");
  assert.equal(told("silent").accepted, undefined);
  const { "target calls": target, "draft calls": draft, "tokens a call": tau } = told("alone");
  assert.deepEqual([target, draft, tau], ["0", "2", undefined]);
  const figures = figuresOf(store, store.runs.get("alone"), null, null);
  assert.deepEqual([figures.called, figures.tau], ["2 draft calls", null]);
  assert.equal(figuresOf(store, store.runs.get("silent"), null, null).called, "1 target call");
  assert.equal(sorted(store, "calls").at(-1), "alone", "it has no place among calls of the target");
  assert.deepEqual([callWords({ rounds: 0, calls: 0, drafted: 0 }), tauWords(null, "–")], ["0 target calls", ""]);
});

test("what the beams of a search hold is no draft, and what of it settles is not accepted", () => {
  const beams = (settled, more) =>
    round({ drafted: 4, accepted: settled, draft_ms: 1, verify_ms: 8, other_ms: 1, ...more, extras: { beams: 2 } });
  const store = createStore();
  const chain = [round({ drafted: 4, accepted: 2, verify_ms: 10 })];
  store.load([
    trace("searched", [beams(2), beams(0), { ...beams(0), nodes: [], drafted: 0 }], { guarantee: "lossy" }),
    trace("chain", chain),
  ]);
  const [run, drafts] = ["searched", "chain"].map((key) => store.runs.get(key));
  const told = Object.fromEntries(factsOf(store, run).map(([name, value]) => [name, value]));
  assert.deepEqual([told["target calls"], told.tokens, told.drafted, told.accepted], ["3", "5", undefined, undefined]);
  assert.equal(figuresOf(store, run, null, null).accepted, null);
  const found = summary(run.rounds);
  assert.deepEqual([found.drafted, found.accepted, found.drafting, found.costRatio], [0, 0, 0, null]);
  assert.deepEqual(found.histogram, [3]);
  assert.deepEqual(byPosition(run.rounds).accepted, []);
  assert.deepEqual([tested(run.rounds, () => 1).length, tested(drafts.rounds, () => 1).length], [0, 3]);
  assert.deepEqual(
    budget(run, run.rounds).map(({ words, value }) => [words, value * 5]),
    [
      ["target", 24],
      ["other", 6],
    ],
  );
  assert.deepEqual(clockParts([run]), []);
  assert.equal(ranksOf(run.rounds).n, 0);
  assert.ok(FIGURES.filter(({ id }) => id !== "time").every(({ needs }) => !needs(run.rounds)));
  assert.ok(FIGURES.some(({ id, needs }) => id === "position" && needs(drafts.rounds)));
  assert.equal(incomparable(drafts, run), "another distribution");
  assert.match(whyNone(run, run.rounds[2], 4), /^All that the beams hold here has settled/);
  assert.deepEqual(sorted(store, "calls"), ["chain", "searched"]);
});

test("no lane is told as faster than one that was asked something else, or ran in another process", () => {
  const rounds = [round({ drafted: 3, accepted: 2, ids: [1, 2, 9], verify_ms: 10 })];
  const plain = trace("plain", [round({ ids: [1], verify_ms: 10 })], { guarantee: "reference" });
  for (const [more, fair] of /** @type {[object, boolean][]} */ ([
    [{}, true],
    [{ prompt_ids: [7] }, false],
    [{ device: "cuda:0" }, false],
    [{ extras: { process: "another" } }, false],
    [{ extras: { process: "one", forced: 1 } }, false],
  ])) {
    const store = createStore();
    store.load([plain, trace("chain", rounds, more)]);
    const [reference, run] = ["plain", "chain"].map((key) => store.runs.get(key));
    assert.equal(figuresOf(store, run, reference, null).ratio, fair ? 3 : null, JSON.stringify(more));
    assert.equal(
      factsOf(store, run).some(([name]) => name === "against the reference"),
      fair,
    );
  }
});
