import assert from "node:assert/strict";
import { test } from "node:test";
import { times } from "../../app/static/draw.js";
import { createEmitter } from "../../app/static/emitter.js";
import { createRepeats, inRange } from "../../app/static/run/repeat.js";
import { ofDrafted, range, repeatedOf, shownFigures, spreadWords } from "../../app/static/run/spread.js";
import { sorted } from "../../app/static/stage/bands.js";
import { figuresOf } from "../../app/static/stage/heads.js";
import { createStore } from "../../app/static/store.js";
import { verdict } from "../../app/static/verdict.js";
import { round, trace } from "./runs.js";

const spread = (median, low = median, high = median, n = 3) => ({ median, low, high, n });
const found = (more = {}) => ({
  runs: 3,
  failed: 0,
  texts: 1,
  tau: spread(4.5),
  accept_rate: spread(0.7, 0.6, 0.8),
  tokens_per_s: spread(100),
  speedup: spread(1.8, 1.5, 2.1),
  verdict: { line: "Measured **thrice**.", why: "Because.", cause: "pays off", speedup: 1.8, unsaid: "" },
  ...more,
});

/** A page with two lanes and an api whose lines a test writes. */
function page(lines, status = {}) {
  const store = createStore();
  const [told, sent] = [[], []];
  const session = {
    ...createEmitter(),
    ran: {
      prompt: "Once",
      lanes: [
        { method: "ar", knobs: {} },
        { method: "sd", knobs: { gamma: 4 } },
      ],
    },
  };
  const api = {
    async *lines(path, body, signal) {
      sent.push({ path, body });
      yield* lines(signal);
    },
  };
  const lanes = [trace("ar", [round()], { guarantee: "reference" }), trace("sd", [round({ drafted: 2, accepted: 1 })])];
  store.load(lanes, status);
  const repeats = createRepeats(store, { api, session, ui: { notify: (text) => told.push(text), clearNotices() {} } });
  return { store, session, repeats, told, sent };
}

test("repetitions ask for what is shown and keep the engine's numbers of each lane", async () => {
  const seen = [];
  const { store, repeats, sent, told } = page(async function* () {
    yield { kind: "queued", n: 3 };
    seen.push(store.status.repeating);
    yield { kind: "running", run: 0, n: 3, rounds: 2 };
    yield { kind: "repeated", run: 0, n: 3, lanes: { ar: found(), sd: found({ runs: 1 }) } };
    seen.push(store.status.repeating);
    yield { kind: "repeated", run: 2, n: 3, lanes: { ar: found(), sd: found() } };
  });
  await repeats.start(3);
  assert.deepEqual(sent[0].body.lanes[1], { method: "sd", knobs: { gamma: 4 } });
  assert.deepEqual([sent[0].path, sent[0].body.n], ["repeat", 3]);
  assert.deepEqual(seen, [
    { run: -1, n: 3 },
    { run: 1, n: 3 },
  ]);
  assert.equal(store.status.repeated.runs, 3);
  assert.deepEqual([store.status.repeating, told], [null, []]);
  assert.equal(repeatedOf(store, "sd").speedup.median, 1.8);
  assert.equal(figuresOf(store, store.runs.get("sd"), store.runs.get("ar"), null).again.runs, 3);
});

test("once runs are repeated every figure is of all of them, and of the shown run while time is scrubbed", async () => {
  const lone = found({ tokens_per_s: spread(50), speedup: null, accept_rate: null });
  const wide = found({ tokens_per_s: spread(90, 80, 100), tau: spread(1.4, 1.2, 1.6) });
  const { store, repeats } = page(async function* () {
    yield { kind: "repeated", run: 2, n: 3, lanes: { ar: lone, sd: wide } };
  });
  const [ar, sd] = ["ar", "sd"].map((key) => store.runs.get(key));
  const once = shownFigures(store, sd, ar);
  assert.deepEqual([once.perSecond, once.tau, once.again], [store.stats(sd).perSecond, 2, null]);
  assert.deepEqual([once.alike, ofDrafted(once)], [true, "of 2"]);
  await repeats.start(3);
  const { perSecond, tau, accepted, ratio, alike, again } = shownFigures(store, sd, ar);
  assert.deepEqual([perSecond, tau, accepted, ratio, alike, again.runs], [90, 1.4, 0.7, 1.8, false, 3]);
  assert.equal(ofDrafted({ again, stats: store.stats(sd) }), "of drafted");
  const told = figuresOf(store, ar, ar, null);
  assert.deepEqual([told.perSecond, told.ratio, told.accepted], [50, null, null]);
  assert.deepEqual(sorted(store, "speed"), ["sd", "ar"]);
  store.setTime({ at: 1 });
  assert.equal(shownFigures(store, sd, ar).again, null);
});

