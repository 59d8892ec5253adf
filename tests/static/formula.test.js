// The rule's formula with a token's numbers: what it says is what was decided, and the numbers are those recorded.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cutOf } from "../../app/static/inspector/chance.js";
import { formulaOf, plainText } from "../../app/static/inspector/formula.js";
import { ANCHORS } from "../../app/static/words.js";
import { recordedRun } from "./recorded.js";

const { thresholds, cases } = JSON.parse(readFileSync(new URL("../vectors/thresholds.json", import.meta.url), "utf-8"));
const SIGN = { "<": (a, b) => a < b, "≤": (a, b) => a <= b, ">": (a, b) => a > b, "≥": (a, b) => a >= b };
const runOf = (threshold, knobs, sampling = {}) => ({
  card: { threshold },
  head: { knobs, sampling },
  rounds: [],
  pieces: new Map([
    [5, " five"],
    [6, " six"],
  ]),
});

const tight = (text) => text.replaceAll(" ", "");

/** Whether what is written is true: "u < min(1,0.2/0.4) = 0.5" compares the numbers at both ends. */
function written(text) {
  return text.split(/ [∧∨] /).every((part) => {
    const [, left, sign, right] = part.match(/^(.*?) (<|≤|>|≥) (.*)$/) ?? [];
    if (!sign) return true;
    const last = (side) => side.split(" = ").at(-1);
    if ([left, right].some((side) => last(side).includes("?"))) return true;
    const value = (side) =>
      Number(
        last(side)
          .replace("−", "-")
          .replace("∞", "Infinity")
          .replace(/·10⁻(.+)$/, (_, power) => `e-${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(digit)).join("")}`)
          .replaceAll(/[<)]|^\(/g, ""),
      );
    const [a, b] = [left, right].map(value);
    return a === b || SIGN[sign](a, b);
  });
}

test("a declared condition says of every recorded node what the engine decided, in numbers that bear it out", () => {
  const seen = new Map();
  for (const { rule, knobs, nodes, moves } of cases)
    for (const { moved, holds } of moves)
      nodes.forEach((node, i) => {
        const threshold = { ...thresholds[rule], sampled_only: false };
        const { lines, legend } = formulaOf(runOf(threshold, { ...knobs, ...moved }), { token: 5, ...node });
        const line = lines.find(({ about }) => about !== "accept" || threshold.effect === "decide");
        if (!line) return;
        assert.equal(line.holds, holds[i], `${rule} ${JSON.stringify(moved)}`);
        assert.ok(written(plainText(line.numbers)), plainText(line.numbers));
        for (const { anchor, words } of legend) {
          const target = words.startsWith("rank"); // the glossary's rank is the draft's
          assert.ok(target ? anchor === null : ANCHORS.includes(anchor), words);
        }
        seen.set(rule, (seen.get(rule) ?? new Set()).add(plainText(line.symbols)));
      });
  for (const [rule, symbols] of [
    ["judge", "s < judge_threshold"],
    ["reward", "R ≥ reward_threshold"],
    ["gap", "r ≤ top_beta ∧ Δ ≤ tau_base + tau_gamma · ( 1 − C )"],
    ["typical", "p > min( epsilon , delta · e^( − H))"],
  ])
    assert.ok([...seen.get(rule)].map(tight).includes(tight(symbols)), [...seen.get(rule)].join("; "));
  assert.ok(seen.size >= 6, [...seen.keys()].join());
});

test("the draw of every recorded sampled token is written with its own numbers", () => {
  let drawn = 0;
  for (const name of ["sampled-1-sd", "fourth_try-1-stand"]) {
    const run = recordedRun(name);
    for (const { nodes } of run.rounds)
      for (const node of nodes) {
        const [line] = formulaOf(run, node).lines;
        if (node.state === "discarded") assert.equal(line, undefined);
        if (!line) continue;
        drawn += 1;
        assert.equal(line.holds, node.state === "accepted", name);
        assert.ok(written(plainText(line.numbers)), plainText(line.numbers));
      }
  }
  assert.ok(drawn > 40, String(drawn));
});

test("greedy tests name both tokens; a veto is told after what it overrules", () => {
  const greedy = (node) => formulaOf(runOf(null, {}), { token: 5, ...node }).lines;
  const [same] = greedy({ state: "accepted", reason: { id: "greedy_match", choice: 5 } });
  assert.deepEqual([plainText(same.symbols), same.holds], ["x = argmax\u00a0p", true]);
  const [other] = greedy({ state: "rejected", reason: { id: "greedy_mismatch", choice: 6 } });
  assert.match(plainText(other.numbers), /five” ≠ “.*six”/);
  const [first] = greedy({ state: "vetoed", reason: { id: "veto", strict: 5, choice: 6 } });
  assert.equal(first.holds, true);
  assert.deepEqual(greedy({ state: "accepted", reason: { id: "beam_settled", n: 4 } }), []);
});

test("where a beam ends, it is set against the last that goes on, also while it is open", () => {
  for (const [state, best, holds, said] of [
    ["discarded", -2.2, true, "-2.2 ≥ -2.25"],
    ["rejected", -2.2501, false, "-2.2501 < -2.25"],
    ["accepted", -2.25, true, "-2.25 ≥ -2.25"],
  ]) {
    const node = { token: 5, state, reason: { id: "beam_open", n: 4, best, last: -2.25 } };
    const { lines, legend } = formulaOf(runOf(null, {}, { temperature: 0.7 }), node);
    assert.deepEqual([lines.length, lines[0].holds, legend.length], [1, holds, 2]);
    assert.equal(plainText(lines[0].symbols), "S ≥ S_N");
    assert.equal(plainText(lines[0].numbers).replaceAll("−", "-"), said);
  }
});

