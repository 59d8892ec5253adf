// The keys of the cursor, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bindKeys } from "../../app/static/keys.js";
import { createStore } from "../../app/static/store.js";
import { round, trace } from "./runs.js";

/** Presses a key on a page where nothing has the focus. */
function keyboard(store) {
  /** @type {(event: object) => void} */
  let hear = () => {};
  Object.assign(globalThis, {
    addEventListener: (/** @type {string} */ _type, /** @type {typeof hear} */ given) => {
      hear = given;
    },
    document: { querySelector: () => null },
    Element: class {},
    HTMLInputElement: class {},
  });
  bindKeys(store, { ui: { notify() {}, emit() {}, open() {} } });
  return (key) => hear({ key, target: null, preventDefault() {} });
}

test("arrows go from a lane to what stands at the same place of one that goes on from it, and back", () => {
  const store = createStore();
  const forced = { prompt_ids: [1, 10, 11, 99], extras: { forced: 3 } }; // two tokens of the lane, then another
  store.load([
    trace("chain", [round({ ids: [10] }), round({ ids: [11] }), round({ ids: [12] }), round({ ids: [13] })]),
    trace("chain~1", [round({ ids: [20] }), round({ ids: [21] })], forced),
  ]);
  const press = keyboard(store);
  const at = () => [store.cursor?.run, store.cursor?.pos];
  store.setCursor({ run: "chain", pos: 3 });
  press("ArrowDown");
  assert.deepEqual(at(), ["chain~1", 0]);
  press("ArrowUp");
  assert.deepEqual(at(), ["chain", 3]);
  press("ArrowDown");
  press("ArrowRight");
  assert.deepEqual(at(), ["chain~1", 1]);
  press("ArrowUp");
  assert.deepEqual(at(), ["chain", 3], "its text ends before that place");
  store.setCursor({ run: "chain", pos: 1 });
  press("ArrowDown");
  assert.deepEqual(at(), ["chain~1", 0], "what was forced has no tokens of its own");
  press("ArrowDown");
  assert.deepEqual(at(), ["chain~1", 0], "there is no lane below");
});
