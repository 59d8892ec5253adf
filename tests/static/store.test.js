import assert from "node:assert/strict";
import { test } from "node:test";
import { createStore } from "../../app/static/store.js";
import { card, round, trace } from "./runs.js";

test("a selection by position names its round and its node", () => {
  const store = createStore();
  store.load([trace("chain", [round({ drafted: 2, accepted: 2 }), round({ drafted: 2, accepted: 0 })])]);
  store.setCursor({ run: "chain", pos: 1 });
  assert.deepEqual(store.cursor, { run: "chain", round: 0, pos: 1, node: 1 });
  store.setCursor({ run: "chain", pos: 3 });
  assert.deepEqual(store.cursor, { run: "chain", round: 1, pos: 3, node: null });
});

test("a selection by round stands at its first position, one by node at the node's", () => {
  const store = createStore();
  store.load([trace("chain", [round({ drafted: 2, accepted: 2 }), round({ drafted: 3, accepted: 1 })])]);
  store.setCursor({ run: "chain", round: 1 });
  assert.deepEqual(store.cursor, { run: "chain", round: 1, pos: 3, node: 0 });
  store.setCursor({ run: "chain", round: 1, node: 2 });
  assert.deepEqual(store.cursor, { run: "chain", round: 1, pos: 5, node: 2 });
});

test("a cursor that does not move tells nobody", () => {
  const store = createStore();
  store.load(["chain", "tree"].map((key) => trace(key, [round({ drafted: 1, accepted: 0 })])));
  const heard = [];
  store.on("cursor", (moved) => heard.push(moved));
  store.setCursor({ run: "chain", pos: 0 });
  store.setCursor({ run: "chain", pos: 0 });
  assert.equal(heard.length, 1);
  assert.equal(heard[0].old, null);
  assert.equal(heard[0].now.pos, 0);
  store.setCursor({ run: "tree", pos: 0 });
  store.setCursor({ run: "tree", round: 0, node: 0 });
  assert.deepEqual(
    heard.slice(1).map(({ now: { run, pos, node } }) => [run, pos, node]),
    [
      ["tree", 0, null],
      ["tree", 0, 0],
    ],
    "another lane, and another token of a place, are other places",
  );
});

test("a listener that fails leaves the others alone, and one that went away hears nothing", (t) => {
  const store = createStore();
  t.mock.method(console, "error", () => {});
  const heard = [];
  store.on("time", () => {
    throw new Error("a view's own fault");
  });
  const off = store.on("time", () => heard.push("gone"));
  store.on("time", () => heard.push("here"));
  off();
  store.setTime({ at: 3 });
  assert.deepEqual(heard, ["here"]);
  assert.equal(console.error.mock.callCount(), 1);
});

test("time in calls and on the clock shows whole rounds only", () => {
  const store = createStore();
  const rounds = [10, 20, 30].map((ms) => round({ drafted: 1, accepted: 1, draft_ms: ms }));
  store.load([trace("chain", rounds)]);
  const run = store.runs.get("chain");
  assert.equal(store.visibleRounds(run), 3);
  store.setTime({ at: 1.9 });
  assert.equal(store.visibleRounds(run), 1);
  store.setTime({ mode: "clock", at: 29.9 });
  assert.equal(store.visibleRounds(run), 1);
  store.setTime({ at: 30 });
  assert.equal(store.visibleRounds(run), 2);
  assert.equal(store.span("clock"), 60);
  assert.equal(store.span("calls"), 3);
});

test("stats are those of the visible rounds", () => {
  const store = createStore();
  store.load([trace("chain", [round({ drafted: 4, accepted: 3 }), round({ drafted: 4, accepted: 0 })])]);
  const run = store.runs.get("chain");
  assert.equal(store.stats(run).tau, 2.5);
  assert.equal(store.stats(run).acceptRate, 3 / 8);
  store.setTime({ at: 1 });
  assert.equal(store.stats(run).tau, 4);
  store.setTime({ at: 0 });
  assert.equal(store.stats(run).tau, null);
});

