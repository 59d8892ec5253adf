import assert from "node:assert/strict";
import { test } from "node:test";
import { allowed } from "../../app/static/run/fields.js";

test("what a number may be is told from its field", () => {
  assert.equal(allowed({ min: "1", max: "512", step: "1" }), "a whole number from 1 to 512");
  assert.equal(allowed({ min: "0", max: "", step: "1" }), "a whole number of 0 or more");
  assert.equal(allowed({ min: "", max: "2", step: "any" }), "a number of 2 or less");
  assert.equal(allowed({ min: "0", max: "1", step: "0.05" }), "a number from 0 to 1, in steps of 0.05");
  assert.equal(allowed({ min: "", max: "", step: "" }), "a number");
});
