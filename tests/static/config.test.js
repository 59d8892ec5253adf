import assert from "node:assert/strict";
import { test } from "node:test";
import {
  firstConfig,
  headsConfig,
  movedConfig,
  presetConfig,
  readConfig,
  sameConfig,
  writeConfig,
} from "../../app/static/config.js";
import { createStore } from "../../app/static/store.js";
import { card, round, trace } from "./runs.js";

const knob = (name, kind) => ({ name, kind });
const CARDS = [card("chain", { knobs: [knob("gamma", "number"), knob("hold", "switch"), knob("words", "text")] })];
const CONFIG = {
  preset: "",
  models: "tiny",
  prompt: "a & b = ü\n\t100 %",
  lanes: [
    { method: "chain", knobs: { gamma: 7, hold: true, words: "a,b:c(d)" } },
    { method: "plain", knobs: {} },
  ],
  max_new_tokens: 64,
  temperature: 0.7,
  top_p: 0.9,
  top_k: 5,
  seed: 3,
  chat: true,
};
const there = (config) => new URLSearchParams(new URLSearchParams(writeConfig(config)).toString());

test("a link holds the whole request", () => {
  assert.deepEqual(readConfig(there(CONFIG), CARDS), CONFIG);
});

test("a link leaves defaults out and reads them back", () => {
  const plain = { ...CONFIG, lanes: [{ method: "plain", knobs: {} }], temperature: 0, top_p: 1, top_k: 0, seed: 0 };
  const config = { ...plain, max_new_tokens: 128, chat: false };
  const pairs = writeConfig(config);
  assert.deepEqual(
    pairs.map(([key]) => key),
    ["models", "prompt", "m"],
  );
  assert.deepEqual(readConfig(there(config), CARDS), config);
});

test("a link written by hand may leave out the models, and hold what is no escape", () => {
  const query = new URLSearchParams([
    ["prompt", "x"],
    ["m", "chain(words:a,nothing,gamma:3)"],
  ]);
  const { lanes, models } = readConfig(query, CARDS, ["first", "second"]);
  assert.deepEqual(lanes, [{ method: "chain", knobs: { words: "a", gamma: 3 } }]);
  assert.equal(models, "first");
  const bare = readConfig(
    new URLSearchParams([
      ["prompt", "x"],
      ["m", "chain(words:50%)"],
    ]),
    CARDS,
  );
  assert.equal(bare.lanes[0].knobs.words, "50%");
});

test("a switch is a switch and the text of a number a number", () => {
  const query = new URLSearchParams([
    ["prompt", "x"],
    ["m", "chain(hold:false,gamma:4,words:12,other:5)"],
  ]);
  assert.deepEqual(readConfig(query, CARDS).lanes[0].knobs, { hold: false, gamma: 4, words: "12", other: 5 });
});

test("a number that may be left to the device is left to it by its word alone", () => {
  const cards = [card("chain", { knobs: [{ ...knob("gamma", "number"), auto: true }, knob("n", "number")] })];
  const query = (/** @type {string} */ lane) => new URLSearchParams({ prompt: "x", m: lane });
  assert.deepEqual(readConfig(query("chain(gamma:auto)"), cards).lanes[0].knobs, { gamma: "auto" });
  assert.deepEqual(readConfig(query("chain(gamma:3,n:4)"), cards).lanes[0].knobs, { gamma: 3, n: 4 });
});

test("what is no number stays as it was written, so that its refusal says it", () => {
  const query = new URLSearchParams([
    ["prompt", "x"],
    ["m", "chain(gamma:four)"],
    ["t", "0,7"],
  ]);
  const config = readConfig(query, CARDS);
  assert.deepEqual([config.temperature, config.lanes[0].knobs], ["0,7", { gamma: "four" }]);
  assert.ok(writeConfig(config).some(([name, value]) => name === "t" && value === "0,7"));
});

test("an address without prompt or methods asks for nothing", () => {
  assert.equal(readConfig(new URLSearchParams("prompt=x"), CARDS), null);
  assert.equal(readConfig(new URLSearchParams("m=chain"), CARDS), null);
});

