// Drafted steps: what a reward model scored as a whole, in words, in the score's bands and in the time that it took.

import assert from "node:assert/strict";
import { test } from "node:test";
import { billed, summary, timesOf } from "../../app/static/numbers.js";
import { stepOf, stepWords } from "../../app/static/run/steps.js";
import { bandOf } from "../../app/static/stage/bands.js";
import { figuresOf } from "../../app/static/stage/heads.js";
import { lineAt } from "../../app/static/stage/positiontable.js";
import { contentOf, headOf } from "../../app/static/stage/scorecontent.js";
import { trackOf } from "../../app/static/stage/tracks.js";
import { createStore } from "../../app/static/store.js";
import { round, trace } from "./runs.js";

const reason = (reward) => ({ reward, threshold: 0.7 });
const scored = (reward, kept, drafted = 3) => {
  const one = round({
    drafted,
    accepted: kept ? drafted : 0,
    ids: kept ? [1, 2, 3].slice(0, drafted) : [9],
    extras: { reward, reward_tokens: 20, early_ms: 4 },
    draft_ms: 2,
    other_ms: 5,
    verify_ms: 3,
    fed: kept ? 0 : 1,
  });
  return {
    ...one,
    nodes: one.nodes.map((node) => ({ ...node, state: kept ? "accepted" : "rejected", reason: reason(reward) })),
  };
};
const store = createStore();
store.load([
  trace("steps", [scored(0.93, true), scored(0.41, false), round(), round(), scored(0.7, true, 1)]),
  trace("other", [round({ drafted: 2, accepted: 2 })]),
  trace("silent", [round(), round()]),
]);
const run = store.runs.get("steps");

test("a round whose draft was scored is a step, with its words", () => {
  const [kept, rejected] = run.rounds;
  assert.deepEqual(stepOf(kept), { from: 0, to: 3, score: 0.93, accepted: true, drafted: 3, limit: 0.7, round: 0 });
  assert.equal(
    stepWords(stepOf(kept)),
    "step of 3 draft tokens, score 0.93, at least 0.7: accepted, the target was not asked",
  );
  assert.equal(
    stepWords(stepOf(rejected)),
    "step of 3 draft tokens, score 0.41, below 0.7: rejected, the target writes the step",
  );
  assert.equal(
    stepWords({ ...stepOf(run.rounds[4]), limit: null }).startsWith("step of 1 draft token, score 0.70:"),
    true,
  );
  const nearly = (/** @type {number} */ score) => stepWords({ ...stepOf(kept), score });
  assert.match(nearly(0.9997), /score >0\.999,/);
  assert.match(nearly(0.9971), /score 0\.997,/, "what is not 1 is not written as 1");
  assert.equal(stepOf(run.rounds[2]), null);
  assert.equal(stepOf(store.runs.get("other").rounds[0]), null);
});

test("the band has a bracket for each step and no overhang beside it", () => {
  const { steps, overhangs } = bandOf(run);
  assert.deepEqual(
    steps.map(({ from, to, accepted }) => [from, to, accepted]),
    [
      [0, 3, true],
      [3, 6, false],
      [6, 7, true],
    ],
  );
  assert.equal(overhangs.length, 0);
  assert.equal(trackOf("steps").has(run), true);
  assert.equal(trackOf("steps").has(store.runs.get("other")), false);
});

