// The window that lookahead decoding reads beside its drafts, and where its n-grams come from, in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { windowOf } from "../../app/static/inspector/window.js";
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