test("lanes differ from the first other token on; a twin follows by position, then by round", () => {
  const store = createStore();
  const same = round({ drafted: 1, accepted: 1, ids: [5, 6] });
  store.load([
    trace("plain", [same, round({ ids: [7] }), round({ ids: [8] })]),
    trace("chain", [same, round({ drafted: 1, accepted: 1, ids: [9, 8] })]),
  ]);
  assert.equal(store.divergence("plain", "chain"), 2);
  assert.deepEqual(store.twin({ run: "plain", round: 0, pos: 1, node: null }, "chain"), { run: "chain", pos: 1 });
  assert.deepEqual(store.twin({ run: "plain", round: 1, pos: 2, node: null }, "chain"), { run: "chain", round: 1 });
  assert.equal(store.twin({ run: "plain", round: 2, pos: 3, node: null }, "chain"), null);
  assert.equal(store.twin({ run: "plain", round: 0, pos: 1, node: null }, "plain"), null, "none of its own");
  assert.equal(store.twin(null, "chain"), null);
});

test("a place of a lane that goes on from another is compared behind what it was given", () => {
  const store = createStore();
  const given = { prompt_ids: [1, 10, 11], extras: { forced: 2 } };
  const lane = (/** @type {string} */ key, /** @type {number[]} */ ids, more = {}) =>
    trace(
      key,
      ids.map((id) => round({ ids: [id] })),
      more,
    );
  store.load([lane("whole", [10, 11, 12, 13, 14]), lane("after", [12, 13, 99], given)]);
  assert.equal(store.divergence("whole", "after"), 4);
  const twin = (/** @type {string} */ run, /** @type {number} */ pos, /** @type {string} */ other) =>
    store.twin({ run, pos, round: pos, node: null }, other);
  assert.deepEqual(twin("after", 1, "whole"), { run: "whole", pos: 3 });
  assert.deepEqual(twin("after", 2, "whole"), { run: "whole", round: 2 }, "here they differ");
  assert.deepEqual(twin("whole", 3, "after"), { run: "after", pos: 1 });
  assert.equal(twin("whole", 1, "after"), null, "this was given");
});

test("the divergence of lanes that grow is not remembered", () => {
  const store = createStore();
  store.begin([
    { key: "a", card: card("a") },
    { key: "b", card: card("b") },
  ]);
  for (const key of ["a", "b"]) store.push(key, trace(key, [round({ ids: [1] })]).events);
  store.push("gone", trace("gone", [round()]).events); // of a lane that was taken away meanwhile
  assert.deepEqual([...store.runs.keys()], ["a", "b"]);
  assert.equal(store.divergence("a", "b"), 1);
  for (const key of ["a", "b"]) store.push(key, trace(key, [round({ ids: [2] })], { start: 1 }).events.slice(1, 2));
  assert.equal(store.divergence("a", "b"), 2);
});

test("new lanes forget cursor, filters and time", () => {
  const store = createStore();
  assert.deepEqual(store.time, { mode: "calls", at: Infinity, inside: null, playing: false, speed: 1 });
  store.load([trace("chain", [round({ drafted: 1, accepted: 1 })])]);
  store.setCursor({ pos: 0 });
  store.setTime({ at: 1, mode: "clock" });
  store.setFilter("sign", { label: "x", test: () => true });
  store.load([trace("other", [])]);
  assert.equal(store.cursor, null);
  assert.equal(store.filters.size, 0);
  assert.deepEqual(store.time, { mode: "clock", at: Infinity, inside: null, playing: false, speed: 1 });
  assert.deepEqual(store.lanes, ["other"]);
});

test("a node passes when every filter lets it pass", () => {
  const store = createStore();
  store.setFilter("a", { label: "a", test: () => true });
  assert.equal(store.passes(null, null, null, null), true);
  store.setFilter("b", { label: "b", test: () => false });
  assert.equal(store.passes(null, null, null, null), false);
  store.setFilter("b", null);
  assert.equal(store.passes(null, null, null, null), true);
  let told = 0;
  store.on("filters", () => {
    told += 1;
  });
  store.setFilter("b", null);
  assert.equal(told, 0, "there was none");
  store.setFilter("a", null);
  assert.equal(told, 1);
});

