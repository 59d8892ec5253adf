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
