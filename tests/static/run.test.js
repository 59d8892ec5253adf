import assert from "node:assert/strict";
import { test } from "node:test";
import { addEvent, divergenceOf, makeRun, roundsAt, statsOf, textOf } from "../../app/static/run.js";
import { card, round, trace } from "./runs.js";

/** A run with these events. */
const grown = ({ key, events }) => {
  const run = makeRun(key, card(key));
  for (const event of events) addEvent(run, event);
  return run;
};

test("sums run over rounds and start at 0", () => {
  const times = { draft_ms: 3, verify_ms: 10, other_ms: 1 };
  const run = grown(trace("chain", [round({ drafted: 4, accepted: 2, ...times }), round({ drafted: 4, accepted: 4 })]));
  assert.deepEqual(run.sums.clock, [0, 14, 14]);
  assert.deepEqual(run.sums.tokens, [0, 3, 8]);
  assert.deepEqual(run.sums.drafted, [0, 4, 8]);
  assert.deepEqual(run.sums.accepted, [0, 2, 6]);
  assert.deepEqual(run.sums.verify, [0, 10, 10]);
  assert.equal(run.end.reason, "limit");
  assert.equal(run.head.method, "chain");
});

test("a run without rounds has no rates", () => {
  const stats = statsOf(grown(trace("chain", [])));
  assert.deepEqual([stats.tau, stats.perSecond, stats.acceptRate, stats.tokens], [null, null, null, 0]);
});

test("tokens a second come from the decoding clock", () => {
  const run = grown(trace("chain", [round({ drafted: 1, accepted: 1, draft_ms: 100, verify_ms: 300 })]));
  assert.equal(statsOf(run).perSecond, 5);
});

test("the events of a trace stay as they are", () => {
  const lane = trace("chain", [round({ drafted: 2, accepted: 1 })]);
  lane.events[1].nodes[1].margin = "Infinity";
  lane.events[1].nodes[1].score = "-Infinity";
  const before = JSON.stringify(lane.events);
  const run = grown(lane);
  assert.equal(JSON.stringify(lane.events), before);
  assert.equal(run.rounds[0].nodes[1].margin, Infinity);
  assert.equal(run.rounds[0].nodes[1].score, -Infinity);
  assert.equal(run.rounds[0].nodes[0].margin, undefined);
});

test("texts come from tokens and from the round's list of pieces; an unknown id is shown as a number", () => {
  const run = grown(trace("chain", [round({ ids: [7], pieces: { 42: " other" } })]));
  assert.equal(textOf(run, 7), " t7");
  assert.equal(textOf(run, 42), " other");
  assert.equal(textOf(run, 43), "#43");
});

test("a round has ended at its last millisecond, not before", () => {
  const run = grown(
    trace(
      "chain",
      [5, 5, 5].map((ms) => round({ draft_ms: ms })),
    ),
  );
  assert.deepEqual(
    [0, 4.99, 5, 9.99, 10, 15, 99].map((ms) => roundsAt(run, ms)),
    [0, 0, 1, 1, 2, 3, 3],
  );
});

test("a prefix differs where it ends", () => {
  const long = grown(trace("a", [round({ ids: [1, 2, 3] })]));
  const short = grown(trace("b", [round({ ids: [1, 2] })]));
  const other = grown(trace("c", [round({ ids: [1, 9, 3] })]));
  assert.equal(divergenceOf(long, short), 2);
  assert.equal(divergenceOf(long, other), 1);
  assert.equal(divergenceOf(long, long), 3);
});
