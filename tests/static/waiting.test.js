import assert from "node:assert/strict";
import { test } from "node:test";
import { waitingWords } from "../../app/static/run/waiting.js";
import { visitor } from "../../app/static/visitor.js";

test("a place in line is told in words, with the time it may take", () => {
  assert.equal(waitingWords({ place: 2, seconds: 12.3 }), "2nd in line, about 12 s");
  assert.equal(waitingWords({ place: 1, seconds: null }), "Next in line");
  assert.equal(waitingWords({ place: 1, seconds: 0 }), "Next in line, any moment");
  assert.equal(waitingWords({ place: 3, seconds: 150 }), "3rd in line, about 3 min");
  const places = [4, 11, 12, 13, 21, 22].map((place) => waitingWords({ place, seconds: null }));
  assert.deepEqual(
    places,
    ["4th", "11th", "12th", "13th", "21st", "22nd"].map((word) => `${word} in line`),
  );
});

test("a browser keeps its key", () => {
  assert.match(visitor(), /^[0-9a-f]{32}$/);
  assert.equal(visitor(), visitor());
});
