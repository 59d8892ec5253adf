// Where a token looked in its source: places are added up by words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lookedAt, sharesOf, wordsOf } from "../../app/static/looks.js";
import { head } from "./runs.js";

const run = {
  head: head("sd", { prompt_pieces: ["The", " far", "mer", " runs", ".", "</s>", "<pad>"], source: 6 }),
};
const looks = [
  [2, 0.5],
  [1, 0.25],
  [3, 0.125],
  [6, 0.0625],
];

test("pieces of the source are words, and what the decoder begins with is none of them", () => {
  const words = wordsOf(run);
  assert.deepEqual(
    words.map(({ text }) => text),
    ["The", " farmer", " runs.", "</s>"],
  );
  assert.deepEqual(words[1], { text: " farmer", from: 1, to: 3 });
  assert.deepEqual(wordsOf({ head: head("sd", { source: 0 }) }), []);
});

test("a word's share is that of its pieces", () => {
  assert.deepEqual(sharesOf(wordsOf(run), looks), [0, 0.75, 0.125, 0]);
  assert.deepEqual(sharesOf(wordsOf(run), undefined), [0, 0, 0, 0]);
  assert.equal(lookedAt(run, looks), "farmer 75 %, runs. 13 %");
});
