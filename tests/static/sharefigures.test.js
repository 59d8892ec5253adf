import assert from "node:assert/strict";
import { test } from "node:test";
import { rankBars } from "../../app/static/stage/sharefigures.js";

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
