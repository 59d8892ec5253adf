// rules.js means what engine/threshold means: the vectors that Python wrote from recorded runs, and the page's what-if on
// those runs. The last test breaks rules.js on purpose, piece by piece, and sees the vectors fail.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { idle, idleWords } from "../../app/static/idle.js";
import * as rules from "../../app/static/rules.js";
import { trackOf } from "../../app/static/stage/tracks.js";
import { createStore } from "../../app/static/store.js";
import { knobsOf, linesOf, movable, overlapN, overlapWords, replay } from "../../app/static/thresholds.js";

const here = (path) => new URL(`../../${path}`, import.meta.url);
const { overlap_n, thresholds, cases } = JSON.parse(readFileSync(here("tests/vectors/thresholds.json"), "utf-8"));

/** How many of the vectors an evaluator misses. */
function missed(evaluator) {
  let wrong = 0;
  for (const { rule, knobs, nodes, moves } of cases) {
    const { condition } = thresholds[rule];
    for (const { moved, holds, terms } of moves) {
      const given = { ...knobs, ...moved };
      wrong += nodes.filter((node, i) => evaluator.holds(condition, given, node) !== holds[i]).length;
      const seen = evaluator.terms(condition, given, nodes[0]).map(({ field, ...term }) => term);
      wrong += JSON.stringify(rounded(seen)) === JSON.stringify(rounded(terms)) ? 0 : 1;
    }
  }
  return wrong;
}

/** The last digit of exp may differ between two languages. */
const rounded = (terms) =>
  terms.map(({ name, value, sign, limit, knob, holds }) => ({
    name,
    value: value === null ? null : Number(value).toPrecision(12),
    sign,
    limit: limit === null ? null : Number(limit).toPrecision(12),
    knob,
    holds,
  }));

test("every recorded node is decided as in Python", () => {
  assert.ok(cases.length > 6);
  assert.equal(missed(rules), 0);
});

test("where a rule compares no overlap, it is of as many choices as in Python", () => {
  assert.equal(overlapN(null), overlap_n);
});

test("an overlap is of no more choices than were recorded, and is a whole number of them", () => {
  const all = { "all_methods-01-sd": 4, "all_methods-06-easd": 5, "first_look-1-sd": 5 };
  for (const [name, n] of Object.entries(all)) {
    const run = runOf(name, name.endsWith("easd") ? "entropy_veto" : "exact");
    assert.equal(overlapN(run), n, name);
    for (const { overlap } of run.rounds.flatMap(({ nodes }) => nodes).filter((node) => node.overlap !== null))
      assert.ok(Math.abs(overlap * n - Math.round(overlap * n)) < 1e-9, `${name}: ${overlap} of ${n}`);
  }
  assert.equal(trackOf("overlap").label(runOf("all_methods-01-sd", "exact")), "overlap@4");
  assert.equal(trackOf("overlap").label(runOf("all_methods-10-pld", "exact")), "overlap");
  assert.equal(overlapWords(1, 4), "4 of 4");
  const [node] = runOf("first_look-1-sd", "exact").rounds[0].nodes;
  assert.equal(overlapN(null, { ...node, top_draft: node.top_draft.slice(0, 2) }), 2);
});

test("a threshold that cannot fire is found where Python finds it", () => {
  const kinds = { recorded: 0, anywhere: 0, may: 0 };
  for (const { rule, name, knobs, nodes, moves } of cases)
    for (const { moved, idle: told } of moves) {
      const found = idle(thresholds[rule], { ...knobs, ...moved }, nodes, 1000);
      const digits = (one) => one && { ...one, extreme: one.extreme.toPrecision(11), limit: one.limit.toPrecision(11) };
      assert.deepEqual(digits(found), digits(told), `${name} ${JSON.stringify(moved)}`);
      kinds[told ? (told.asked ? "recorded" : "anywhere") : "may"] += 1;
    }
  assert.ok(kinds.recorded > 5 && kinds.anywhere > 1 && kinds.may > 50, JSON.stringify(kinds));
  const far = { name: "h_target", sign: ">", limit: 2, knob: "tau_entropy", extreme: 1.3512, asked: 63 };
  assert.equal(
    idleWords(far),
    "It cannot hold: the target's entropy is at most 1.35 here, and tau_entropy asks for more than 2.",
  );
});

