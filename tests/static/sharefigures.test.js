import assert from "node:assert/strict";
import { test } from "node:test";
import { budget, leftOf, rankBars } from "../../app/static/stage/sharefigures.js";
import { round } from "./runs.js";

test("a token's time is parted among all that took it, one part behind the other", () => {
  const timed = (more) => ({ ...round({ drafted: 1, accepted: 1 }), draft_ms: 2, verify_ms: 5, other_ms: 3, ...more });
  const head = { drafter: "model" };
  const parts = (rounds, drafter = head) => budget({ head: drafter }, rounds).map(({ colour: _, ...rest }) => rest);
  assert.deepEqual(parts([timed(), timed()]), [
    { words: "draft", before: 0, value: 1, share: 0.2 },
    { words: "target", before: 1, value: 2.5, share: 0.5 },
    { words: "other", before: 3.5, value: 1.5, share: 0.3 },
  ]);
  const scored = parts([timed({ extras: { reward: 0.5, early_ms: 1 } })]);
  assert.deepEqual(
    scored.map(({ words, before, value }) => [words, before, value]),
    [
      ["draft", 0, 1],
      ["target", 1, 2.5],
      ["reward model", 3.5, 0.5],
      ["other", 4, 1],
    ],
  );
  assert.deepEqual(
    parts([timed()], { drafter: "none" }).map(({ words, value }) => [words, value]),
    [
      ["target", 2.5],
      ["other", 2.5],
    ],
  );
});

test("names of the parts of a token's time have the room of the longest", () => {
  const words = (...names) => leftOf(names.map((name) => ({ words: name })));
  assert.equal(words("draft", "target", "other"), 47);
  assert.ok(words("reward model", "other") > 80 && words("network") > 50 && words() === 46);
});

test("bars of ranks hold every round once, and methods share their ranks", () => {
  const accepted = Array.from({ length: 61 }, (_, i) => i % 3);
  const bars = rankBars(accepted, [0, 2], 60);
  assert.ok(bars.length <= 24);
  assert.deepEqual([bars[0].low, bars[0].high, bars[1].low], [0, 2, 3]);
  assert.equal(
    bars.reduce((sum, { kept }) => sum + kept, 0),
    accepted.reduce((a, b) => a + b, 0),
  );
  assert.equal(bars[0].lost, 2);
  const short = rankBars([5, 4, 3], [], 60); // of another method beside it: the same bars, so one of them holds all
  assert.deepEqual([short.length, short[0].kept], [bars.length, 12]);
  assert.deepEqual(
    rankBars([1, 2], [], 4).map(({ low, high, kept }) => [low, high, kept]),
    [
      [0, 0, 1],
      [1, 1, 2],
      [2, 2, 0],
      [3, 3, 0],
      [4, 4, 0],
    ],
  );
});
