// The window that lookahead decoding reads beside its drafts, and where its n-grams come from, in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { windowOf } from "../../app/static/inspector/window.js";
import { passageOf } from "../../app/static/passage.js";
import { addEvent, makeRun } from "../../app/static/run.js";
import { sourceWords } from "../../app/static/source.js";
import { card, head } from "./runs.js";

const PIECES = { 5: "a", 6: "b", 7: "c", 8: "d" };
const LEVELS = [
  [5, 8],
  [5, 6, 8],
  [8, 7, 8],
];

/** A run whose first round emits a, b and c and read LEVELS beside its draft. */
function looked(index = 5, extras = { window: LEVELS, beside: 8 }) {
  const run = makeRun("lookahead", card("lookahead"));
  addEvent(run, head("lookahead", { knobs: { ngram: 4 } }));
  const tokens = [5, 6, 7].map((token, pos) => ({ kind: "token", pos, token, piece: PIECES[token], origin: "target" }));
  const round = {
    ...{ kind: "round", index, start: 0, drafted: 0, fed: 9, levels: 0, accepted: 0, emitted: 3, path: [] },
    ...{ draft_ms: 1, verify_ms: 1, other_ms: 1, tcr: null, extras, nodes: [], pruned: [], tokens, pieces: PIECES },
  };
  addEvent(run, round);
  return { run, round };
}

test("each level stands below the text that it predicts, and what came true is told", () => {
  const { run, round } = looked();
  const window = windowOf(run, round);
  assert.deepEqual(window.text.slice(0, 3), ["a", "b", "c"]);
  const shown = window.rows.map((row) => row.map((place) => (place ? place.piece + (place.came ? "!" : "") : "")));
  assert.deepEqual(
    shown,
    [
      ["a!", "d", "", "", ""],
      ["a!", "b!", "d", "", ""],
      ["", "d", "c!", "d", ""],
    ].map((row) => row.slice(0, shown[0].length)),
  );
  assert.equal(window.read, 8);
  assert.equal(window.came, 4);
});

test("a level is called after the pass that predicted it, and the first one after the prompt at first", () => {
  const later = looked(5);
  assert.deepEqual(windowOf(later.run, later.round).ages, ["3 passes ago", "2 passes ago", "last pass"]);
  const first = looked(2);
  assert.deepEqual(windowOf(first.run, first.round).ages, ["prompt", "2 passes ago", "last pass"]);
  first.run.head = { ...first.run.head, source: 1 };
  assert.equal(windowOf(first.run, first.round).ages[0], "source", "where an encoder read one");
});

test("a round without a window has none", () => {
  const { run, round } = looked(5, {});
  assert.equal(windowOf(run, round), null);
  assert.equal(windowOf(run, null), null);
});

test("an n-gram of the pool is told with its round, or its place in the text", () => {
  const window = { kind: "pool", part: "window", round: 7, seen: 2, ago: 0, trajectory: 1 };
  assert.equal(sourceWords(window), "n-gram of the window, seen twice, last in round 7");
  assert.equal(
    sourceWords({ ...window, seen: 1, ago: 1, trajectory: 0 }),
    "n-gram of the window, last in round 7 of trajectory 1",
  );
  const text = { kind: "pool", order: 1, step: 0, seen: 1, part: "response", pos: 4, ago: 0, trajectory: 0 };
  assert.equal(sourceWords(text), "n-gram after this token, last in this text, position 4 of the response");
});

