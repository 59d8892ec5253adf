// What a method's page says of the runs on the stage.

import assert from "node:assert/strict";
import { test } from "node:test";
import { factsOf, lanesOf } from "../../app/static/learn/onstage.js";
import { callWords, tauWords } from "../../app/static/run/calls.js";
import { sorted } from "../../app/static/stage/bands.js";
import { figuresOf } from "../../app/static/stage/heads.js";
import { createStore } from "../../app/static/store.js";
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
