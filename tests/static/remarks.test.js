import assert from "node:assert/strict";
import { test } from "node:test";
import { remarksOf } from "../../app/static/run/remarks.js";
import { head } from "./runs.js";

test("a lane says what is otherwise with its models, and most lanes say nothing", () => {
  assert.deepEqual(remarksOf(null), []);
  assert.deepEqual(remarksOf(head("x")), []);
  const told = remarksOf({
    ...head("x"),
    extras: { adapted: "Drafts a chain here." },
    models: {
      target: { id: "a", notes: ["Text only: the parts that see or hear are not used."] },
      draft: { id: "b", ids: "pieces", common: 120 },
    },
  });
  assert.deepEqual(told, [
    "Drafts a chain here.",
    "Another tokenizer drafts: the 120 of its pieces that the target has too can be drafted.",
    "target: Text only: the parts that see or hear are not used.",
  ]);
  const both = { notes: ["Encoder-decoder: the prompt is the source, and is read once."] };
  assert.deepEqual(remarksOf({ ...head("x"), models: { target: both, draft: both } }), [
    "target and draft: Encoder-decoder: the prompt is the source, and is read once.",
  ]);
  const first = { ...head("x"), models: { target: both } };
  const then = { ...head("x"), models: { target: both, draft: both } };
  assert.deepEqual(remarksOf(then, [first]), [], "the lane before it has said so");
  const other = { ...head("x"), models: { target: { ...both, id: "other" } } };
  assert.equal(remarksOf(then, [other]).length, 1, "of another target");
  const specials = { draft: { id: "b", ids: "specials", common: 7 } };
  assert.match(remarksOf({ ...head("x"), models: specials })[0], /special tokens, .*: the 7 that agree/);
});
