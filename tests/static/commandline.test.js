// A command as it is shown.

import assert from "node:assert/strict";
import { test } from "node:test";
import { grouped } from "../../app/static/commandline.js";

test("an option stays beside its value, and quotes hold blanks", () => {
  assert.deepEqual(grouped('python -m engine compare --items 40 --knob="a b" --all "two words" --seed 1'), [
    ["python", "-m", "engine"],
    ["compare"],
    ["--items", "40"],
    ['--knob="a b"'],
    ["--all", '"two words"'],
    ["--seed", "1"],
  ]);
  assert.deepEqual(grouped("engine mine --resume; engine judge-train"), [
    ["engine"],
    ["mine"],
    ["--resume;"],
    ["engine"],
    ["judge-train"],
  ]);
});
