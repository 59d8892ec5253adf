import assert from "node:assert/strict";
import { test } from "node:test";
import { draftedNothing, guaranteeOf } from "../../app/static/run/guarantee.js";
import { createStore } from "../../app/static/store.js";
import { card, head, round, trace } from "./runs.js";

test("a guarantee has three classes, and rounding is the arithmetic's", () => {
  const name = (guarantee, dtype) => guaranteeOf({ card: card("x", { guarantee }), head: head("x", { dtype }) }).name;
  assert.equal(name("lossless", "float32"), "lossless");
  assert.equal(name("lossless", "torch.bfloat16"), "lossless up to rounding");
  assert.equal(name("lossless", "float16"), "lossless up to rounding");
  assert.equal(name("lossy", "bfloat16"), "lossy");
  assert.equal(name("reference", "bfloat16"), "reference");
  assert.equal(guaranteeOf({ card: card("x"), head: null }).name, "lossless");
});

test("a method that drafted nothing is told once it has ended; the reference never drafts", () => {
  const store = createStore();
  store.load([
    trace("silent", [round(), round()]),
    trace("late", [round(), round({ drafted: 2, accepted: 0 })]),
    trace("plain", [round()], { guarantee: "reference" }),
  ]);
  const said = (key) => draftedNothing(store.runs.get(key));
  assert.match(said("silent"), /^Drafted nothing: in 2 target calls/);
  assert.equal(said("late"), "");
  assert.equal(said("plain"), "");
  assert.equal(draftedNothing({ ...store.runs.get("silent"), end: null }), "");
});