test("without a selection the first lane that drafts is the run", () => {
  const store = createStore();
  store.load([trace("plain", [round({})], { guarantee: "reference" }), trace("chain", [round({})])]);
  assert.equal(store.run().key, "chain");
  store.setHover({ run: "plain", round: 0 });
  assert.equal(store.run().key, "plain");
  store.load(["plain", "one", "two"].map((key, i) => trace(key, [round()], i ? {} : { guarantee: "reference" })));
  assert.equal(store.run().key, "one", "of several the first");
  store.load([trace("plain", [round()], { guarantee: "reference" })]);
  assert.equal(store.run().key, "plain", "where none drafts the first of all");
  assert.equal(createStore().run(), null);
});

test("what is drawn once in a while waits a frame where something else is due, and no longer", (t) => {
  /** @type {(() => void)[]} */
  const asked = [];
  t.after(() => Reflect.deleteProperty(globalThis, "requestAnimationFrame"));
  Object.assign(globalThis, { requestAnimationFrame: (draw) => asked.push(draw) });
  const frame = () => {
    const [draw, ...more] = asked.splice(0);
    assert.deepEqual(more, [], "one callback a frame");
    draw?.();
  };
  const store = createStore();
  const drawn = [];
  store.seldom("figures", () => drawn.push("figures"));
  store.frame("text", () => drawn.push("text"));
  frame();
  assert.deepEqual(drawn, ["text"]);
  store.frame("text", () => drawn.push("text")); // text comes in every frame
  frame();
  assert.deepEqual(drawn, ["text", "figures", "text"]);
  frame();
  assert.deepEqual(drawn, ["text", "figures", "text"]);
  store.seldom("others", () => drawn.push("others"));
  frame();
  assert.equal(drawn.pop(), "others", "alone it waits for nothing");
  store.seldom("both", () => drawn.push("seldom"));
  store.frame("both", () => drawn.push("now"));
  frame();
  assert.equal(drawn.pop(), "now", "what is wanted now as well is drawn now");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  store.seldom("figures", () => drawn.push("figures"), 1e6);
  assert.equal(asked.length, 0, "drawn a moment ago, it waits its time");
  t.mock.timers.tick(1e6);
  frame();
  assert.equal(drawn.pop(), "figures");
});

/** What a store tells, as topic and payload. @param {ReturnType<typeof createStore>} store */
function heardOf(store) {
  const heard = [];
  for (const topic of ["runs", "data", "cursor", "hover", "filters", "time", "status", "options"])
    store.on(topic, (detail) => heard.push(detail === undefined ? [topic] : [topic, detail]));
  return heard;
}
const passing = { label: "", test: () => true };

test("other runs take the stage: what was chosen of those before is gone, and all is told", () => {
  const store = createStore();
  const one = (/** @type {number} */ id) => [round({ ids: [5] }), round({ ids: [id] })];
  const lanes = (/** @type {number} */ id) => [trace("plain", one(6)), trace("chain", one(id))];
  store.load(lanes(7), { recorded: "apples" });
  assert.equal(store.divergence("plain", "chain"), 1);
  const { runs, lanes: keys, status } = store;
  store.setCursor({ run: "chain", pos: 1 });
  store.setHover({ run: "plain", pos: 0 });
  store.setFilter("sign", passing);
  store.setTime({ mode: "clock", at: 1, inside: "drafted", playing: true });
  const { cursor, hover } = store;
  const heard = heardOf(store);
  store.begin(lanes(6));
  assert.deepEqual(heard, [
    ["runs"],
    ["cursor", { old: cursor, now: null }],
    ["hover", { old: hover, now: null }],
    ...[["filters"], ["time"], ["status"]],
  ]);
  const chosen = [store.cursor, store.hover, store.filters.size, store.time.at, store.time.inside, store.time.playing];
  assert.deepEqual(chosen, [null, null, 0, Infinity, null, false]);
  const { phase, recorded, opened, step, ...rest } = store.status;
  assert.deepEqual([phase, recorded, opened, step], ["running", null, false, false]);
  assert.ok(Object.values(rest).every((value) => value === null));
  assert.equal(store.divergence("plain", "chain"), 0, "nothing is known of one kept from before");
  for (const { key, events } of lanes(6)) store.push(key, events);
  assert.equal(store.divergence("plain", "chain"), 2);
  heard.splice(0);
  store.setStatus({ line: { place: 1, seconds: null }, step: true });
  store.bring({ runs, lanes: keys, status: { ...status, step: true, line: store.status.line } });
  assert.deepEqual([store.runs, store.lanes, store.status.recorded], [runs, keys, "apples"]);
  assert.deepEqual([store.status.phase, store.status.step, store.status.line], ["done", false, null]);
  assert.equal(store.divergence("plain", "chain"), 1);
  assert.deepEqual(heard.slice(-2), [
    ["data", "plain"],
    ["data", "chain"],
  ]);
});

