import assert from "node:assert/strict";
import { test } from "node:test";
import {
  byFamily,
  families,
  firstSentence,
  firstWords,
  lanesOf,
  settingsInWords,
  toggled,
} from "../../app/static/run/choice.js";
import { card } from "./runs.js";

const lane = (method, knobs = {}) => ({ method, knobs });

test("a method that is chosen again goes, and of two lanes the last", () => {
  assert.deepEqual(toggled([lane("a")], "b"), [lane("a"), lane("b")]);
  const twice = [lane("a"), lane("b"), lane("a", { gamma: 2 })];
  assert.deepEqual(toggled(twice, "a"), [lane("a"), lane("b")]);
});

test("several at once keep the settings of those that were there, and no more than the limit", () => {
  const before = [lane("b", { gamma: 2 })];
  assert.deepEqual(lanesOf(["a", "b", "c"], before, 2), [lane("a"), lane("b", { gamma: 2 })]);
});

test("several at once leave what was composed by hand, within the limit", () => {
  const before = [lane("x+y+z", { k: 1 }), lane("c")];
  const composed = [card("x+y+z"), card("other")];
  assert.deepEqual(lanesOf(["a", "b"], before, 6, composed), [lane("a"), lane("b"), lane("x+y+z", { k: 1 })]);
  assert.deepEqual(lanesOf(["a", "b"], before, 2, composed), [lane("a"), lane("x+y+z", { k: 1 })]);
  assert.deepEqual(lanesOf(["a", "b"], before, 6), [lane("a"), lane("b")]);
});

test("a search finds by name, family, part and paper, every word of it, and keeps the families' order", () => {
  const cards = [
    card("trie", { family: "lookup", summary: "Copies. More." }),
    card("oak", { family: "tree", shape: "dynamic" }),
    card("odd", { family: "own" }),
  ];
  const names = (search) => families(cards, search).map(([family, found]) => [family, found.map(({ name }) => name)]);
  assert.deepEqual(names(""), [
    ["tree", ["oak"]],
    ["lookup", ["trie"]],
    ["own", ["odd"]],
  ]);
  assert.deepEqual(names("DYNAMIC oak"), [["tree", ["oak"]]]);
  assert.deepEqual(names("copies lookup"), [["lookup", ["trie"]]]);
  assert.deepEqual(names("copies more"), []);
});

test("who is called as is searched stands first, then who begins so, each with its family", () => {
  const cards = [
    card("cut", { family: "baseline", title: "Cut", summary: "As oak tree." }),
    card("oak_on", { family: "tree", title: "Oak tree on a hill" }),
    card("oak", { family: "tree", title: "Oak tree" }),
  ];
  const names = (search) => families(cards, search).flatMap(([, found]) => found.map(({ name }) => name));
  assert.deepEqual(names("oak tree"), ["oak", "oak_on", "cut"]);
  assert.deepEqual(names("TREE ON"), ["oak_on"]);
  assert.deepEqual(names(""), ["cut", "oak_on", "oak"]);
});

test("the folded line: first words whole, sampling in words", () => {
  assert.equal(firstWords("One  two\nthree", 30), "One two three");
  assert.equal(firstWords("One two three", 9), "One two …");
  assert.equal(firstWords("Onetwothree", 4), "Onet …");
  assert.equal(firstSentence("A e.g.x b. More"), "A e.g.x b.");
  assert.equal(firstSentence("It tests all: a draft token may stay. More"), "It tests all."); // nothing seems to follow
  const config = { models: "tiny", temperature: 0, top_p: 0.9, top_k: 0, seed: 3, max_new_tokens: 9, lanes: [1] };
  assert.deepEqual(settingsInWords(config), ["tiny", "greedy", "seed 3", "up to 9 tokens", "1 method"]);
  const sampled = settingsInWords({ ...config, temperature: 0.7, chat: true });
  assert.deepEqual(sampled.slice(1, 2).concat(sampled.slice(4)), ["temperature 0.7, top-p 0.9", "chat", "1 method"]);
});

test("pairs of models stand under their family; one that is not loaded under none", () => {
  const pairs = byFamily(["cross", "tiny", "own"], { tiny: "decoder-only", cross: "encoder-decoder" });
  assert.deepEqual(
    pairs.map(([, names]) => names),
    [["tiny"], ["cross"], ["own"]],
  );
  assert.match(pairs[1][0], /source/);
});