test("a preset's request is its own copy", () => {
  const preset = { name: "a", title: "A", models: "tiny", prompt: "x", seed: 1, chat: false, max_new_tokens: 9 };
  const lanes = [{ method: "chain", knobs: { gamma: 2 } }];
  const config = presetConfig({ ...preset, lanes, sampling: { temperature: 1 } });
  assert.deepEqual([config.preset, config.temperature, config.top_p, config.top_k], ["a", 1, 1, 0]);
  assert.notEqual(config.lanes[0].knobs, lanes[0].knobs);
  assert.deepEqual(config.lanes, lanes);
});

test("runs of different prompts belong to no one request", () => {
  const store = createStore();
  const knobs = { gamma: 2 };
  store.load([trace("a", [round()], { knobs, seed: 5, chat: true }), trace("b", [round()], { seed: 5, chat: true })]);
  const config = headsConfig([...store.runs.values()], ["tiny"]);
  assert.deepEqual(config.lanes, [
    { method: "a", knobs },
    { method: "b", knobs: {} },
  ]);
  assert.deepEqual([config.seed, config.chat, config.max_new_tokens, config.models], [5, true, 64, "tiny"]);
  store.load([trace("a", [round()]), trace("b", [round()], { prompt: "other" })]);
  assert.equal(headsConfig([...store.runs.values()], ["tiny"]), null);
  assert.equal(headsConfig([], ["tiny"]), null);
});

test("the page opens with its first preset, else with two methods", () => {
  const catalogue = {
    presets: [],
    first: "",
    models: ["tiny"],
    methods: [card("a"), card("b"), card("c")],
    limits: { lanes: 6 },
  };
  assert.deepEqual(
    firstConfig(catalogue).lanes.map((lane) => lane.method),
    ["a", "b"],
  );
  const { lanes, ...rest } = firstConfig({ ...catalogue, models: [], limits: { lanes: 1 } });
  assert.equal(lanes.length, 1);
  const plain = { temperature: 0, top_p: 1, top_k: 0, seed: 0, chat: false }; // greedy, nothing cut off
  assert.deepEqual(rest, { preset: "", models: "", prompt: "", max_new_tokens: 128, ...plain });
});

test("requests that ask for the same are the same", () => {
  assert.ok(sameConfig(CONFIG, structuredClone(CONFIG)));
  assert.ok(!sameConfig(CONFIG, { ...CONFIG, seed: 4 }));
});

test("runs belong to one request only where all of it is the same", () => {
  const store = createStore();
  const config = (more, here = ["tiny"]) => {
    store.load([trace("a", [round()], { seed: 5 }), trace("b", [round()], { seed: 5, ...more })]);
    return headsConfig([...store.runs.values()], here);
  };
  assert.equal(config({}).seed, 5);
  for (const other of [{ seed: 6 }, { sampling: { temperature: 0.5 } }, { max_new_tokens: 9 }, { preset: "other" }])
    assert.equal(config(other), null, JSON.stringify(other));
});

test("opened runs are repeated on their own models, else on the first that are here", () => {
  const store = createStore();
  const models = (preset, here) => {
    store.load([trace("a", [round()], { preset })]);
    return headsConfig([...store.runs.values()], here).models;
  };
  assert.equal(models("second", ["tiny", "second"]), "second");
  assert.equal(models("far", ["tiny", "second"]), "tiny");
  assert.equal(models("far", []), "");
});

test("a moved number goes to the lane whose it is, also of two of one method, and a temperature to all", () => {
  const ran = { ...CONFIG, lanes: [...CONFIG.lanes, { method: "chain", knobs: { gamma: 3, hold: false } }] };
  const run = (key, method = "chain") => ({ key, head: { method } });
  const gammas = (config) => config.lanes.map(({ knobs }) => knobs.gamma);
  assert.deepEqual(gammas(movedConfig(ran, run("chain"), { gamma: 9 })), [9, undefined, 3]);
  assert.deepEqual(gammas(movedConfig(ran, run("chain.2"), { gamma: 9 })), [7, undefined, 9]);
  assert.deepEqual(movedConfig(ran, run("chain"), { temperature: 0.2 }), { ...ran, temperature: 0.2 });
  assert.equal(movedConfig(ran, run("chain.3"), { gamma: 9 }), null);
  assert.equal(movedConfig(ran, run("other", "other"), { gamma: 9 }), null);
});
