// Tokens of all scripts as the page shows them (how they are marked: tests/vectors/pieces.py).

import assert from "node:assert/strict";
import { test } from "node:test";
import { apart, inText, visible } from "../../app/static/dom.js";
import { shown } from "../../app/static/draw.js";

test("running text reads as the text does, and turns no lane around", () => {
  for (const text of [
    "机器学习",
    " مرحبا",
    "و\u200cن",
    "👩\u200d👧",
    "क्षि",
    "\u0301",
    "a\t\n",
    "\r\n",
    "\u00a0",
    "\u3000",
  ])
    assert.equal(inText(text), text);
  assert.equal(inText("\u202eabc\u2066"), "\\u202eabc\\u2066");
  assert.equal(inText("\0\x1b\x85\u200b\ufeff"), "\\u0000\\u001b\\u0085\\u200b\\ufeff");
  assert.equal(inText("a\ufffd"), "a◇");
});

test("what is written from right to left takes no number beside it along", () => {
  assert.equal(visible(" שלום"), "\u2068·שלום\u2069");
  assert.equal(shown(" مرحبا"), "\u2068·مرحبا\u2069");
  assert.equal(apart("abc 1.5"), "abc 1.5");
});

test("a long token is cut between characters, and closed off all the same", () => {
  assert.equal(shown("👍👍👍👍", 3), "👍👍…");
  assert.equal(shown("שלוםשלום", 4), "\u2068שלו…\u2069");
});
