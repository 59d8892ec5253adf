// A title of a figure in lines.

import assert from "node:assert/strict";
import { test } from "node:test";
import { brokenAt } from "../../app/static/titlelines.js";

const broken = (text, room) => brokenAt(text, room, (words) => words.length);

test("a title that fits is one line, a longer one breaks at blanks, a long word stays whole", () => {
  assert.deepEqual(broken("Tokens a call", 13), ["Tokens a call"]);
  assert.deepEqual(broken("Tokens a call", 12), ["Tokens a", "call"]);
  assert.deepEqual(broken("throughput of a method", 6), ["throughput", "of a", "method"]);
});
