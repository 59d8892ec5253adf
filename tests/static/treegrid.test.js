// What a place without a draft tree says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNone } from "../../app/static/stage/treegrid.js";
import { recordedRun } from "./recorded.js";

test("who wrote where nothing was drafted", () => {
  const said = (name) => {
    const run = recordedRun(name);
    return whyNone(run, run.rounds[0]);
  };
  assert.match(said("first_look-0-ar"), /^Plain decoding: the target makes each token/);
  assert.match(said("all_methods-*-draft_alone"), /^The draft model writes alone/);
  assert.equal(said("first_look-1-sd"), "", "a tree is there");
});
