import assert from "node:assert/strict";
import { test } from "node:test";
import { knobText } from "../../app/static/lanetext.js";
import { card, head } from "./runs.js";

test("a lane tells its knobs, and which of them was calibrated and is set by hand", () => {
  const knob = { advanced: false, calibrated: "python -m engine calibrate", name: "tau_entropy", default: 1.347 };
  const easd = card("easd", { knobs: [knob, { ...knob, name: "gamma", calibrated: "", default: 5 }] });
  const told = (knobs) => knobText({ card: easd, head: head("easd", { knobs }) });
  assert.equal(told({ tau_entropy: 0.15, gamma: 4 }), "tau entropy 0.15 (by hand; calibrated: 1.347) · gamma 4");
  assert.equal(told({ tau_entropy: 1.347 }), "tau entropy 1.347");
});

test("a lane tells its knobs with their units, and switches as on or off", () => {
  const knob = (name, unit) => ({ advanced: false, calibrated: "", name, unit, default: null });
  const knobs = [knob("k_min", "tokens"), knob("tau_base", "nats"), knob("adapt_k", ""), knob("tau_overlap", "share")];
  const run = { card: card("cm_asd", { knobs }), head: head("cm_asd", {}) };
  const told = (given) => knobText({ ...run, head: { ...run.head, knobs: given } });
  assert.equal(told({ k_min: 1, tau_base: 0.1, adapt_k: true }), "k min 1 token · tau base 0.1 nats · adapt k on");
  assert.equal(told({ k_min: 2, adapt_k: false, tau_overlap: 0.8 }), "k min 2 tokens · adapt k off · tau overlap 0.8");
});
