// What is told of the place where two lanes part.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { defaultPair, explain } from "../../app/static/divergence.js";
import { createStore } from "../../app/static/store.js";
import { round, trace } from "./runs.js";

const TOLD = {
  pos: 1,
  p: [0.6, 0.2],
  gap: 1.1,
  near: 0.1,
  tokens: [20, 30],
  pieces: ["a", "b"],
  text: "The draws differ.",
};

function page(divergences, guarantee = "lossless") {
  const store = createStore();
  const one = trace("one", [round({ ids: [10, 20] })]);
  const { events, ...two } = trace("two", [round({ ids: [10, 30] })], { guarantee });
  const [head, first, ...rest] = events;
  const tokens = first.tokens.map((token) => ({ ...token, why: "A judge let it pass." }));
  store.load([one, { ...two, events: [{ ...head, guarantee }, { ...first, tokens }, ...rest] }], {
    compared: { verdicts: {}, divergences },
  });
  return store;
}
const found = (store, a = "one", b = "two") => explain(store, store.runs.get(a), store.runs.get(b), 1);

test("both tokens, and no cause before the engine has named one", () => {
  const { one, two, cause, words } = found(page([]));
  assert.deepEqual([one, two, cause], [20, 30, ""]);
  assert.match(words, /when both runs have ended/);
});

test("the engine's cause and text, its probabilities in the order of the lanes shown", () => {
  const store = page([{ ...TOLD, lanes: ["one", "two"], cause: "sampling draw" }]);
  const told = found(store);
  assert.deepEqual(
    [told.cause, told.title, told.words, told.p],
    ["sampling draw", "Sampling draw", TOLD.text, [0.6, 0.2]],
  );
  assert.deepEqual(found(store, "two", "one").p, [0.2, 0.6]);
});

test("what the engine says of another place or other lanes is not told here", () => {
  assert.equal(found(page([{ ...TOLD, pos: 0, lanes: ["one", "two"], cause: "near-tie" }])).cause, "");
  assert.equal(found(page([{ ...TOLD, lanes: ["one", "three"], cause: "near-tie" }])).cause, "");
});

test("a lossy rule that decided speaks for itself", () => {
  const lossy = page([{ ...TOLD, lanes: ["one", "two"], cause: "lossy rule" }], "lossy");
  assert.equal(found(lossy).words, `${TOLD.text} A judge let it pass.`);
  assert.equal(found(page([{ ...TOLD, lanes: ["one", "two"], cause: "near-tie" }], "lossy")).words, TOLD.text);
});

test("lanes of one prompt are compared first: those that part, else those with a text", () => {
  const lane = (name, ids, prompt_ids) => {
    const { events, ...rest } = trace(name, [round({ ids })]);
    return { ...rest, events: [{ ...events[0], prompt_ids }, ...events.slice(1)] };
  };
  const pair = (...lanes) => {
    const store = createStore();
    store.load(lanes);
    return defaultPair(store, [...store.runs.values()]);
  };
  const [a, b, c] = [lane("a", [10, 20], [1]), lane("b", [10, 20], [1]), lane("c", [30, 40], [1, 2])];
  assert.deepEqual(pair(a, c, b), ["a", "b"]);
  assert.deepEqual(pair(a, c, b, lane("d", [10, 30], [1])), ["a", "d"]);
  assert.deepEqual(pair(a, c), ["a", "c"]);
});

test("a style that hangs on a cause names one that there is", () => {
  const types = readFileSync(new URL("../../app/static/types/analysis.d.ts", import.meta.url), "utf8");
  const causes = types.match(/readonly cause: "near-tie".*;/)?.[0] ?? "";
  const sheet = readFileSync(new URL("../../app/static/views.css", import.meta.url), "utf8");
  const styled = [...sheet.matchAll(/\.v-cause\[data-cause="(.*?)"\]/g)].map(([, cause]) => cause);
  assert.deepEqual(
    styled.filter((cause) => !causes.includes(`"${cause}"`)),
    [],
  );
  assert.ok(styled.length > 1);
});