function runOf(name, rule) {
  const text = gunzipSync(readFileSync(here(`presets/traces/${name}.jsonl.gz`))).toString("utf-8");
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const store = createStore();
  store.load([{ key: name, card: { name, title: name, knobs: [], threshold: thresholds[rule] }, events }]);
  return store.runs.get(name);
}

test("the first decision that a moved knob changes is the one that Python finds", () => {
  let asked = 0;
  for (const { rule, name, moves } of cases) {
    const told = moves.filter((move) => "first" in move);
    if (!told.length) continue;
    const run = runOf(name, rule);
    for (const { moved, first } of told) {
      const { changed } = replay(run, { ...knobsOf(run), ...moved });
      assert.deepEqual(changed && [changed.round, changed.node], first, `${name} ${JSON.stringify(moved)}`);
      asked += 1;
    }
  }
  assert.ok(asked > 50);
});

test("lines stand at the limits in force, once each, and a folded knob cannot be moved", () => {
  const run = runOf("easd_helps-2-easd", "entropy_veto");
  const { tau_entropy, tau_overlap } = run.head.knobs;
  assert.deepEqual(linesOf(run, "entropy"), [{ knob: "tau_entropy", value: tau_entropy }]);
  assert.deepEqual(linesOf(run, "overlap"), [{ knob: "tau_overlap", value: tau_overlap }]);
  const own = { ...run.head.knobs, tau_entropy_draft: 0.25 };
  assert.deepEqual(
    linesOf(run, "entropy", own).map((line) => line.knob),
    ["tau_entropy", "tau_entropy_draft"],
  );
  assert.deepEqual(linesOf(run, "overlap", { ...own, ablation: "no_overlap" }), []);
  assert.ok(movable(run).includes("tau_entropy_draft"));
  const card = { ...run.card, knobs: [{ name: "tau_entropy_draft", advanced: true }] };
  assert.deepEqual(movable({ ...run, card }), ["tau_entropy", "tau_overlap"]);
});

test("a decision hangs on a veto where it bars what was accepted, on an override where the exact rule rejects", () => {
  const veto = { effect: "veto", bars: "proposed" };
  for (const [threshold, greedy, ...states] of [
    [veto, true, "accepted", "vetoed"],
    [veto, false, "accepted", "vetoed", "rejected"],
    [{ ...veto, bars: "choice" }, true, "accepted", "vetoed", "rejected"],
    [{ effect: "override" }, true, "rejected", "relaxed"],
    [{ effect: "decide" }, true, "accepted", "vetoed", "rejected", "relaxed"],
  ])
    for (const state of ["accepted", "vetoed", "rejected", ...(threshold.effect === "veto" ? [] : ["relaxed"])])
      assert.equal(
        rules.matters(/** @type {any} */ (threshold), {}, Boolean(greedy), state),
        states.includes(state),
        `${JSON.stringify(threshold)} ${greedy} ${state}`,
      );
});

const BROKEN = [
  ["right + one.tolerance", "right"],
  ["right - one.tolerance", "right"],
  ["return left < right", "return left <= right"],
  ["return left > right", "return left >= right"],
  ["parts.includes(false) ? false : parts.includes(null)", "parts.includes(null)"],
  ["found === undefined ? null : found === null", "found == null"],
  ["parts[0] >= 0 ? parts[0] : parts[1]", "parts[0] >= 0 ? parts[1] : parts[0]"],
  ["min: Math.min", "min: Math.max"],
  ["max: Math.max", "max: Math.min"],
  ["exp: Math.exp", "exp: Math.expm1"],
  ["parts.includes(true) ? true : parts.includes(null) ? null : false", "parts.includes(true)"],
  ["sub: (a, b) => a - b", "sub: (a, b) => b - a"],
  ["if (left === undefined || right === undefined) return null;", ""],
  ["own ? own[1] : one.otherwise", "one.otherwise"],
  ["Object.hasOwn(reason, one.number)", "false"],
];

test("a fault in the evaluator is noticed", async () => {
  const source = readFileSync(here("app/static/rules.js"), "utf-8");
  for (const [old, now] of BROKEN) {
    assert.equal(source.split(old).length, 2, `${old} stands once in rules.js`);
    const faulty = await import(`data:text/javascript,${encodeURIComponent(source.replace(old, now))}`);
    let wrong;
    try {
      wrong = missed(faulty);
    } catch {
      wrong = 1;
    }
    assert.ok(wrong > 0, `no vector notices ${old} -> ${now}`);
  }
});
