// What is said of runs without flags of importance while the labels of swaps are still on their way.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createEmitter } from "../../app/static/emitter.js";
import { watchFlags } from "../../app/static/flags.js";
import { trackOf } from "../../app/static/stage/tracks.js";

const said = () => trackOf("importance").none;
const soon = () => new Promise((done) => setImmediate(done));

/** A page that reads these sets, and how often it was told of flags. @param {Promise<any[]>} sets */
async function page(sets, timers) {
  const store = { ...createEmitter(), status: { phase: "loading" } };
  let told = 0;
  store.on("flags", () => {
    told += 1;
  });
  watchFlags(store, { mined: { on() {}, recorded: () => sets, open: async () => {} } });
  assert.equal(said(), "labels loading");
  store.status = { phase: "done" };
  store.emit("status");
  assert.equal(said(), "labels loading", "the page stands and they are still to come");
  timers.tick(2000);
  await soon();
  return told;
}

test("labels load until they are read, and only then it is known that nothing was judged", async (t) => {
  assert.equal(said(), "not judged", "where nobody reads labels there are none");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  assert.equal(await page(Promise.resolve([{ name: "a" }]), t.mock.timers), 1, "views are told");
  assert.equal(said(), "not judged");
  t.mock.method(console, "warn", () => {});
  assert.equal(await page(Promise.reject(new Error("no answer")), t.mock.timers), 1);
  assert.equal(said(), "labels not read");
});