test("the verdict speaks of all runs once there are several, and of the shown run while time is scrubbed", async () => {
  const { store, repeats } = page(
    async function* () {
      yield { kind: "repeated", run: 2, n: 3, lanes: { ar: found(), sd: found() } };
    },
    { recorded: "a case" },
  );
  await repeats.start(3);
  const said = verdict(store);
  assert.equal(said.line, "Measured **thrice**.");
  assert.match(
    said.how,
    /Measured here in 3 runs; 4\.50 \(all the same\) tokens a call; 70 % \(60 % to 80 %\) accepted\./,
  );
  assert.match(said.how, /The lanes below are the recorded ones/);
  store.setTime({ at: 1 });
  assert.match(verdict(store).line, /so far|tokens a target call/);
});

test("new lanes end the repetitions and forget them", async () => {
  let aborted = false;
  const { store, repeats } = page(async function* (signal) {
    yield { kind: "repeated", run: 0, n: 9, lanes: { sd: found() } };
    store.load([trace("other", [round()])]);
    aborted = signal.aborted;
    yield { kind: "repeated", run: 1, n: 9, lanes: { sd: found() } };
  });
  await repeats.start(9);
  assert.equal(aborted, true);
  assert.deepEqual([store.status.repeated, store.status.repeating, repeats.busy], [null, null, false]);
});

test("where repetitions are is told as they go, and Stop keeps what was measured", async () => {
  const line = { place: 2, seconds: 3 };
  const lanes = { sd: found() };
  const told = [];
  let stopped = false;
  const { store, repeats } = page(async function* (signal) {
    const { status } = store;
    told.push([status.repeated, status.repeating, status.line]);
    for (const message of [
      { kind: "queued", n: 3 },
      { kind: "queued", n: 3, line },
      { kind: "running", run: 0, n: 3 },
      { kind: "repeated", run: 0, n: 3, lanes },
      { kind: "running", run: 1, n: 3 },
      { kind: "repeated", run: 1, n: 3, lanes },
      { kind: "repeated", run: 2, n: 3, lanes },
    ]) {
      yield message;
      const { repeated, repeating, line: place } = store.status;
      told.push([repeated?.runs ?? null, repeating?.run ?? null, place]);
      if (!stopped || message.kind !== "repeated") continue;
      repeats.stop();
      assert.deepEqual([signal.aborted, repeats.busy], [true, false]);
    }
  });
  const all = repeats.start(3);
  assert.equal(repeats.busy, true);
  await all;
  assert.deepEqual(told, [
    [null, { run: -1, n: 3 }, null],
    ...[
      [null, -1, null],
      [null, -1, line],
      [null, 0, null],
    ],
    ...[
      [1, 1, null],
      [1, 1, null],
      [2, 2, null],
      [3, null, null],
    ],
  ]);
  assert.equal(repeats.busy, false);
  stopped = true;
  await repeats.start(3);
  assert.deepEqual([store.status.repeated.runs, store.status.repeating, repeats.busy], [1, null, false]);
});

test("what cannot be repeated says why, and an error is told", async () => {
  const opened = page(async function* () {}, { opened: true });
  assert.match(opened.repeats.hindrance(), /from a file/);
  const early = page(async function* () {});
  early.store.setStatus({ phase: "running" });
  assert.match(early.repeats.hindrance(), /not ended yet/);
  early.store.begin([]);
  assert.match(early.repeats.hindrance(), /Nothing has run/);
  await opened.repeats.start(3);
  assert.deepEqual([opened.sent.length, opened.told.length], [0, 1]);
  const other = page(async function* () {});
  other.session.ran = { prompt: "Once", lanes: [{ method: "ar", knobs: {} }] };
  assert.match(other.repeats.hindrance(), /no common settings/);
  other.session.ran.lanes = [...other.store.runs.values()].map(({ card }) => ({ method: card.name, knobs: {} }));
  assert.equal(other.repeats.hindrance(), "");
  other.session.ran.lanes[0].method = "eagle";
  assert.match(other.repeats.hindrance(), /no common settings/, "as many lanes, of another method");
  const bad = page(async function* () {
    yield { kind: "error", error: "Out of memory." };
  });
  await bad.repeats.start(3);
  assert.deepEqual([bad.told, bad.store.status.repeating], [["Out of memory."], null]);
});

test("numbers of runs and ranges in words", () => {
  assert.deepEqual([1, 2, 7.4, 50, "x", ""].map(inRange), [2, 2, 7, 20, 5, 5]);
  assert.equal(range(spread(1.834, 1.71, 2.1), times), "1.83× (1.71× to 2.10×)");
  assert.equal(range(spread(2), times), "2.00× (all the same)");
  assert.equal(range(spread(2, 2, 2, 1), times), "2.00× (once)");
  assert.deepEqual(spreadWords(found({ texts: 3, failed: 1, speedup: null })), [
    "3 runs, 3 different texts",
    "100 (all the same) tok/s",
    "4.50 (all the same) tokens a call",
    "70 % (60 % to 80 %) accepted",
    "1 failed",
  ]);
});
