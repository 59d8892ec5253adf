import assert from "node:assert/strict";
import { test } from "node:test";
import { captionOf } from "../../app/static/caption.js";
import { head } from "./runs.js";

const MODELS = { target: { id: "big" }, draft: { id: "small" } };

/** A stage with runs of these heads. */
const stage = (heads, recorded = null) => ({
  lanes: heads.map((_, i) => String(i)),
  runs: new Map(heads.map((one, i) => [String(i), { head: one }])),
  status: { recorded },
});
const lab = { session: { catalogue: { presets: [{ name: "sampled", title: "A sampled run" }] } } };

test("a caption names the case, else the prompt, and each model once", () => {
  const heads = [head("ar", { created: "2026-11-23T06:55:42+00:00" }), head("sd", { models: MODELS })];
  assert.equal(
    captionOf(stage(heads, "sampled"), lab),
    "A sampled run · target target and big, draft small · recorded 2026-11-23",
  );
  assert.equal(captionOf(stage(heads.slice(1)), lab), "“Once” · target big, draft small");
  assert.equal(captionOf(stage(heads.slice(1), "unknown")), "“Once” · target big, draft small");
  assert.equal(captionOf(stage([])), "");
  assert.equal(captionOf(stage([null])), "");
});

test("a caption has the temperature and the seed of what is sampled, and the days of the recordings", () => {
  const drawn = (temperature, seed, day) =>
    head("sd", { sampling: { temperature, top_k: 0, top_p: 0.9 }, seed, models: MODELS, created: `${day}T00:00:00` });
  assert.equal(
    captionOf(stage([drawn(0.8, 3, "2026-11-24"), drawn(1, 3, "2026-11-23")])),
    "“Once” · target big, draft small · temperature 0.8 and 1, top-p 0.9, seed 3 · recorded 2026-11-23 to 2026-11-24",
  );
  assert.match(captionOf(stage([head("ar"), drawn(0.8, 3, "2026-11-24")])), / · greedy and temperature 0.8, /);
  const days = ["2026-11-23", "2026-11-23", "2026-11-25", "2026-11-24"].map((day) => drawn(1, 3, day));
  assert.match(captionOf(stage(days)), / recorded 2026-11-23 to 2026-11-25$/);
  const whole = head("sd", { sampling: { temperature: 1, top_k: 0, top_p: 1 }, models: MODELS });
  assert.equal(captionOf(stage([whole])), "“Once” · target big, draft small · temperature 1, seed 0");
});

test("a caption has the first words of one of several prompts", () => {
  const heads = ["Once", "Once", "Twice", "Thrice"].map((prompt) => head("ar", { prompt }));
  assert.match(captionOf(stage(heads)), /^“Once” and 2 more prompts · target target$/);
});
