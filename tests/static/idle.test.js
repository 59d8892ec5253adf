import assert from "node:assert/strict";
import { test } from "node:test";
import { createStore } from "../../app/static/store.js";
import { verdict } from "../../app/static/verdict.js";
import { round, trace } from "./runs.js";

const told = (line) => ({ line, why: "Because.", unsaid: "", cause: "pays off", speedup: 1.8 });

test("the verdict says beside its cause that a threshold cannot fire", () => {
  const store = createStore();
  store.load([trace("sd", [round({ drafted: 2, accepted: 1 })])], {
    compared: { verdicts: { sd: told("Fast.") }, divergences: [], idle: { sd: "The threshold cannot fire here." } },
  });
  assert.equal(verdict(store).cause.trim(), "Because. The threshold cannot fire here.");
  store.load([trace("sd", [round({ drafted: 2, accepted: 1 })])], {
    compared: { verdicts: { sd: told("Fast.") }, divergences: [], idle: {} },
  });
  assert.equal(verdict(store).cause.trim(), "Because.");
});
