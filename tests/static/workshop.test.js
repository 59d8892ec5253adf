// Mined sets, their filters and the reviews of them, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { filterIn, passes, saidIn } from "../../app/static/judge/filters.js";
import { recordedAt } from "../../app/static/judge/judgement.js";
import { inOrder } from "../../app/static/judge/table.js";
import {
  addPrompt,
  before,
  createMined,
  emptySet,
  firstDifference,
  pieceOfLabel,
  readMined,
  swapOf,
} from "../../app/static/mined.js";
import { change, compare, exportLines, readLines } from "../../app/static/review/reviews.js";

const HEAD = { kind: "mining", schema: 1, task: "arithmetic" };
const label = (t, more = {}) => ({
  prompt: "p",
  t,
  target_token: 1,
  draft_token: 2,
  important: false,
  target_piece: " the",
  draft_piece: " a",
  target_answer: "4",
  draft_answer: "4",
  target_text: " the",
  draft_text: " a",
  ...more,
});
const prompt = (name, labels) => ({
  kind: "prompt",
  prompt: name,
  key: name,
  final: [1, 2, 3],
  pieces: ["one", " two", " three"],
  labels,
});
const file = (...lines) => [HEAD, ...lines].map((line) => JSON.stringify(line)).join("\n");

test("a mined file is one item a label, in order, with a key of its own", () => {
  const set = readMined(file(prompt("p", [label(1), label(2)]), prompt("q", [label(1)])), "own");
  assert.deepEqual(
    set.items.map(({ index, prompt: { prompt: name }, label: { t } }) => [index, name, t]),
    [
      [0, "p", 1],
      [1, "p", 2],
      [2, "q", 1],
    ],
  );
  assert.equal(new Set(set.items.map(({ key }) => key)).size, 3);
  assert.equal(before(set.items[1]), "one two");
});

test("filters come back from a link as they were; what no filter is is left out", () => {
  const none = { task: "", label: "", token: "", low: null, high: null, reviewed: "" };
  const filter = {
    ...none,
    task: "functions",
    label: "important",
    token: " &ü=",
    low: 0,
    high: 0.25,
    reviewed: "star",
  };
  assert.deepEqual(filterIn(saidIn(filter)), filter);
  assert.equal(saidIn(none), "");
  assert.deepEqual(filterIn("label=odd&low=x&reviewed=<b>&more=1"), none);
  assert.equal(filterIn(`token=${"x".repeat(99)}`).token.length, 40);
});

test("a prompt that is mined again replaces what was there, and the places are counted anew", () => {
  const set = emptySet("own", HEAD);
  for (const one of [prompt("p", [label(1), label(2)]), prompt("q", [label(3)]), prompt("p", [label(4)])])
    addPrompt(set, one);
  assert.deepEqual(
    set.items.map(({ index, label: { t } }) => [index, t]),
    [
      [0, 3],
      [1, 4],
    ],
  );
});

test("what is no mined file is refused with its name and line", () => {
  assert.throws(() => readMined("", "x"), /x is no mined file/);
  assert.throws(() => readMined("{}\nnot json", "x"), /x, line 2 is not JSON/);
  assert.throws(() => readMined(JSON.stringify({ ...HEAD, schema: 2 }), "x"), /"schema": 1/);
  for (const lack of ["labels", "final", "kind"])
    assert.throws(() => readMined(file({ ...prompt("p", []), [lack]: undefined }), "x"), /no mined prompt/, lack);
});

