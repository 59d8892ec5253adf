// What if a threshold were another: marks, the first change, and what is said of them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createStore } from "../../app/static/store.js";
import { blind, knobsOf, movable, replay } from "../../app/static/thresholds.js";
import { helpFrom, sentence, stepOf } from "../../app/static/whatif.js";
import { round, trace } from "./runs.js";

const { thresholds } = JSON.parse(readFileSync(new URL("../vectors/thresholds.json", import.meta.url), "utf-8"));
const KNOB = { name: "judge_threshold", default: 0.5, advanced: false };

/** A run of a judge: in each round of a chain the rejected token has an importance. */
function judged(importances, { knobs = { judge_threshold: 0.5 }, threshold = thresholds.judge, rounds = [] } = {}) {
  const made = importances.map((judge) => {
    const one = round({ drafted: 2, accepted: 1 });
    return { ...one, nodes: one.nodes.map((node, i) => (i === 1 ? { ...node, judge } : node)) };
  });
  const store = createStore();
  const lane = trace("judge", [...made, ...rounds]);
  const [head, ...rest] = lane.events;
  const card = { ...lane.card, threshold, knobs: [KNOB] };
  store.load([{ ...lane, card, events: [{ ...head, knobs }, ...rest] }]);
  return store.runs.get("judge");
}
const moved = (run, value, upto) => replay(run, { ...knobsOf(run), judge_threshold: value }, upto);

test("as run nothing changes; a lower threshold marks fewer, a higher one changes the first that it lets pass", () => {
  const run = judged([0.6, 0.9, 0.7]);
  assert.deepEqual(moved(run, 0.5), { marks: [], was: [], settled: new Set(), known: 3, tested: 6, changed: null });
  const { marks, changed } = moved(run, 0.8);
  assert.deepEqual(marks, [1, 5]);
  assert.deepEqual(changed, { pos: 1, round: 0, node: 1 });
  assert.deepEqual(moved(run, 0.65).marks, [1]);
});

test("only what is shown is replayed, and what was not recorded is not known", () => {
  const run = judged([0.6, 0.9, 0.7]);
  assert.deepEqual(moved(run, 0.8, 0), { marks: [], was: [], settled: new Set(), known: 0, tested: 0, changed: null });
  assert.deepEqual(moved(run, 0.95, 2).marks, [1, 3]);
  assert.equal(moved(judged([undefined, 0.9]), 0.8).known, 1);
});

test("a token that the condition let pass, and would no longer, is a change as well", () => {
  const one = round({ drafted: 2, accepted: 1 });
  const relaxed = { ...one, nodes: [one.nodes[0], { ...one.nodes[1], state: "relaxed", judge: 0.3 }] };
  const run = judged([], { rounds: [relaxed] });
  assert.deepEqual(moved(run, 0.5).was, [1]);
  assert.deepEqual(moved(run, 0.2).changed, { pos: 1, round: 0, node: 1 });
});

test("the thresholds that can be moved are numbers of the condition that the card does not fold away", () => {
  assert.deepEqual(movable(judged([0.6])), ["judge_threshold"]);
  assert.deepEqual(movable(judged([0.6], { knobs: { judge_threshold: "own" } })), []);
  assert.deepEqual(movable(judged([0.6], { threshold: null })), []);
  const run = judged([0.6]);
  assert.deepEqual(movable({ ...run, card: { ...run.card, knobs: [{ ...KNOB, advanced: true }] } }), []);
});

test("what follows is said: nothing recorded, nothing moved, no change, the first change", () => {
  const run = judged([0.6, 0.9]);
  const say = (value, isMoved = true) => sentence(run, moved(run, value), isMoved);
  assert.match(sentence(run, moved(run, 0.5, 0), false), /^This trace does not hold the numbers/);
  assert.match(
    say(0.5, false),
    /^The condition holds at 0 of 2 tokens that it was asked about, of 4 tested\. Move a threshold/,
  );
  assert.match(say(0.55), /0 as run\. No decision changes: the text would be the same to its end\.$/);
  assert.match(say(0.7), /holds at 1 of 2 .* first decision to change is .* at position 1; beyond it/);
});

test("a rule that is asked only of what the exact rule rejects is not said to lack its numbers where none was", () => {
  const run = judged([], { rounds: [round({ drafted: 2, accepted: 2 })] });
  assert.equal(
    sentence(run, moved(run, 0.5), false),
    "The rule was asked about none of the 2 tested tokens: the exact rule accepts them.",
  );
  const lacking = judged([undefined]);
  assert.match(sentence(lacking, moved(lacking, 0.5), false), /^This trace does not hold the numbers/);
});

test("a veto of a token that is rejected anyway is told from one that decides, when greedy", () => {
  const [kept, wrong] = round({ drafted: 2, accepted: 1 }).nodes;
  const unsure = { h_draft: 3, h_target: 3, overlap: 1 };
  const vetoed = { ...round({ drafted: 1, accepted: 0 }), nodes: [{ ...kept, ...unsure, state: "vetoed" }] };
  const rejected = { ...round({ drafted: 2, accepted: 1 }), nodes: [kept, { ...wrong, ...unsure }] };
  const knobs = { tau_entropy: 2, tau_entropy_draft: -1, tau_overlap: 0.8, overlap_n: 5, overlap_cmp: "ge" };
  const given = { ...knobs, ablation: "none", penalize: "proposed", entropy_temperature: 1 };
  const run = judged([], { knobs: given, threshold: thresholds.entropy_veto, rounds: [vetoed, rejected] });
  const found = replay(run, { ...given, tau_entropy: 4 });
  const asRun = replay(run, given);
  assert.equal(asRun.marks.length, 2);
  assert.deepEqual([...asRun.settled], [asRun.marks[1]]);
  assert.match(
    sentence(run, asRun, false),
    /holds at 2 of 2 tokens that it was asked about, of 3 tested\. The exact rule rejects 1 of these 2 anyway\./,
  );
  assert.equal(found.marks.length, 0);
  assert.equal(found.changed?.pos, asRun.marks[0]);
  assert.doesNotMatch(sentence(run, found, true), /anyway/);
});

test("where the longest of several branches wins, an untested branch leaves the answer open", () => {
  const threshold = { ...thresholds.judge, longest: true };
  const chain = judged([0.6], { threshold });
  assert.equal(blind(chain), false);
  const one = round({ drafted: 3, accepted: 1 });
  const branches = one.nodes.map((node, i) => (i === 2 ? { ...node, parent: 0 } : node));
  const tree = judged([0.6], { threshold, rounds: [{ ...one, nodes: branches }] });
  assert.equal(blind(tree), true);
  assert.match(sentence(tree, moved(tree, 0.55), true), /of the branches that were not tested nothing is known\.$/);
});

test("a slider meets round values whatever its range", () => {
  for (const [range, value] of [
    [1.01, 0.8],
    [1, 0.25],
    [7.5, 2.3],
    [0.3, 0.045],
  ]) {
    const step = stepOf(range);
    assert.ok(range / step >= 200 && range / step < 520);
    assert.ok(Math.abs(value / step - Math.round(value / step)) < 1e-9, `${value} in steps of ${step}`);
  }
});

test("a slider from 0 on is not explained by numbers below it", () => {
  const help = "below this: 0 accepts none, 1.01 accepts all; -1 is the judge's own";
  assert.equal(helpFrom(help, 0), "below this: 0 accepts none, 1.01 accepts all");
  assert.equal(helpFrom(help, -1), help);
});
