// What a place without a draft tree says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addEvent, makeRun } from "../../app/static/run.js";
import { whyNone } from "../../app/static/stage/treegrid.js";
import { recordedRun } from "./recorded.js";
import { card, round, trace } from "./runs.js";

test("who wrote where nothing was drafted", () => {
  const said = (name) => {
    const run = recordedRun(name);
    return whyNone(run, run.rounds[0], 0);
  };
  assert.match(said("first_look-0-ar"), /^Plain decoding: the target makes each token/);
  assert.match(said("all_methods-*-draft_alone"), /^The draft model writes alone/);
  assert.equal(said("first_look-1-sd"), "", "a tree is there");
});

test("a lane that failed ended at no position, and a drafter without a draft is no plain decoding", () => {
  const made = (events) => {
    const run = makeRun("sd", card("sd"));
    for (const event of events) addEvent(run, event);
    return run;
  };
  const { events } = trace("sd", [round({ drafted: 0 }), round({ drafted: 0 })]);
  assert.equal(whyNone(made(events.slice(-1)), null, 0), "Did not run. Text tells why.");
  const stopped = { ...events.at(-1), reason: "stopped" };
  for (const cut of [[stopped], [events[0], stopped]])
    assert.equal(whyNone(made(cut), null, 0), "It was stopped before its first round.");
  assert.equal(whyNone(made([events[0], events.at(-1)]), null, 0), "It ended before its first token.");
  const silent = made(events);
  assert.match(whyNone(silent, silent.rounds[0], 0), /^No draft in this round: the drafter found nothing/);
  assert.match(whyNone(silent, null, 2), /^The text ended at position 1/);
  assert.equal(whyNone(silent, null, 1), "Not decoded yet."); // at an earlier time
});
