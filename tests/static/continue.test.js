import assert from "node:assert/strict";
import { test } from "node:test";
import { createEmitter } from "../../app/static/emitter.js";
import { makeFilter } from "../../app/static/filters.js";
import {
  alternativesAt,
  createContinuing,
  forcedText,
  forcedWords,
  isMade,
  takeAway,
} from "../../app/static/run/continue.js";
import { forcedOf } from "../../app/static/run.js";
import { partsAt } from "../../app/static/stage/bands.js";
import { figuresOf } from "../../app/static/stage/heads.js";
import { contentOf } from "../../app/static/stage/scorecontent.js";
import { readStage, stagePairs } from "../../app/static/stage/stagelink.js";
import { createStore } from "../../app/static/store.js";
import { verdict } from "../../app/static/verdict.js";
import { card, head, round, trace } from "./runs.js";

const top = (ids) => ids.map((id, i) => [id, 0.5 / (i + 1)]);

function page(lines, { preset = "tiny", opened = false, extras = {} } = {}) {
  const store = createStore();
  const [told, sent] = [[], []];
  const lane = trace("sd", [round({ drafted: 2, accepted: 1 }), round({ ids: [30] })], {
    preset,
    extras,
    knobs: { gamma: 2 },
    prompt_ids: [1, 2, 3],
    sampling: { temperature: 0.5, top_k: 4, top_p: 0.9 },
  });
  store.load([lane], { opened });
  const ui = { ...createEmitter(), notify: (text) => told.push(text), clearNotices() {} };
  const api = {
    async *lines(path, body, signal) {
      sent.push({ path, ...body });
      yield* lines(store, signal, ui);
    },
  };
  const session = { catalogue: { models: ["tiny"] }, ran: null };
  return { store, told, sent, ui, continuing: createContinuing(store, { api, session, ui }) };
}

async function* answer() {
  yield { kind: "queued" };
  yield { kind: "begin", card: card("sd") };
  const forced = { preset: "tiny", prompt_ids: [1, 2, 3, 10, 77], extras: { forced: 2 } };
  yield { kind: "events", events: [head("sd", forced)] };
}
async function* whole() {
  yield* answer();
  yield { kind: "events", events: [round(), { kind: "end", reason: "eos" }] };
}
const turn = () => new Promise(setImmediate);

test("the other likely tokens of a place, without the one that was written", () => {
  const store = createStore();
  const first = round({ drafted: 1, accepted: 1 });
  first.nodes[0].top_target = top([10, 11, 12]);
  const second = round({ ids: [20] });
  second.tokens[0].top_target = top([21, 20, 22, 23, 24, 25, 26, 27]);
  store.load([trace("sd", [first, second])]);
  const run = store.runs.get("sd");
  assert.deepEqual(
    alternativesAt(run, 0).map(({ token }) => token),
    [11, 12],
  );
  assert.deepEqual(
    alternativesAt(run, 2).map(({ token }) => token),
    [21, 22, 23, 24, 25],
  );
  run.rounds[0].nodes[0].law_target = [
    [10, 0.7],
    [11, 0.3],
  ];
  const drawn = alternativesAt(run, 0, "sampled").map(({ token, p }) => [token, p]);
  assert.deepEqual(drawn, [
    [11, 0.3],
    [12, 0],
  ]);
  assert.notEqual(alternativesAt(run, 0, "raw")[0].p, 0.3);
  assert.deepEqual(alternativesAt(run, 1), [], "nothing was recorded there");
  assert.deepEqual([alternativesAt(run, 9), alternativesAt(run, null)], [[], []]);
});

test("a continuation asks for the same method, with the prefix and the other token forced, and becomes a lane", async () => {
  const { store, continuing, sent, told } = page(answer);
  await continuing.start(store.runs.get("sd"), 1, 77);
  const [asked] = sent;
  assert.deepEqual([asked.path, asked.prompt_ids, asked.forced], ["continue", [1, 2, 3], [10, 77]]);
  assert.deepEqual(asked.lanes, [{ method: "sd", knobs: { gamma: 2 } }]);
  assert.deepEqual([asked.temperature, asked.top_k, asked.top_p, asked.max_new_tokens], [0.5, 4, 0.9, 62]);
  assert.deepEqual([store.lanes, store.status.phase, told], [["sd", "sd~1"], "done", []]);
  const run = store.runs.get("sd~1");
  assert.equal(forcedOf(run), 2);
  assert.match(forcedWords(run), /^Its first 2 tokens were forced: those of sd before position 1/);
  assert.equal(store.runs.get("sd").rounds.length, 2, "the lane that it comes from stays");
});

