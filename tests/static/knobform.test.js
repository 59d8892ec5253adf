// A method's settings: numbers are short in words and fields, and exact where nobody wrote another.

import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, exact, usualOf } from "../../app/static/knobform.js";

test("a number is shown with few digits, a whole one and words as they are", () => {
  assert.deepEqual([1 / 3, 0.05, 1e-6, 1000000, "auto", true].map(brief), [
    "0.3333",
    "0.05",
    "0.000001",
    "1000000",
    "auto",
    "true",
  ]);
});

test("what a field shows of a known number is that number with all its digits; what is written is as written", () => {
  assert.equal(exact("0.3333", [1 / 3]), 1 / 3);
  assert.equal(exact("0.3333", [0.5, 1 / 3]), 1 / 3, "the default, written again");
  assert.equal(exact("0.333", [1 / 3]), 0.333);
  assert.equal(exact("5", ["auto", 3]), 5);
});

test("the usual value of a switch is said as lanes say it", () => {
  assert.deepEqual(
    [true, false].map((value) => usualOf({ kind: "switch", default: value })),
    ["on", "off"],
  );
  assert.equal(usualOf({ kind: "number", default: 0.1 }), "0.1");
});