test("a draft token's source is told in words: how often it was seen, in which text, and where", () => {
  const here = { trajectory: 1, ago: 0, part: "response", pos: 3 };
  const before = { trajectory: 0, ago: 1, part: "prompt", pos: 0 };
  for (const [source, words] of [
    [{ kind: "model" }, "draft model"],
    [
      { kind: "model", role: "head", common: 0.256 },
      "head model with a tokenizer of its own, 26 % of whose distribution is on common pieces",
    ],
    [{ kind: "ngram", order: 3, seen: 2, ...here }, "3-gram seen twice, last in this text, position 3 of the response"],
    [{ kind: "ngram", order: 2, ...before }, "2-gram last in trajectory 1, position 0 of the prompt"],
    [
      { kind: "ngram", order: 2, times: 4, document: 1, pos: 7 },
      "2-gram seen 4 times in text 2 of the fixed collection, position 7",
    ],
    [{ kind: "table", order: 1, count: 1 }, "distribution after this token, seen once"],
    [
      { kind: "table", order: 2, count: 5, ...here, pos: -1 },
      "distribution after these 2 tokens, seen 5 times, last in this text",
    ],
    [{ kind: "automaton", match: 1, ...here }, "match of 1 token first in this text, position 3 of the response"],
    [
      { kind: "counts", match: 4, count: 2, seen: 3, ...here },
      "2 of 3 times after 4 tokens, last in this text, position 3 of the response",
    ],
    [
      { kind: "adjacency", choice: 2, ...here },
      "choice 2 of the target when it last read the token before, in this text, position 3 of the response",
    ],
    [
      { kind: "adjacency", kept: false, ...here },
      "what the target chose when it last read the token before, as a draft token that was not accepted, after this text, position 3 of the response",
    ],
    [{ kind: "head", index: 2 }, "head 2"],
    [{ kind: "head", level: 3 }, "draft head, level 3"],
    [{ kind: "other", a: 1 }, "other, a 1"],
    [null, ""],
  ])
    assert.equal(sourceWords(source), words);
});

test("a passage is the text that a draft token was copied from, with what matched before it", () => {
  const run = makeRun("pld", card("pld"));
  const earlier = [["x", "y", "z"]];
  addEvent(run, head("pld", { prompt_pieces: ["A", "B"], extras: { trajectory: 1, earlier } }));
  run.tokens.push(
    .../** @type {any[]} */ (["c", "d", "e"].map((piece, pos) => ({ piece, pos, token: pos, round: 0 }))),
  );
  const of = (/** @type {object | null} */ source) => {
    const found = passageOf(run, /** @type {any} */ ({ source }));
    return found && [found.pieces.join(""), found.low, found.high, found.at, found.prompt, found.ago];
  };
  const ngram = { kind: "ngram", order: 2, part: "response", pos: 2, ago: 0 };
  assert.deepEqual(of(ngram), ["ABcde", 2, 4, 4, 2, 0]);
  assert.deepEqual(of({ ...ngram, step: 1 }), ["ABcde", 1, 3, 4, 2, 0], "the second of those copied");
  assert.deepEqual(of({ ...ngram, part: "prompt", pos: 1 }), ["ABcde", 0, 1, 1, 2, 0]);
  assert.deepEqual(of({ ...ngram, ago: 1 }), ["ABxyz", 2, 4, 4, 2, 1]);
  assert.equal(of({ ...ngram, ago: 2 }), null, "the trace lacks that text");
  const words = () =>
    passageOf(run, /** @type {any} */ ({ source: { ...ngram, trajectory: 1, part: "prompt", pos: 1 } }))?.words;
  assert.match(words() ?? "", /position 1 of the prompt$/);
  if (run.head) run.head = { ...run.head, source: 1 };
  assert.match(words() ?? "", /position 1 of the source$/);
  assert.deepEqual(of({ ...ngram, ago: 2, part: "prompt" }), ["AB", 0, 2, 2, 2, 2], "but has the prompt");
  assert.deepEqual(of({ kind: "automaton", match: 3, part: "response", pos: 1, ago: 0 }), ["ABcde", 0, 3, 3, 2, 0]);
  assert.deepEqual(of({ kind: "adjacency", part: "response", pos: 1, ago: 0 }), ["ABcde", 3, 4, 4, 2, 0]);
  run.pieces.set(5, "p");
  assert.deepEqual(of({ kind: "ngram", order: 1, pos: 90, passage: [5, 5, 7], here: 2 }), ["pp#7", 1, 2, 2, 0, null]);
  for (const source of [
    null,
    { kind: "model" },
    { ...ngram, pos: -1 },
    { ...ngram, pos: undefined },
    { ...ngram, part: undefined },
  ])
    assert.equal(of(source), null);
});
