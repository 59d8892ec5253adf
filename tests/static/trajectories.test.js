// A live job of trajectories as its messages come.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lost } from "../../app/static/judge/results.js";
import { fresh, reusedShare, take } from "../../app/static/trajectories/data.js";
import { acceptance, chance, each, interval } from "../../app/static/trajectories/pool.js";
import { drawVotes } from "../../app/static/trajectories/rows.js";
import { problemsOf } from "../../app/static/trajectories/trajectories.js";
import { page } from "./page.js";

const HEAD = { kind: "begin", prompt: "Once", n: 2, methods: [{ key: "sam", method: "sam", title: "SAM", knobs: {} }] };
const START = { kind: "start", key: "sam", trajectory: 0, seed: 0, pieces: [], tokens: 0, rounds: 0, seconds: 0 };
const more = (from, pieces, reused, tau) => ({
  kind: "round",
  key: "sam",
  trajectory: 0,
  from,
  pieces,
  reused,
  times: reused,
  first: reused,
  tau,
});

test("rounds grow a row; marks are put right from a position on", () => {
  const shown = fresh(HEAD);
  assert.deepEqual([shown.live, shown.prompt, shown.methods[0].title], [true, "Once", "SAM"]);
  take(shown, START);
  take(shown, more(0, ["a", "b"], [0, 0], 2));
  take(shown, more(1, ["c"], [2, 2], 1.5));
  const [row] = shown.methods[0].rows;
  assert.deepEqual([row.pieces, row.reused, row.tau], [["a", "b", "c"], [0, 2, 2], 1.5]);
  assert.equal(reusedShare(row, 2), 2 / 3);
  assert.equal(reusedShare(row, 3), 0);
});

test("a row that has ended takes the place of the growing one; the message stays as it was", () => {
  const shown = fresh(HEAD);
  take(shown, START);
  const done = {
    ...START,
    kind: "row",
    pieces: ["a"],
    reused: [0],
    times: [0],
    first: [-1],
    answer: "4",
    reason: "eos",
  };
  take(shown, done);
  take(shown, { ...START, trajectory: 1 });
  take(shown, more(0, ["z"], [0], 1));
  const { rows } = shown.methods[0];
  assert.deepEqual(
    rows.map(({ answer, pieces }) => [answer, pieces]),
    [
      ["4", ["a"]],
      [undefined, ["z"]],
    ],
  );
  assert.deepEqual([done.pieces, START.pieces], [["a"], []]);
});

test("a figure comes anew; messages of methods that are not there are passed over", () => {
  const shown = fresh(HEAD);
  take(shown, { kind: "figure", figure: { data: [], layout: {} } });
  take(shown, { ...START, key: "other" });
  assert.deepEqual([shown.figure, shown.methods[0].rows], [{ data: [], layout: {} }, []]);
  assert.equal(reusedShare({ reused: [] }, 2), null);
});

test("numbers of one column have as many decimals", () => {
  const value = { mean: 2.5, low: 2.444, high: 3, n: 20 };
  assert.equal(interval(value, each), "2.50 (2.44 to 3.00)");
  assert.equal(interval({ ...value, low: null }, each), "2.50");
  assert.equal(interval(null, each), "–");
  assert.equal(chance(-0.0171), "−0.017");
  assert.equal(lost({ mean: 0.004, low: -0.002, high: 0.01, n: 1000 }), "0.4 (−0.2 to 1.0)");
  assert.equal(lost({ mean: 1, low: null, high: null, n: 1 }), "100.0", "one problem has no interval");
});

test("replayed acceptance tells positions and problems apart, which are both counted", () => {
  page();
  Object.assign(globalThis, { Node: class {} });
  const span = { mean: 0.5, low: 0.25, high: 0.75, n: 8 };
  const all = { n: 9477, deterministic: span, stochastic: span, difference: span };
  const table = /** @type {HTMLElement} */ (acceptance({ all }));
  assert.match(table.textContent, /95 % interval over 8 problems/);
  assert.match(table.textContent, /ofpositionsdeterministic.*all9477/);
});

test("what is said of answers fits their task and the methods that wrote them", () => {
  page();
  Object.assign(globalThis, { Node: class {} });
  const cards = [
    { name: "sam", guarantee: "lossless" },
    { name: "topk_lossy", guarantee: "lossy" },
  ];
  const vote = { answer: "4", count: 1, n: 1, share: 1, right: null };
  const of = (/** @type {string} */ method, /** @type {string} */ title) => ({
    ...HEAD.methods[0],
    method,
    title,
    rows: [{ answer: "4", reason: "eos", vote }],
  });
  const [sam, lossy] = [of("sam", "SAM"), of("topk_lossy", "Top-K")];
  const reads = {
    arithmetic: "The answer is the last number of a text.",
    translation: "The answer is the first line of a text.",
  };
  const told = (/** @type {string} */ task, /** @type {object[]} */ ...methods) => {
    const spot = document.createElement("section");
    drawVotes(spot, { ...HEAD, task, methods }, cards, reads);
    return spot.textContent;
  };
  assert.match(told("arithmetic", sam), /The answer is the last number of a text\./);
  assert.match(told("translation", sam), /The answer is the first line of a text\./);
  assert.doesNotMatch(told("functions", sam), /The answer is/);
  assert.match(
    told("arithmetic", sam),
    /Every method here draws from the target's own distribution, with draws of its own/,
  );
  assert.match(
    told("arithmetic", sam, lossy),
    /All methods here but Top-K draw from the target's own distribution, with draws of their own/,
  );
  assert.doesNotMatch(told("arithmetic", lossy), /own distribution/);
});

test("problems are those that the family of the chosen models can answer, all where nobody knows it", () => {
  const problem = (/** @type {string} */ task, /** @type {string} */ family) => ({ task, family, prompt: `${task}?` });
  const sums = ["arithmetic", "decoder-only"];
  const problems = [problem(...sums), problem(...sums), problem("translation", "encoder-decoder")];
  const recorded = { examples: [{ task: "arithmetic", prompt: "An example" }], problems };
  const names = (/** @type {string | undefined} */ family) => problemsOf(recorded, family).map(([name]) => name);
  assert.deepEqual(names("decoder-only"), ["example", "arithmetic 1", "arithmetic 2"]);
  assert.deepEqual(problemsOf(recorded, "encoder-decoder"), [
    ["translation 1", "Held-out translation problem 1", "translation?"],
  ]);
  assert.deepEqual(names(undefined), ["example", "arithmetic 1", "arithmetic 2", "translation 1"]);
  assert.deepEqual(problemsOf({ examples: [], problems }, "encoder-decoder").length, 1);
});