test("a forced lane among recorded ones is told as measured here, and its speed is compared with none", () => {
  const store = createStore();
  const timed = (more) => round({ ...more, draft_ms: 1, verify_ms: 10 });
  const plain = trace("ar", [timed(), timed()], { guarantee: "reference", created: "2026-01-01T00:00:00" });
  const forced = trace("sd", [timed({ drafted: 2, accepted: 2 })], { prompt_ids: [1, 2], extras: { forced: 1 } });
  store.load([plain, forced], { recorded: "a case" });
  store.setCursor({ run: "sd", pos: 0 });
  const said = verdict(store);
  assert.match(said.how, /^Measured here/);
  assert.doesNotMatch(said.line + said.how, /the speed of|Recorded/);
  const figures = (run) => figuresOf(store, store.runs.get(run), store.runs.get("ar"), null);
  assert.equal(figures("sd").ratio, null);
  const own = { ...forced.events[0], prompt_ids: [1], extras: { process: "one" } };
  store.load([plain, { ...forced, events: [own, ...forced.events.slice(1)] }]);
  assert.ok(figures("sd").ratio > 0, "a run of its own is compared");
});

test("a forced beginning can be continued: its tokens stay forced", async () => {
  const { store, continuing, sent } = page(answer, { extras: { forced: 1 } });
  await continuing.start(store.runs.get("sd"), 1, 77);
  assert.deepEqual(
    [sent[0].prompt_ids, sent[0].forced],
    [
      [1, 2],
      [3, 10, 77],
    ],
  );
});

test("Stop ends it, and so do other runs; an error is told", async () => {
  let aborted = null;
  const stopped = page(async function* (_store, signal, ui) {
    yield { kind: "begin", card: card("sd") };
    ui.emit("halt");
    aborted = signal.aborted;
  });
  await stopped.continuing.start(stopped.store.runs.get("sd"), 0, 5);
  assert.deepEqual([aborted, stopped.store.status.phase], [true, "done"]);
  const replaced = page(async function* (store, signal) {
    yield { kind: "begin", card: card("sd") };
    store.load([trace("other", [round()])]);
    store.setStatus({ phase: "done" });
    aborted = signal.aborted;
    yield { kind: "events", events: [head("sd")] };
  });
  aborted = null;
  await replaced.continuing.start(replaced.store.runs.get("sd"), 0, 5);
  assert.deepEqual([aborted, replaced.store.lanes], [true, ["other"]]);
  const bad = page(async function* () {
    yield { kind: "error", error: "Token id 5 is outside the vocabulary." };
  });
  await bad.continuing.start(bad.store.runs.get("sd"), 0, 5);
  assert.deepEqual(bad.told, ["Token id 5 is outside the vocabulary."]);
});

test("a file of other models cannot be continued here", async () => {
  const { store, continuing, sent } = page(answer, { preset: "elsewhere", opened: true });
  assert.match(continuing.hindrance(store.runs.get("sd")), /not loaded here/);
  await continuing.start(store.runs.get("sd"), 0, 5);
  assert.equal(sent.length, 0);
});

test("what stood before is shown, the chosen token apart; a head that contradicts itself forces nothing", () => {
  const told = (more) => ({ head: head("x", more), key: "x" });
  const run = told({ prompt_ids: [1, 2, 3], prompt_pieces: ["Q:", " one", " two"], extras: { forced: 2 } });
  assert.deepEqual(forcedText(run), { before: " one", chosen: " two" });
  const more = { prompt_ids: [1, 2, 3, 4], prompt_pieces: ["Q:", " one", " two", " six"], extras: { forced: 3 } };
  assert.deepEqual(forcedText(told(more)), { before: " one two", chosen: " six" });
  for (const forced of [9, -1, "2", null]) assert.equal(forcedOf(told({ prompt_ids: [1], extras: { forced } })), 0);
  assert.equal(forcedWords(told({})), "");
});

