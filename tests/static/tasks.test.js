import assert from "node:assert/strict";
import { test } from "node:test";
import { boxes, calls } from "../../app/static/learn/gallery.js";
import { readProgress, withStep } from "../../app/static/learn/progress.js";
import { show, take } from "../../app/static/learn/show.js";
import { countAt, isRight } from "../../app/static/learn/tasks.js";
import { createStore } from "../../app/static/store.js";

const place = (round, node, pos) => ({ lane: 1, round, node, pos });

test("a choice is right by its option", () => {
  const task = { kind: "choice", options: [{ right: false }, { right: true }] };
  assert.deepEqual(
    [0, 1, 2].map((given) => isRight(task, given)),
    [false, true, false],
  );
});

test("a prediction is right within its tolerance, ends included", () => {
  const task = { kind: "predict", answer: 20, tolerance: 4 };
  assert.deepEqual(
    [15.9, 16, 24, 24.1, Number.NaN].map((given) => isRight(task, given)),
    [false, true, true, false, false],
  );
  assert.equal(isRight({ kind: "predict", answer: 0.3 }, 0.1 + 0.2), true);
});

test("a selection is right at the round and node of an answer", () => {
  const task = { kind: "select", answers: [place(3, 2, 10), place(5, null, 20)] };
  assert.equal(isRight(task, { round: 3, node: 2, pos: 10 }), true);
  assert.equal(isRight(task, { round: 3, node: 1, pos: 10 }), false);
  assert.equal(isRight(task, { round: 4, node: 2, pos: 10 }), false);
  assert.equal(isRight(task, { round: 5, node: null, pos: 20 }), true);
  assert.equal(isRight(task, { round: 5, node: null, pos: 21 }), false);
  assert.equal(isRight(task, { round: 3, node: null, pos: 10 }), true);
  assert.equal(isRight(task, { round: 5, node: 4, pos: 20 }), true, "where the place is a position");
  assert.equal(isRight({ kind: "choice", answers: task.answers }, { round: 3, node: 2, pos: 10 }), false);
  assert.equal(isRight({ kind: "select" }, { round: 3, node: 2, pos: 10 }), false);
});

test("a setting is right where the count at or below it is the wanted one", () => {
  const task = {
    kind: "set",
    want: 1,
    counts: [
      [0, 3],
      [0.5, 1],
      [1, 0],
    ],
  };
  assert.deepEqual(
    [-0.1, 0.49, 0.5, 0.99, 1, 1.01].map((value) => countAt(task, value)),
    [null, 3, 1, 1, 0, null],
  );
  assert.equal(isRight(task, 0.7), true);
  assert.equal(isRight(task, 0.2), false);
  assert.equal(isRight({ ...task, want: 0 }, 1.01), false);
});

test("progress grows step by step, and what is damaged is left out", () => {
  assert.deepEqual(withStep({ a: [2] }, "a", 0), { a: [0, 2] });
  assert.deepEqual(withStep({ a: [2] }, "a", 2), { a: [2] });
  assert.deepEqual(readProgress('{"a": [0, -1, "x", 3], "b": 5}'), { a: [0, 3], b: [] });
  for (const text of ["", "{", "[]", "null", "7"]) assert.deepEqual(readProgress(text), {});
});

test("spans of a thumbnail lie end to end on one axis", () => {
  const [first, second] = boxes(
    [
      ["draft", 6],
      ["bonus", 2],
    ],
    16,
  );
  assert.deepEqual([first.x, second.x], [0, 112.5]);
  assert.ok(first.x + first.width < second.x && second.x + second.width < 150);
});

test("a case that comes late brings back neither a lesson that was closed nor a room that was left", async () => {
  const store = createStore();
  let come;
  const openRecorded = async (name) => {
    await new Promise((given) => (come = given));
    if (name !== "gone") store.load([], { recorded: name });
  };
  const lab = { session: { openRecorded } };
  const scene = (name) => ({ case: name, view: "score", lane: null, at: null });
  const during = async (going, ...sets) => {
    for (const [name, value] of sets) store.setOption(name, value);
    come();
    const shown = await going;
    return [store.options.room, store.options.stage, store.options.beside, shown];
  };
  store.setOption("room", "learn");
  assert.deepEqual(await during(show(scene("one"), store, lab), ["room", "papers"]), ["papers", "text", "", false]);
  assert.deepEqual(await during(show(scene("gone"), store, lab)), ["papers", "text", "", false]);
  const step = (at) => take("first", at, scene(at ? "three" : "two"), store, lab);
  assert.deepEqual(await during(step(0), ["room", "learn"]), ["learn", "text", "", undefined]);
  assert.deepEqual(await during(step(1)), ["compare", "score", "first~1", undefined]);
  assert.deepEqual(await during(step(0), ["beside", ""]), ["compare", "score", "", undefined]);
  assert.deepEqual(await during(show(scene("one"), store, lab)), ["compare", "score", "", true]);
});

test("a case tells the target calls of its lanes, and the iterations of one that writes in place", () => {
  const lane = (title, needed, iterations = 0) => ({ title, calls: needed, iterations, spans: [], tokens: 1 });
  const placed = lane("Placed", 0, 10);
  assert.equal(calls({ lanes: [lane("AR", 24), lane("SD", 3)] }), "AR 24, SD 3 target calls");
  assert.equal(
    calls({ lanes: [lane("AR", 24), lane("SD", 3), placed] }),
    "AR 24, SD 3 target calls; Placed 10 iterations",
  );
  assert.equal(calls({ lanes: [placed] }), "Placed 10 iterations");
});
