// The first token in view, for lanes that scroll together.

import assert from "node:assert/strict";
import { test } from "node:test";
import { firstBelow, hiddenSides } from "../../app/static/lanes/scroll.js";

test("the first of a growing row beyond a limit is found with few questions", () => {
  const row = [10, 10, 30, 30, 50];
  let asked = 0;
  const at = (i) => {
    asked += 1;
    return row[i];
  };
  assert.deepEqual(
    [5, 10, 29, 30, 49, 50].map((limit) => firstBelow(row.length, at, limit)),
    [0, 2, 2, 4, 4, -1],
  );
  assert.ok(asked <= 18);
  assert.equal(firstBelow(0, at, 5), -1);
});

test("lanes fade at the sides where more of them are", () => {
  assert.deepEqual(hiddenSides(0, 900, 900), []);
  assert.deepEqual(hiddenSides(0, 900, 1200), ["right"]);
  assert.deepEqual(hiddenSides(100, 900, 1200), ["left", "right"]);
  assert.deepEqual(hiddenSides(299.6, 900, 1200), ["left"], "a fraction of a pixel hides nothing");
});