test("a label that cannot be drawn is refused in words, and nothing of its file is taken", () => {
  const refused = (wrong, more = {}) => {
    const text = file({ ...prompt("p", [label(1)]), ...more }, prompt("q", [label(1), wrong]));
    assert.throws(() => readMined(text, "x"), /^Error: x cannot be shown: (a label|\w+ of a l(abel|ine)) must be /);
  };
  for (const wrong of [null, {}, 3, label("1"), label(-1), label(1, { important: "yes" }), label(1, { score: "0.5" })])
    refused(wrong);
  for (const name of ["target_text", "draft_text"]) refused(label(1, { [name]: undefined }));
  refused(label(1, { draft_piece: {} }));
  for (const more of [{ prompt: 1 }, { text: {} }, { pieces: "abc" }, { pieces: [1] }, { pieces: ["a", 1] }])
    refused(label(1), more);
  const head = (more) => () => readMined(JSON.stringify({ ...HEAD, ...more }), "x");
  assert.throws(head({ task: undefined }), /x cannot be shown: task of its first line must be a text\./);
  assert.throws(head({ models: 3 }), /models of its first line must be an object/);
  assert.throws(head({ judge: { threshold: "low" } }), /judge of its first line/);
  const set = readMined(file(prompt("p", [label(1)])), "own");
  assert.throws(() => addPrompt(set, prompt("q", [null])), /own cannot be shown: a label must be an object\./);
  assert.equal(set.items.length, 1);
});

test("a label's tokens as text, and where two texts part", () => {
  assert.equal(swapOf(label(1)), "·the → ·a");
  assert.equal(pieceOfLabel(label(1, { draft_piece: "" }), "draft"), "#2");
  assert.equal(firstDifference("it is 48 apples", "it is 42 apples"), 6, "moved back to the start of the word");
  assert.equal(firstDifference("same", "same"), -1);
  assert.deepEqual([firstDifference("12", "123"), firstDifference("", "a"), firstDifference("a b", "a c")], [0, 0, 2]);
});

test("filters: label, token, score and review, all of them at once", () => {
  const [item] = readMined(file(prompt("p", [label(1, { score: 0.5 })])), "own").items;
  const reviews = { reviewer: "", items: {} };
  const holds = (filter) => passes(item, filter, reviews);
  assert.ok(holds({}) && holds({ label: "unimportant" }) && holds({ token: "THE" }) && holds({ low: 0.5, high: 0.5 }));
  assert.ok(
    !holds({ label: "important" }) && !holds({ token: "zebra" }) && !holds({ low: 0.51 }) && !holds({ task: "x" }),
  );
  assert.ok(holds({ reviewed: "no" }) && !holds({ reviewed: "yes" }) && !holds({ reviewed: "star" }));
  change(reviews, item.key, { verdict: "disagree", star: true });
  assert.ok(holds({ reviewed: "yes" }) && holds({ reviewed: "disagree" }) && holds({ reviewed: "star" }));
  assert.ok(!holds({ reviewed: "unsure" }) && !holds({ reviewed: "no" }));
  assert.ok(holds({ task: "arithmetic" }));
  assert.ok(!holds({ high: 0.49 }));
  const [unscored] = readMined(file(prompt("p", [label(1, { score: null })])), "own").items;
  assert.ok(passes(unscored, {}, reviews));
  for (const filter of [{ low: 0 }, { high: 1 }]) assert.ok(!passes(unscored, filter, reviews), "without a score");
});

test("a review without verdict, note and star is forgotten", () => {
  const reviews = { reviewer: "", items: {} };
  change(reviews, "k", { star: true });
  assert.equal(reviews.items.k.verdict, "");
  change(reviews, "k", { star: false });
  assert.deepEqual(reviews.items, {});
});

test("reviews go out with what they are of and come back as they were", () => {
  const { items } = readMined(file(prompt("p", [label(1)])), "own");
  const reviews = { reviewer: "me", items: {} };
  change(reviews, items[0].key, { verdict: "agree", note: "clear" });
  const text = exportLines(reviews, items);
  const [line] = text
    .trim()
    .split("\n")
    .map((one) => JSON.parse(one));
  assert.deepEqual([line.reviewer, line.position, line.target, line.important], ["me", 1, " the", false]);
  assert.deepEqual(readLines(text), reviews);
});

test("a line that is no review is refused with its number", () => {
  const good = JSON.stringify({ item: "k", verdict: "agree" });
  for (const bad of ["{", '{"item": 3, "verdict": "agree"}', '{"item": "k", "verdict": "maybe"}'])
    assert.throws(() => readLines(`${good}\n${bad}`), /^Error: Line 2 is no review/);
  assert.throws(() => readLines(""), /empty/);
});

