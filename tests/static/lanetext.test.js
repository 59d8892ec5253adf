import assert from "node:assert/strict";
import { test } from "node:test";
import { knobParts, unitAfter } from "../../app/static/lanes/text.js";
import { card, head } from "./runs.js";

const knobText = (run) =>
  knobParts(run)
    .map(({ text }) => text)
    .join(" · ");

test("a lane tells its knobs, and which of them was calibrated and is set by hand", () => {
  const knob = { advanced: false, calibrated: "python -m engine calibrate", name: "tau_entropy", default: 1.347 };
  const easd = card("easd", { knobs: [knob, { ...knob, name: "gamma", calibrated: "", default: 5 }] });
  const told = (knobs) => knobText({ card: easd, head: head("easd", { knobs }) });
  assert.equal(told({ tau_entropy: 0.15, gamma: 4 }), "tau_entropy 0.15 (by hand; calibrated: 1.347) · gamma 4");
  assert.equal(told({ tau_entropy: 1.347 }), "tau_entropy 1.347");
});

test("a lane names every knob that was set by hand first, a few of the others, and what each is about", () => {
  const knob = (name, advanced = false) => ({
    advanced,
    calibrated: "",
    name,
    unit: "",
    default: 1,
    help: `of ${name}`,
  });
  const knobs = [..."abcdefg"].map((name) => knob(name)).concat(knob("hidden", true), knob("deep", true));
  const given = { ...Object.fromEntries(knobs.map(({ name }) => [name, 1])), f: 2, deep: 3 };
  const run = { card: card("easd", { knobs }), head: head("easd", { knobs: given }) };
  assert.equal(knobText(run), "f 2 · deep 3 · a 1 · b 1");
  assert.deepEqual(knobParts(run)[0], { text: "f 2", help: "of f" });
  const all = Object.fromEntries(knobs.map(({ name }) => [name, 9]));
  assert.equal(knobParts({ ...run, head: head("easd", { knobs: all }) }).length, 9);
});

test("a knob that is named as its unit says it once", () => {
  const knobs = [{ advanced: false, calibrated: "", name: "iterations", unit: "iterations", default: null }];
  const run = { card: card("cmlm", { knobs }), head: head("cmlm", { knobs: { iterations: 10 } }) };
  assert.equal(knobText(run), "iterations 10");
});

test("a lane tells its knobs with their units, and switches as on or off", () => {
  const knob = (name, unit) => ({ advanced: false, calibrated: "", name, unit, default: null });
  const knobs = [knob("k_min", "tokens"), knob("tau_base", "nats"), knob("adapt_k", ""), knob("tau_overlap", "share")];
  const run = { card: card("cm_asd", { knobs }), head: head("cm_asd", {}) };
  const told = (given) => knobText({ ...run, head: { ...run.head, knobs: given } });
  assert.equal(told({ k_min: 1, tau_base: 0.1, adapt_k: true }), "k_min 1 token · tau_base 0.1 nats · adapt_k on");
  assert.equal(told({ k_min: 2, adapt_k: false, tau_overlap: 0.8 }), "k_min 2 tokens · adapt_k off · tau_overlap 0.8");
});

test("a number that stands for another says for which, as the knob's help does", () => {
  const knob = (name, unit, help) => ({ advanced: false, calibrated: "", name, unit, default: -1, help });
  const knobs = [
    knob("judge_threshold", "probability", "accept what lies below this; -1 is the judge's own"),
    knob("alpha", "levels", "levels added in bin 0, one fewer in each next; -1 is half the depth, rounded up"),
  ];
  const run = { card: card("autojudge", { knobs }), head: head("autojudge", {}) };
  const told = (given) => knobText({ ...run, head: { ...run.head, knobs: given } });
  assert.equal(
    told({ judge_threshold: -1, alpha: -1 }),
    "judge_threshold −1 (the judge's own) · alpha −1 (half the depth, rounded up)",
  );
  assert.equal(told({ judge_threshold: 0.1, alpha: 2 }), "judge_threshold 0.1 · alpha 2 levels");
});

test("a unit is said in its number, and not where the number makes it clear", () => {
  assert.deepEqual(
    [1, 2, 0.5].map((value) => unitAfter(value, "tokens")),
    [" token", " tokens", " tokens"],
  );
  assert.deepEqual([unitAfter(0.8, "share"), unitAfter(0.8, "")], ["", ""]);
});