test("a lane with a forced beginning stands after it: same text at the same place, another from the chosen token on", () => {
  const store = createStore();
  const ids = (list) => round({ ids: list });
  const plain = trace("ar", [ids([10]), ids([11]), ids([12]), ids([13])], { guarantee: "reference" });
  const more = { prompt_ids: [1, 10, 77], extras: { forced: 2 } };
  store.load([
    plain,
    trace("sd~1", [ids([12]), ids([14])], more),
    trace("sd~2", [ids([11]), ids([12])], { prompt_ids: [1, 10], extras: { forced: 1 } }),
  ]);
  const [ar, other, same] = ["ar", "sd~1", "sd~2"].map((key) => store.runs.get(key));
  assert.equal(store.divergence("ar", "sd~1"), 1, "the chosen token, which the lane was given");
  assert.equal(partsAt(store, other, ar), -1, "before its first own position");
  assert.equal(partsAt(store, same, ar), null);
  assert.deepEqual(store.twin({ run: "ar", round: 2, pos: 2, node: null }, "sd~2"), { run: "sd~2", pos: 1 });
  assert.deepEqual(store.twin({ run: "sd~2", round: 0, pos: 0, node: null }, "ar"), { run: "ar", pos: 1 });
  assert.equal(store.twin({ run: "ar", round: 0, pos: 0, node: null }, "sd~2"), null, "it was given that token");
  const { lanes, count } = contentOf(store, () => false, 0);
  assert.deepEqual(
    [...lanes.values()].map(({ shift }) => shift),
    [0, 2, 1],
  );
  assert.equal(count, 4);
  const range = makeFilter({ kind: "range", range: [2, 2] });
  const [first, second] = same.rounds;
  assert.ok(range.test(same, second, null, second.tokens[0]) && !range.test(same, first, null, first.tokens[0]));
});

test("a link holds the lanes that go on from others, and makes them again one after another; Stop and other runs end that", async () => {
  const made = page(answer);
  await made.continuing.start(made.store.runs.get("sd"), 1, 77);
  assert.deepEqual(made.store.options.continued, [{ lane: "sd~1", run: "sd", pos: 1, token: 77 }]);
  const { continued } = readStage(new URLSearchParams(stagePairs(made.store)));
  assert.deepEqual(continued, made.store.options.continued);
  const opened = page(answer);
  const two = [
    ...continued,
    { lane: "sd~2", run: "sd", pos: 0, token: 5 },
    { lane: "x~1", run: "gone", pos: 0, token: 5 },
  ];
  opened.store.setOption("continued", two);
  while (opened.sent.length < 2 || opened.store.status.phase !== "done") await new Promise(setImmediate);
  assert.deepEqual(
    opened.sent.map(({ forced }) => forced),
    [[10, 77], [5]],
  );
  await new Promise(setImmediate);
  assert.deepEqual(opened.store.options.continued, two.slice(0, 2), "what cannot be made is asked for once");
  opened.store.load([trace("other", [round()])]);
  assert.deepEqual(opened.store.options.continued, []);
  for (const bad of ["go=[1,2]", "go={}", 'go=["a","b",-1,2]', `go=["${"x".repeat(99)}","b",1,2]`])
    assert.equal(readStage(new URLSearchParams(bad)).continued, undefined, bad);
});

test("a continuation that fails leaves nothing to try again", async () => {
  const bad = page(async function* () {
    yield { kind: "error", error: "No." };
  });
  await bad.continuing.start(bad.store.runs.get("sd"), 0, 5);
  await new Promise(setImmediate);
  assert.deepEqual([bad.sent.length, bad.told, bad.store.options.continued], [1, ["No."], []]);
});

test("a continuation that is refused once its lane stands there takes the lane with it", async () => {
  const bad = page(async function* () {
    yield { kind: "begin", card: card("sd") };
    yield { kind: "error", error: "No such token." };
  });
  await bad.continuing.start(bad.store.runs.get("sd"), 0, 9999);
  await turn();
  assert.deepEqual([bad.store.lanes, bad.told, bad.store.options.continued], [["sd"], ["No such token."], []]);
  assert.equal(bad.store.status.phase, "done");
});

test("nothing goes on from a place that the run did not reach, as a link may ask", async () => {
  const { store, sent, told, continuing } = page(whole);
  const { length } = store.runs.get("sd").tokens;
  store.setOption("continued", [{ lane: "sd~1", run: "sd", pos: length, token: 5 }]);
  await turn();
  assert.deepEqual([sent, store.options.continued, store.lanes], [[], [], ["sd"]]);
  assert.match(told[0], new RegExp(`wrote no token at position ${length}`));
  await continuing.start(store.runs.get("sd"), length - 1, 5);
  assert.equal(sent.length, 1);
});