test("two reviewers are compared over what both judged", () => {
  const of = (verdicts) => ({
    reviewer: "",
    items: Object.fromEntries(
      Object.entries(verdicts).map(([key, verdict]) => [key, { verdict, note: "", star: false }]),
    ),
  });
  const { n, observed, keys, apart } = compare(
    of({ a: "agree", b: "agree", c: "unsure", d: "" }),
    of({ a: "agree", b: "disagree", c: "unsure", d: "agree" }),
  );
  assert.deepEqual([n, keys, apart], [3, ["a", "b", "c"], ["b"]]);
  assert.ok(Math.abs(observed - 2 / 3) < 1e-12);
});

test("recorded sets that did not come are asked for again", async () => {
  let asked = 0;
  const api = {
    get: async () => {
      asked += 1;
      if (asked === 1) throw new Error("The server does not answer.");
      return { sets: [{ name: "arithmetic" }] };
    },
  };
  const mined = createMined(api);
  await assert.rejects(mined.recorded(), /does not answer/);
  assert.equal(mined.list, null);
  assert.deepEqual(await mined.recorded(), [{ name: "arithmetic" }]);
  await mined.recorded();
  assert.equal(asked, 2);
});

test("a recorded set is read once, whoever asks for it, and told once; one that failed is read again", async () => {
  let asked = 0;
  const text = [HEAD, prompt("p", [label(1)])].map((line) => JSON.stringify(line)).join("\n");
  const api = {
    answer: async () => {
      asked += 1;
      if (asked === 1) throw new Error("The server does not answer.");
      return { text: async () => text };
    },
  };
  const mined = createMined(api);
  let told = 0;
  mined.on(() => {
    told += 1;
  });
  await assert.rejects(mined.open("arithmetic"), /does not answer/);
  const [set, same] = await Promise.all([mined.open("arithmetic"), mined.open("arithmetic")]);
  assert.equal(set, same);
  assert.equal(await mined.open("arithmetic"), set);
  assert.deepEqual([asked, told, set.items.length], [2, 1, 1]);
});

test("labels of another target are none of a run's", () => {
  const mined = createMined({});
  const set = emptySet("own", { ...HEAD, models: { target: { id: "tiny", revision: "sha256:1" } } });
  addPrompt(set, { ...prompt("p", [label(1)]), text: "Why?" });
  mined.put(set);
  const known = (target, text = "Why?") => mined.of(text, target).flat().length;
  assert.deepEqual(
    [known({ id: "tiny", revision: "sha256:1" }), known({ id: "a copy", revision: "sha256:1" })],
    [1, 1],
  );
  assert.deepEqual([known({ id: "tiny", revision: "sha256:2" }), known({ id: "mamba", revision: "" })], [0, 0]);
  assert.equal(known({ id: "tiny" }), 1, "of files that do not say what its weights are");
  assert.deepEqual([known(undefined), known(undefined, "What?")], [1, 0]);
});

test("a column is sorted either way with what is not known last", () => {
  assert.deepEqual(
    inOrder([0.2, null, 0.9, 0.05], (one) => one, false),
    [0.05, 0.2, 0.9, null],
  );
  assert.deepEqual(
    inOrder([0.2, null, 0.9, 0.05], (one) => one, true),
    [0.9, 0.2, 0.05, null],
  );
  assert.deepEqual(
    inOrder(["b", 10, 9, "a"], (one) => one, false),
    [9, 10, "a", "b"],
  );
  assert.deepEqual(
    inOrder(["10", "9", ""], (one) => one, true),
    ["10", "9", ""],
  );
  assert.deepEqual(
    inOrder(["", "10", "9"], (one) => one, false),
    ["9", "10", ""],
  );
});

test("a step of the threshold's slider beside a recorded threshold is that one, with all its digits", () => {
  const recorded = [0.08341, 0.0861, 0.5];
  const moved = [0.08, 0.085, 0.09, 0.5, 0.505].map((value) => recordedAt(value, recorded, 0.005));
  assert.deepEqual(moved, [0.08, 0.0861, 0.09, 0.5, 0.505]);
  assert.equal(recordedAt(0.085, [0.08341], 0.005), 0.08341);
  assert.equal(recordedAt(0.085, [], 0.005), 0.085);
});
