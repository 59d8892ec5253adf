// The words in a draft tree.

import assert from "node:assert/strict";
import { test } from "node:test";
import { rootOf, stubLabel } from "../../app/static/tree/figure.js";
import { head } from "./runs.js";

test("the first draft stands behind a prompt, or behind the source that an encoder read", () => {
  const run = (/** @type {number} */ source) => /** @type {any} */ ({ head: head("sd", { source }), tokens: [] });
  const round = /** @type {any} */ ({ start: 0 });
  assert.deepEqual([rootOf(run(0), round, 8), rootOf(run(3), round, 8)], ["prompt", "source"]);
});

test("what was left out is told within its column, beside the words of the next", () => {
  const words = "6 left out: entropy bin, budget";
  assert.equal(stubLabel(words, 220), words);
  const cut = stubLabel(words, 168);
  assert.ok(cut.endsWith("…") && words.startsWith(cut.slice(0, -1)) && cut.length <= 25, cut);
  assert.ok(!stubLabel("👩‍🚀👩‍🚀👩‍🚀👩‍🚀👩‍🚀👩‍🚀: budget", 60).includes("\ufffd"));
});
