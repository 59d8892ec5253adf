import assert from "node:assert/strict";
import test from "node:test";
import { letters } from "../../app/static/tree/letters.js";

test("letters of all scripts take the room that they need", () => {
  const rooms = {
    apples: 6,
    机器学习: 8,
    "します。": 8,
    안녕: 4,
    "ㄱ（": 4,
    שלום: 4,
    שָׁלוֹם: 4,
    น้ำ: 2,
    é: 1,
    "e\u0301\u0302": 1,
    "\u2068שלום\u2069": 4,
    "👍": 2,
    "👍🏽": 2,
    "👨‍👩‍👧‍👦": 2,
    "🇩🇪": 2,
    "🏳️‍🌈": 2,
    "❤️": 2,
    "↵": 1,
  };
  assert.deepEqual(Object.fromEntries(Object.keys(rooms).map((text) => [text, letters(text)])), rooms);
});