test("a lane comes, goes with what was chosen of it, and comes back", () => {
  const store = createStore();
  store.load([trace("plain", [round({ ids: [5] })])]);
  const heard = heardOf(store);
  const told = () => heard.splice(0).map(([topic, detail]) => (topic === "data" ? `data ${detail}` : topic));
  store.add({ key: "more", card: card("more") });
  store.add({ key: "more", card: card("more") });
  assert.deepEqual(
    [store.lanes, told()],
    [
      ["plain", "more"],
      ["runs", "runs"],
    ],
  );
  store.push("more", trace("more", [round({ ids: [6] })]).events);
  store.setStatus({ phase: "running" });
  assert.deepEqual([told(), store.status.phase, store.status.recorded], [["data more", "status"], "running", null]);
  assert.equal(store.divergence("plain", "more"), 0);
  store.setOption("whatif", { run: "plain", knobs: {} });
  store.setCursor({ run: "plain", pos: 0 });
  store.setHover({ run: "plain", pos: 0 });
  told();
  assert.equal(store.remove("none"), null);
  const gone = store.remove("more");
  assert.deepEqual([store.lanes, [...store.runs.keys()], told()], [["plain"], ["plain"], ["runs"]]);
  assert.ok(store.cursor && store.hover && store.options.whatif, "of another lane");
  const other = { ...gone, tokens: [{ ...gone.tokens[0], token: 5 }] };
  store.put(other);
  assert.deepEqual(
    [store.lanes, told()],
    [
      ["plain", "more"],
      ["runs", "data more"],
    ],
  );
  assert.equal(store.divergence("plain", "more"), 1);
  const plain = store.remove("plain");
  assert.deepEqual([store.cursor, store.hover, store.options.whatif], [null, null, null]);
  assert.deepEqual(told(), ["hover", "cursor", "options", "runs"]);
  store.put(plain);
  store.put(other);
  assert.deepEqual(store.lanes, ["plain", "more"], "once, behind the others");
  store.setCursor({ run: "plain", pos: 0 });
  store.setHover({ run: "plain", pos: 0 });
  store.clear();
  assert.deepEqual([store.cursor, store.hover], [null, null]);
});

test("of a place the store gives the run, the round, the node and the token that is there", () => {
  const store = createStore();
  const at = (/** @type {object} */ given) => ({ run: "chain", round: null, pos: null, node: null, ...given });
  assert.deepEqual([store.run(), store.round(), store.node(), store.token()], [null, null, null, null]);
  store.load([trace("plain", [round()], {}), trace("chain", [round({ drafted: 2, accepted: 1 })])]);
  const { rounds, tokens } = store.runs.get("chain");
  assert.equal(store.round(at({ round: 0 })), rounds[0]);
  for (const sel of [null, at({}), at({ round: 7 }), at({ run: "none", round: 0 }), { ...at({ round: 0 }), run: null }])
    assert.equal(store.round(sel), null);
  assert.equal(store.node(at({ round: 0, node: 1 })), rounds[0].nodes[1]);
  for (const sel of [null, at({ round: 0 }), at({ round: 0, node: 9 }), at({ round: 7, node: 0 })])
    assert.equal(store.node(sel), null);
  assert.equal(store.token(at({ pos: 0, node: 0 })), tokens[0]);
  assert.equal(store.token(at({ pos: 1 })), tokens[1]);
  for (const sel of [null, at({}), at({ pos: 9 }), at({ run: "none", pos: 0 }), at({ round: 0, pos: 1, node: 1 })])
    assert.equal(store.token(sel), null, "a draft token that was rejected is not in the text");
  const heard = heardOf(store);
  store.setOption("order", "draft");
  store.setOption("order", "draft");
  store.setFilter("none", null);
  assert.deepEqual([store.options.order, heard], ["draft", [["options", "order"]]]);
});
