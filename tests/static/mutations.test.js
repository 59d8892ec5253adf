// Deliberate faults in the page's what-if, planted one by one: each must be noticed by the vectors or by a small run.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createStore } from "../../app/static/store.js";

const here = (path) => new URL(`../../${path}`, import.meta.url);
const { thresholds, cases } = JSON.parse(readFileSync(here("tests/vectors/thresholds.json"), "utf-8"));

/** A module of the page with one piece of its source replaced. */
function planted(file, old, now) {
  const source = readFileSync(here(`app/static/${file}`), "utf-8");
  assert.equal(source.split(old).length, 2, `${old} stands once in ${file}`);
  const whole = source.replace(old, now).replaceAll('from "./', `from "${here("app/static/")}`);
  return import(`data:text/javascript,${encodeURIComponent(whole)}`);
}

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

const recorded = cases
  .filter(({ moves }) => moves.some((move) => "first" in move))
  .map(({ rule, name, moves }) => ({ run: runOf(name, rule), moves: moves.filter((move) => "first" in move) }));

/** First changes that differ from Python's; and marks that are not where the condition holds. */
function replays({ replay, knobsOf }) {
  let wrong = 0;
  for (const { run, moves } of recorded)
    for (const { moved, first } of moves) {
      const { changed, marks, was, known } = replay(run, { ...knobsOf(run), ...moved });
      wrong += JSON.stringify(changed && [changed.round, changed.node]) === JSON.stringify(first) ? 0 : 1;
      const tested = run.rounds.flatMap((round) => round.nodes.filter((node) => node.state !== "discarded"));
      wrong += known <= tested.length && marks.length <= known && was.length <= known ? 0 : 1;
      if (!Object.keys(moved).length) wrong += JSON.stringify(marks) === JSON.stringify(was) ? 0 : 1;
      if (!changed) continue;
      const { start, nodes } = run.rounds[changed.round];
      wrong += changed.pos === start + nodes[changed.node].depth - 1 ? 0 : 1;
      wrong += marks.includes(changed.pos) === was.includes(changed.pos) ? 1 : 0;
    }
  return wrong;
}

/** A judge whose own threshold stands for a negative knob, and typical acceptance, which is not asked at temperature 0. */
function settings({ knobsOf, thresholdOf, movable, linesOf, blind }) {
  const threshold = thresholds.judge;
  const head = { knobs: { judge_threshold: -1 }, sampling: { temperature: 0 } };
  const judge = { head, rounds: [{ extras: {} }, { extras: { judge_threshold: 0.25 } }], card: { threshold } };
  const typical = { head, rounds: [], card: { threshold: thresholds.typical } };
  const tree = { nodes: [{ parent: -1 }, { parent: -1 }] };
  const warm = { ...typical, head: { ...head, sampling: { temperature: 1 } }, rounds: [tree] };
  const easd = runOf("easd_helps-2-easd", "entropy_veto");
  const folded = { ...easd, card: { ...easd.card, knobs: [{ name: "tau_overlap", advanced: true }] } };
  const found = [
    knobsOf(judge).judge_threshold,
    thresholdOf(typical) === null,
    thresholdOf(warm) !== null && blind(warm),
    blind({ ...warm, rounds: [{ nodes: [{ parent: -1 }, { parent: 0 }] }] }),
    movable(folded).includes("tau_overlap"),
    movable(folded).includes("tau_entropy"),
    linesOf(easd, "entropy").length,
    linesOf(easd, "rank").length,
  ];
  return JSON.stringify(found) === "[0.25,true,true,false,false,true,1,0]" ? 0 : 1;
}