test("numbers that differ are written so that they do", () => {
  const threshold = thresholds.reward;
  const node = { token: 5, state: "rejected", reason: { reward: 0.69996 } };
  const [line] = formulaOf(runOf(threshold, { reward_threshold: 0.7 }), node).lines;
  assert.equal(plainText(line.numbers), "0.69996 < 0.7");
  assert.equal(line.holds, false);
});

test("a draft token of a block is set against the chance that the block passes, not against p / q", () => {
  const of = (reason, accept_prob, u) => {
    const node = { token: 5, p: 0.25, q: 0.5, u, accept_prob, reason: { p: 0.25, q: 0.5, u, ...reason } };
    return [formulaOf(runOf(null, {}, { temperature: 1 }), { ...node, state: "accepted" }), cutOf(node)];
  };
  const [inside, none] = of({ id: "block_accept", weight: 0.5 }, 0.0625, 0.7);
  const [line, ...rest] = inside.lines;
  assert.deepEqual([line.about, line.holds, rest.length, none], ["pass", false, 0, null]);
  assert.equal(tight(plainText(line.symbols)), tight("u < m / m + 1 − w"));
  assert.ok(written(plainText(line.numbers)), plainText(line.numbers));
  assert.deepEqual(
    inside.legend.map(({ words }) => words.split(",")[0]),
    ["the draw", "mass that the next token would leave", "weight of the block up to here"],
  );
  const [last] = of({ id: "block_accept", weight: 0.5 }, 0.5, 0.25);
  assert.equal(tight(plainText(last.lines[0].symbols)), "u<w");
  const [single, cut] = of({ id: "ratio_accept" }, 0.5, 0.25);
  assert.deepEqual([single.lines[0].about, cut?.at], ["accept", 0.125]);
});

test("a draw is set against p over q, or against what is left of p where the draft gives no distribution", () => {
  const sampled = runOf(null, {}, { temperature: 1 });
  const said = (/** @type {object} */ reason, accept_prob = 0.5) => {
    const node = { token: 5, state: "accepted", u: 0.3, accept_prob, reason: { id: "ratio_accept", ...reason } };
    const { lines, legend } = formulaOf(sampled, node);
    return lines
      .flatMap((line) => [line.symbols, line.numbers].map((one) => tight(plainText(one))))
      .concat(legend.map(({ words }) => words));
  };
  assert.deepEqual(said({ p: 0.2, q: 0.4 }).slice(0, 2), ["u<min(1,p/q)", "0.3<min(1,0.2/0.4)=0.5"]);
  assert.equal(said({ p: 0.00025, q: 0.000384 }, 0.651)[1], "0.3<min(1,0.00025/0.000384)=0.651");
  assert.equal(said({ p: 3.214e-7, q: 2e-12 }, 0.4)[1], "0.3<min(1,3.21·10⁻⁷/2·10⁻¹²)=0.4");
  assert.equal(said({ p: 0.99999, q: 0.99999 }, 0.99996)[1], "0.3<min(1,0.99999/0.99999)=0.99996");
  assert.deepEqual(said({ p_left: 0.25 }, 0.25), [
    "u<p_left",
    "0.3≥0.25",
    "the draw",
    "the target's share of what is left",
  ]);
  assert.deepEqual([said({}), said({ q: 0.4 }), said({ id: "veto", p: 0.2, q: 0.4 })], [[], [], []]);
});

test("a condition is told with the signs of its comparison, and conditions within others in brackets", () => {
  const number = (/** @type {string} */ name) => ({ number: name });
  const less = (/** @type {string} */ name, /** @type {number} */ limit) => ({
    compare: "<",
    left: number(name),
    right: limit,
  });
  const told = (/** @type {object} */ condition, /** @type {object} */ node) => {
    const given = { token: 5, state: "rejected", reason: { id: "veto", ...node } };
    const [line] = formulaOf(runOf({ effect: "veto", condition, says: "" }, {}), given).lines;
    return [line.symbols, line.numbers].map((one) => tight(plainText(one)));
  };
  assert.deepEqual(told(less("h_target", 2), { h_target: 1.5 }), ["H_target<2", "1.5<2"]);
  assert.deepEqual(told(less("h_target", 2), { h_target: 2.5 }), ["H_target<2", "2.5≥2"]);
  const either = { any: [less("h_target", 2), { all: [less("h_draft", 1), less("overlap", 0.5)] }] };
  assert.equal(told(either, { h_target: 1, h_draft: 1, overlap: 1 })[0], "H_target<2∨(H_draft<1∧O<0.5)");
  const absent = { absent: number("overlap") };
  assert.deepEqual(told(absent, {}), ["overlap=∅", "overlap=∅"]);
  assert.deepEqual(told(absent, { overlap: 0.5 }), ["overlap=∅", "overlap≠∅"]);
});

test("an override is asked where the exact rule rejects; of a light recording nothing is told", () => {
  const abouts = (/** @type {string} */ effect, /** @type {object} */ node) => {
    const threshold = { effect, condition: { compare: "<", left: { number: "overlap" }, right: 0.5 }, says: "" };
    return formulaOf(runOf(threshold, {}), { token: 5, ...node }).lines.map(({ about }) => about);
  };
  const [kept, lost] = ["accepted", "rejected"].map((state) => ({ state, reason: { id: "none", overlap: 0.25 } }));
  assert.deepEqual([abouts("override", kept), abouts("override", lost)], [[], ["accept all the same"]]);
  assert.deepEqual([abouts("veto", kept), abouts("veto", lost)], [["veto"], ["veto"]]);
  assert.deepEqual(abouts("veto", { state: "rejected" }), []);
});
