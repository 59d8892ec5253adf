import assert from "node:assert/strict";
import { test } from "node:test";
import { createEmitter } from "../../app/static/emitter.js";
import { alternativesAt, createContinuing, forcedOf, forcedText, forcedWords } from "../../app/static/run/continue.js";
import { figuresOf } from "../../app/static/stage/heads.js";
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
  yield { kind: "events", events: [head("sd", { prompt_ids: [1, 2, 3, 10, 77], extras: { forced: 2 } })] };
}

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
  store.load([plain, { ...forced, events: [{ ...forced.events[0], extras: {} }, ...forced.events.slice(1)] }]);
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
  for (const forced of [9, -1, "2", null]) assert.equal(forcedOf(told({ prompt_ids: [1], extras: { forced } })), 0);
  assert.equal(forcedWords(told({})), "");
});
