import assert from "node:assert/strict";
import { test } from "node:test";
import { classOf, draftedNothing, guaranteeOf } from "../../app/static/run/guarantee.js";
import { createStore } from "../../app/static/store.js";
import { card, head, round, trace } from "./runs.js";

const threshold = (more = {}) => ({ effect: "decide", says: "kept where it is near", sampled_only: false, ...more });
const knob = { name: "correction", default: "residual", lossy: ["target"] };
const of = (more, told = {}) => guaranteeOf({ card: card("x", more), head: head("x", told) });

test("the card decides between three classes", () => {
  assert.deepEqual(
    ["reference", "lossless", "lossy"].map((guarantee) => of({ guarantee }).id),
    ["reference", "exact", "changes"],
  );
  assert.equal(of({ guarantee: "lossy", threshold: threshold({ sampled_only: true }) }).id, "greedy");
  assert.equal(of({ knobs: [knob] }).id, "exact");
  const voided = of({ knobs: [knob] }, { knobs: { correction: "target" } });
  assert.deepEqual([voided.id, voided.name], ["greedy", "lossless greedy"]);
  assert.match(voided.words, /correction = target/);
  const drawn = of({ knobs: [knob] }, { knobs: { correction: "target" }, sampling: { temperature: 0.8 } });
  assert.deepEqual([drawn.id, drawn.name, drawn.words], ["changes", "lossy", voided.words]);
  assert.deepEqual([voided.sign, drawn.sign], ["lossless", "lossy"]); // the sign goes with the word, not with the card
  assert.equal(of({ knobs: [knob] }, { sampling: { temperature: 0.8 } }).id, "exact");
  assert.equal(classOf(card("x", { knobs: [{ ...knob, default: "target" }] })), "greedy");
});

test("the reason is that of the rule's effect, in its own words", () => {
  assert.match(of({}).words, /min\(1, p\/q\).*drafts that are tested as a whole have variants/);
  const lossy = (more) => of({ guarantee: "lossy", threshold: threshold(more) }).words;
  assert.match(lossy({ effect: "veto", says: "vetoed where unsure" }), /first a draft token is vetoed where unsure/);
  assert.match(lossy({ effect: "override" }), /a draft token that it rejects is kept where it is near/);
  assert.match(lossy({}), /^In place of the exact rule/);
  assert.match(lossy({ sampled_only: true }), /At temperature 0 the exact rule decides/);
});

test("rounding is the arithmetic's, and no lossy method's excuse", () => {
  const name = (guarantee, dtype) => of({ guarantee }, { dtype }).name;
  assert.equal(name("lossless", "float32"), "lossless");
  assert.equal(name("lossless", "torch.bfloat16"), "lossless up to rounding");
  assert.equal(name("lossless", "float16"), "lossless up to rounding");
  assert.equal(name("lossy", "bfloat16"), "lossy");
  assert.equal(name("reference", "bfloat16"), "reference");
  assert.equal(guaranteeOf({ card: card("x"), head: null }).name, "lossless");
  assert.match(of({}, { dtype: "bfloat16" }).rounding, /near-ties may differ/);
  assert.equal(of({ guarantee: "lossy" }, { dtype: "bfloat16" }).rounding, "");
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
  const { card, ...silent } = store.runs.get("silent");
  assert.equal(draftedNothing({ ...silent, card: { ...card, family: "baseline" } }), "", "a baseline never drafts");
});
