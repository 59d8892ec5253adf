import assert from "node:assert/strict";
import { test } from "node:test";
import { madeWith } from "../../app/static/run/made.js";
import { recordedRun } from "./recorded.js";
import { head } from "./runs.js";

test("models with their revisions, versions, arithmetic, device, seed and day", () => {
  const told = recordedRun("first_look-1-sd").head;
  const [models, how] = madeWith(told);
  for (const role of ["target", "draft"]) {
    const revision = told.models[role].revision.split(":").at(-1);
    assert.ok(models.includes(`${role} ${role} (${revision.slice(0, 8)})`), models);
  }
  for (const [name, version] of Object.entries(told.versions)) assert.ok(how.includes(`${name} ${version}`), how);
  assert.ok(how.includes("float32, cpu, seed 0, ") && how.endsWith(`${told.created.slice(0, 10)}.`));
});

test("what was not recorded is said, and nothing is made up", () => {
  assert.deepEqual(madeWith(head("x", { versions: {}, created: "", dtype: "torch.bfloat16", device: "cuda:0" })), [
    "target target, revision not recorded.",
    "bfloat16, cuda:0, seed 0.",
  ]);
  const commit = madeWith(head("x", { models: { target: { id: "org/model", revision: "0123456789abcdef" } } }));
  assert.equal(commit[0], "target model (01234567).");
});
