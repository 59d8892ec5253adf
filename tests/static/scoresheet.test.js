// The score on paper: how many lines it takes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { paintHead } from "../../app/static/stage/scorepaint.js";
import { linesFor } from "../../app/static/stage/scoresheet.js";

test("one line holds what can be read in it, and lines are as long as each other", () => {
  assert.deepEqual(linesFor(0), { lines: 1, each: 0 });
  assert.deepEqual(linesFor(92), { lines: 1, each: 92 });
  assert.deepEqual(linesFor(93), { lines: 2, each: 47 });
  for (const count of [1, 160, 1000]) {
    const { lines, each } = linesFor(count);
    assert.ok(lines * each >= count && (lines - 1) * each < count);
  }
});

test("a title leaves its figures their room", () => {
  const told = (/** @type {string} */ title) => {
    /** @type {string[]} */
    const words = [];
    const ctx = { fillText: (/** @type {string} */ text) => words.push(text), fillRect() {} };
    const place = { top: 0, height: 26, folded: true, tracks: [] };
    const head = { title, figures: "21 calls · 3.52", labels: [] };
    paintHead(/** @type {any} */ (ctx), /** @type {any} */ (place), head, 260, (name) => name);
    return words[0];
  };
  assert.equal(told("Short"), "Short");
  assert.equal(told("A method of twenty-six let"), "A method of twenty-six let", "in smaller letters");
  assert.match(told("A method, with typical acceptance"), /^A method, with typical.*…$/);
});