/** Thresholds that cannot fire, as Python finds them. */
function idles({ idle }) {
  let wrong = 0;
  const digits = (one) => one && { ...one, extreme: one.extreme.toPrecision(11), limit: one.limit.toPrecision(11) };
  const plain = (one) => JSON.stringify(Object.entries(digits(one) ?? {}).sort());
  for (const { rule, knobs, nodes, moves } of cases)
    for (const { moved, idle: told } of moves)
      wrong += plain(idle(thresholds[rule], { ...knobs, ...moved }, nodes, 1000)) === plain(told) ? 0 : 1;
  const either = { ...thresholds.top_k, condition: { any: [thresholds.top_k.condition, { all: [] }] } };
  const far = [{ state: "rejected", reason: { rank: 9 } }];
  wrong += idle(either, { accept_k: 4 }, far, 1000) === null ? 0 : 1;
  const kept = [...far, { state: "accepted", reason: { rank: 1 } }, { state: "discarded", reason: { rank: 1 } }];
  wrong += idle(thresholds.top_k, { accept_k: 4 }, kept, 1000)?.extreme === 9 ? 0 : 1;
  const exact = [{ state: "accepted", reason: { rank: 1, gap: 0, confidence: null } }];
  const gap = { top_beta: 3, tau_base: 0.1, tau_gamma: 0, threshold_mode: "equation" };
  const behind = [...exact, { state: "rejected", reason: { rank: 2, gap: 2, confidence: null } }];
  wrong += idle(thresholds.gap, gap, behind, 1000)?.extreme === 2 ? 0 : 1;
  const entropy = { state: "accepted", h_target: 1, h_draft: 1, overlap: 1 };
  const easd = { tau_entropy: 6.95, tau_overlap: 0.5, tau_entropy_draft: -1, entropy_temperature: 1, ablation: "none" };
  wrong += idle(thresholds.entropy_veto, easd, [entropy], 1000)?.asked === 0 ? 0 : 1;
  return wrong;
}

const FAULTS = [
  // thresholds.js
  ["thresholds.js", 'node.state === "discarded"', "false", replays],
  ["thresholds.js", "!result.changed && now !== before", "now !== before", replays],
  ["thresholds.js", "!result.changed && now !== before", "!result.changed && (now || before)", replays],
  ["thresholds.js", "!matters(threshold, first, greedy, node.state)", "false", replays],
  ["thresholds.js", "if (now) result.marks", "if (!now) result.marks", replays],
  ["thresholds.js", "round.start + node.depth - 1", "round.start + node.depth", replays],
  ["thresholds.js", "if (told != null) knobs[name]", "if (told == null) knobs[name]", settings],
  ["thresholds.js", "threshold?.sampled_only && run && isGreedy(run)", "false", settings],
  ["thresholds.js", "!folded.has(name)", "true", settings],
  ["thresholds.js", "node.parent !== i - 1", "node.parent === i - 1", settings],
  ["thresholds.js", "fields.includes(term.name)", "true", settings],
  // idle.js
  ["idle.js", "upper ? Math.max(...values)", "upper ? Math.min(...values)", idles],
  ["idle.js", "found.some((term) => term.holds)", "found.every((term) => term.holds)", idles],
  ["idle.js", 'threshold.effect === "override" && node.state === "accepted"', "false", idles],
  ["idle.js", 'node.state === "discarded"', "false", idles],
  ["idle.js", "holds(threshold.exact, knobs, node) !== true", "true", idles],
  ["idle.js", "condition.any.length === 1", "true", idles],
  ["idle.js", "upper ? Math.log(vocab) : 0", "upper ? Infinity : 0", idles],
  ["idle.js", "limits.size !== 1", "limits.size === 0", idles],
];

test("the checks pass on the page as it is", async () => {
  assert.equal(replays(await import("../../app/static/thresholds.js")), 0);
  assert.equal(settings(await import("../../app/static/thresholds.js")), 0);
  assert.equal(idles(await import("../../app/static/idle.js")), 0);
});

for (const [file, old, now, check] of FAULTS)
  test(`${file}: ${old} -> ${now || "nothing"}`, async () => {
    const faulty = await planted(file, old, now);
    let wrong;
    try {
      wrong = check(faulty);
    } catch {
      wrong = 1;
    }
    assert.ok(wrong > 0, "no check notices");
  });
