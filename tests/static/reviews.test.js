// Reviews in two tabs of one browser: each keeps what the other wrote, and shows it.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const PLACE = "draftscope.reviews";
/** Tabs by name: what they listen for. */
const heard = {};
const kept = new Map();
let full = false;

/** Module `reviews.js` as a tab of its own has it. @param {string} name */
async function tab(name) {
  heard[name] = [];
  globalThis.addEventListener = (topic, hear) => topic === "storage" && heard[name].push(hear);
  globalThis.localStorage = {
    getItem: (key) => kept.get(key) ?? null,
    setItem(key, value) {
      if (full) throw new Error("QuotaExceededError");
      kept.set(key, value);
    },
  };
  const reviews = await import(`../../app/static/review/reviews.js?${name}`);
  return { ...reviews, own: reviews.load(), hear: () => heard[name].forEach((hear) => hear({ key: PLACE })) };
}

const stored = () => JSON.parse(kept.get(PLACE)).items;
const notes = (items) => Object.fromEntries(Object.entries(items).map(([key, { note }]) => [key, note]));
let number = 0;
let one;
let two;

beforeEach(async () => {
  kept.clear();
  full = false;
  number += 1;
  one = await tab(`one${number}`);
  two = await tab(`two${number}`);
});

const note = ({ own, change, keep }, key, text) => {
  change(own, key, { note: text });
  return keep(own);
};

test("what another tab wrote stays, whatever this one keeps", () => {
  note(one, "a", "from one");
  note(two, "b", "from two");
  assert.deepEqual(notes(stored()), { a: "from one", b: "from two" });
  two.own.last = "b"; // an item is opened, nothing is reviewed
  two.keep(two.own);
  one.own.reviewer = "me";
  one.keep(one.own);
  assert.deepEqual(notes(stored()), { a: "from one", b: "from two" });
  assert.deepEqual([one.own.last, one.own.reviewer], ["b", "me"]);
});

test("of one item the last change counts, a deletion too", () => {
  note(one, "a", "first");
  note(two, "a", "second");
  assert.deepEqual(notes(stored()), { a: "second" });
  note(one, "b", "other");
  note(two, "a", "");
  assert.deepEqual(notes(stored()), { b: "other" });
  note(one, "c", "later");
  assert.deepEqual(notes(stored()), { b: "other", c: "later" }, "what was deleted elsewhere does not come back");
  one.change(one.own, "c", { note: "" });
  one.change(one.own, "b", { note: "" });
  one.keep(one.own);
  two.keep(two.own);
  assert.deepEqual(stored(), {});
});

test("the other tab is told, and shows it", () => {
  const told = [];
  const off = two.onReviews((elsewhere) => told.push([elsewhere, notes(two.own.items)]));
  note(one, "a", "from one");
  assert.deepEqual(told, []);
  two.hear();
  assert.deepEqual(told, [[true, { a: "from one" }]]);
  note(two, "a", "from two");
  assert.deepEqual(told[1], [false, { a: "from two" }]);
  off();
  two.hear();
  assert.equal(told.length, 2);
});

test("what could not be kept is kept with the next change", () => {
  full = true;
  assert.equal(note(one, "a", "no room"), false);
  full = false;
  note(two, "b", "from two");
  one.hear();
  assert.deepEqual(notes(one.own.items), { a: "no room", b: "from two" });
  note(two, "b", "");
  note(one, "c", "room");
  assert.deepEqual(notes(stored()), { a: "no room", c: "room" });
});

test("what is kept and is no review is left out, and the others are shown", async () => {
  const good = { verdict: "agree", note: "", star: false, made: "" };
  const bad = { a: null, b: 5, c: { verdict: "agree", note: 7, made: "" }, d: { ...good, of: null } };
  kept.set(PLACE, JSON.stringify({ reviewer: "me", items: { ...bad, good } }));
  const three = await tab(`three${number}`);
  assert.deepEqual([three.own.items, three.own.reviewer], [{ good }, "me"]);
  kept.set(PLACE, JSON.stringify({ items: "none" }));
  assert.deepEqual((await tab(`four${number}`)).own.items, {});
});

test("without a store that can be read, reviews stay in the page", () => {
  note(one, "a", "here");
  kept.set(PLACE, "{damaged");
  note(one, "b", "there");
  assert.deepEqual(notes(stored()), { a: "here", b: "there" });
});