test("steps are painted as levels with their scores, and as brackets: closed where accepted, dashed where not", () => {
  const calls = [];
  const pen = new Proxy(
    {},
    {
      get:
        (_, name) =>
        (...given) =>
          calls.push([name, ...given]),
      set: () => true,
    },
  );
  const view = {
    run,
    band: bandOf(run),
    list: run.tokens.map((token, pos) => ({ pos, token, round: token.round, index: null, node: null, ghost: false })),
    first: 0,
    last: 7,
    px: 20,
    scroll: 0,
    y: 0,
    height: 18,
    top: 1,
    widest: 3,
    ink: (name) => name,
    sampled: false,
  };
  trackOf("steps").paint(pen, view);
  assert.deepEqual(
    calls.filter(([name]) => name === "fillText").map(([, text, x]) => [text, x]),
    [
      ["0.93", 3],
      ["0.41", 63],
    ],
  );
  calls.length = 0;
  const sure = createStore();
  sure.load([trace("steps", [scored(0.9971, true), scored(0.9999, true)])]);
  const sureRun = sure.runs.get("steps");
  trackOf("steps").paint(pen, { ...view, run: sureRun, band: bandOf(sureRun), last: 6 });
  const told = calls.filter(([name]) => name === "fillText").map(([, text]) => text);
  assert.deepEqual(told, ["0.997", ">0.999"], "what is not 1 is not written as 1");
  calls.length = 0;
  trackOf("spans").paint(pen, view);
  const dashed = calls.filter(([name, dash]) => name === "setLineDash" && dash.length).length;
  assert.equal(dashed, 1, "one step of three was rejected");
  const brackets = calls.filter(([name, , y]) => name === "lineTo" && y === 17);
  assert.equal(brackets.length, 9, "each of three steps: two ends and a line");
});

test("its track is there only while a run on the stage has steps, and names its word", () => {
  const shown = contentOf(store, () => false, 0);
  const place = shown.places.find(({ key }) => key === "steps");
  assert.ok(place.tracks.some(({ id }) => id === "steps"));
  const head = headOf(store, shown, shown.lanes.get("steps"), place);
  assert.equal(head.words[place.tracks.findIndex(({ id }) => id === "steps")], "drafted-step");
  const plain = createStore();
  plain.load([trace("other", [round({ drafted: 2, accepted: 2 })])]);
  assert.ok(!contentOf(plain, () => false, 0).places[0].tracks.some(({ id }) => id === "steps"));
});

test("the line of a position tells the score", () => {
  assert.match(lineAt(store, run, 1), /step score 0\.93/);
  assert.doesNotMatch(lineAt(store, store.runs.get("other"), 1), /step/);
});

test("the reward model's time is a part of its own and of the other time", () => {
  const found = summary(run.rounds);
  assert.deepEqual([found.other, found.reward, found.rest], [15, 12, 3]);
  assert.deepEqual(
    timesOf([found]).map(({ part, ms }) => [part, ms(run.rounds[0])]),
    [
      ["draft", 2],
      ["verify", 3],
      ["reward", 4],
      ["rest", 1],
    ],
  );
  const other = summary(store.runs.get("other").rounds);
  assert.ok(!timesOf([other]).some(({ part }) => part === "reward"));
});

test("a run without a drafter has no draft's time, and still all of its time", () => {
  const rounds = [round({ draft_ms: 0.01, verify_ms: 9, other_ms: 1 })];
  const plain = { ...store.runs.get("silent"), head: { ...store.runs.get("silent").head, drafter: "none" } };
  const told = summary(billed(plain, rounds));
  assert.deepEqual([told.verify, told.other], [9, 1.01]);
  assert.deepEqual(
    timesOf([told]).map(({ part, ms }) => [part, ms(billed(plain, rounds)[0])]),
    [
      ["verify", 9],
      ["rest", 1.01],
    ],
  );
  const alone = summary(billed(plain, [round({ draft_ms: 8, fed: 0 })]));
  assert.equal(alone.draft, 8, "a draft model that writes alone takes the draft's time");
  const silent = summary(billed(store.runs.get("silent"), rounds));
  assert.equal(silent.draft, 0.01, "a drafter that found nothing took its time");
  assert.ok(timesOf([told, silent]).some(({ part }) => part === "draft"));
});

test("a band says loudly that nothing was drafted, a baseline does not", () => {
  const silent = store.runs.get("silent");
  assert.match(figuresOf(store, silent, null, null).silent, /^Drafted nothing: in 2 target calls/);
  assert.equal(figuresOf(store, run, null, null).silent, "");
  const baseline = { ...silent, card: { ...silent.card, family: "baseline" } };
  assert.equal(figuresOf({ ...store, stats: store.stats }, baseline, null, null).silent, "");
});

test("a band says that its run was stopped or failed, and of one that ended nothing", () => {
  const told = (reason) => figuresOf(store, { ...run, end: { ...run.end, reason } }, null, null).failed;
  assert.deepEqual(["eos", "limit", "stopped", "error"].map(told), ["", "", "stopped", "failed"]);
});