test("a continuation that was asked for before other runs took the stage does not join them", async () => {
  const { store, continuing } = page(async function* (store) {
    yield { kind: "queued" };
    store.load([trace("plain", [round()])]);
    yield* answer();
  });
  await continuing.start(store.runs.get("sd"), 1, 77);
  assert.deepEqual(store.lanes, ["plain"]);
  assert.deepEqual(store.options.continued, []);
  assert.equal(store.status.phase, "done");
});

test("a lane that is not asked for any more goes away, and comes back with all it had when it is asked for again", async () => {
  const { store, continuing, sent } = page(whole);
  await continuing.start(store.runs.get("sd"), 1, 77);
  const { continued } = store.options;
  const lane = store.runs.get("sd~1");
  assert.ok(isMade(lane) && !isMade(store.runs.get("sd")));
  store.setCursor({ run: "sd~1", pos: 0 });
  store.setOption("continued", []);
  await turn();
  assert.deepEqual([store.lanes, store.runs.has("sd~1"), store.cursor], [["sd"], false, null]);
  store.setOption("continued", structuredClone(continued));
  await turn();
  assert.deepEqual([store.lanes, sent.length], [["sd", "sd~1"], 1], "the engine is not asked again");
  assert.equal(store.runs.get("sd~1"), lane);
});

test("a lane that is taken away leaves the link, with the lanes that go on from it, and is not made again", async () => {
  const { store, continuing, sent } = page(whole);
  await continuing.start(store.runs.get("sd"), 1, 77);
  await continuing.start(store.runs.get("sd~1"), 0, 5);
  await continuing.start(store.runs.get("sd"), 0, 9);
  await turn();
  assert.deepEqual(store.lanes, ["sd", "sd~1", "sd~2", "sd~3"]);
  takeAway(store, store.runs.get("sd~1"));
  await turn();
  assert.deepEqual([store.lanes, sent.length], [["sd", "sd~3"], 3]);
  assert.deepEqual(store.options.continued, [{ lane: "sd~3", run: "sd", pos: 0, token: 9 }]);
});

test("a lane that is taken away while it is written ends there", async () => {
  let aborted = null;
  const { store, continuing } = page(async function* (store, signal) {
    yield* answer();
    takeAway(store, store.runs.get("sd~1"));
    aborted = signal.aborted;
  });
  await continuing.start(store.runs.get("sd"), 1, 77);
  assert.deepEqual([aborted, store.status.phase, store.lanes, store.options.continued], [true, "done", ["sd"], []]);
});

test("a lane that is still to come is not ended when another is taken away", async () => {
  const { store, continuing, told } = page(async function* (store) {
    if (store.lanes.length > 1) takeAway(store, store.runs.get("sd~1"));
    yield* whole();
  });
  await continuing.start(store.runs.get("sd"), 1, 77);
  await continuing.start(store.runs.get("sd"), 0, 9);
  assert.deepEqual([store.lanes, store.status.phase, told], [["sd", "sd~2"], "done", []]);
  assert.equal(store.runs.get("sd~2").end.reason, "eos");
});

test("runs that come back to the stage bring the lanes that were made beside them", async () => {
  const { store, continuing, sent } = page(whole);
  await continuing.start(store.runs.get("sd"), 1, 77);
  const { runs, lanes, status, options } = store;
  store.load([trace("other", [round()])]);
  assert.deepEqual(store.options.continued, []);
  store.bring({ runs, lanes, status });
  await turn();
  assert.deepEqual([store.lanes, store.options.continued, sent.length], [["sd", "sd~1"], options.continued, 1]);
});

test("a link's lane keeps its name, which a place in it is known by; a name of another kind is not taken", async () => {
  const { store } = page(whole);
  store.setOption("continued", [
    { lane: "sd~3", run: "sd", pos: 1, token: 77 },
    { lane: "sd~<b>", run: "sd", pos: 0, token: 5 },
  ]);
  while (store.lanes.length < 3 || store.status.phase !== "done") await turn();
  assert.deepEqual(store.lanes, ["sd", "sd~3", "sd~1"]);
  assert.deepEqual(
    store.options.continued.map(({ lane }) => lane),
    ["sd~3", "sd~1"],
  );
});
