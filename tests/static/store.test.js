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
