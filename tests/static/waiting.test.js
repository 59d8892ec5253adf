import assert from "node:assert/strict";
import { test } from "node:test";
import { tellSteps } from "../../app/static/dom.js";
import { watchLoading } from "../../app/static/run/loading.js";
import { loadingStep, loadingWords, waitingWords } from "../../app/static/run/waiting.js";
import { createStore } from "../../app/static/store.js";
import { visitor } from "../../app/static/visitor.js";
import { card, round, trace } from "./runs.js";

test("a place in line is told in words, with the time it may take", () => {
  assert.equal(waitingWords({ place: 2, seconds: 12.3 }), "2nd in line, about 12 s");
  assert.equal(waitingWords({ place: 1, seconds: null }), "Next in line");
  assert.equal(waitingWords({ place: 1, seconds: 0 }), "Next in line, any moment");
  assert.equal(waitingWords({ place: 3, seconds: 150 }), "3rd in line, about 3 min");
  const places = [4, 11, 12, 13, 21, 22].map((place) => waitingWords({ place, seconds: null }));
  assert.deepEqual(
    places,
    ["4th", "11th", "12th", "13th", "21st", "22nd"].map((word) => `${word} in line`),
  );
});

test("a browser keeps its key", () => {
  assert.match(visitor(), /^[0-9a-f]{32}$/);
  assert.equal(visitor(), visitor());
});

test("what is loaded is told with its place in the row, its size and how long it takes", () => {
  const one = {
    what: "target big",
    step: 2,
    of: 3,
    size: 1_240_000_000,
    done: 5_300_000,
    read: 0,
    doing: "Loading",
    seconds: 4.2,
  };
  assert.equal(loadingWords(one), "Loading target big, 2 of 3, 1.2 GB after 5.3 MB, 4 s");
  const fetched = { ...one, step: 1, done: 0, read: 400_000_000, doing: "Downloading" };
  assert.equal(loadingWords(fetched), "Downloading target big, 1 of 3, 400.0 MB of 1.2 GB, 4 s");
  assert.equal(loadingWords({ ...one, step: 1, done: 0, seconds: 0.4 }), "Loading target big, 1 of 3, 1.2 GB");
  assert.equal(loadingWords({ ...one, of: 1, step: 1, size: null, done: 0 }), "Loading target big, 4 s");
  assert.equal(loadingWords({ ...one, of: 1, size: 12, done: 0, seconds: 0 }), "Loading target big, 12 bytes");
});

test("while a run waits for its models the server is asked what it loads, and no longer", async () => {
  const store = createStore();
  const answers = [{ loading: { what: "target", step: 1, of: 1, size: null, done: 0, seconds: 0 } }];
  let asked = 0;
  const api = {
    get: async () => {
      asked += 1;
      if (asked === 1) return answers[0];
      throw new Error("gone");
    },
  };
  watchLoading(store, { api });
  store.setStatus({ phase: "done" });
  assert.equal(asked, 0);
  store.setStatus({ phase: "loading" });
  store.setStatus({ phase: "loading" });
  await new Promise(setImmediate);
  assert.deepEqual([asked, store.status.loading?.what], [1, "target"]);
  store.setStatus({ phase: "done" });
  while (store.status.loading) await new Promise((go) => setTimeout(go, 20));
  assert.equal(asked, 1);
});

test("of what is loaded each part is read out, and not how far it is", () => {
  const said = /** @type {any} */ ({ dataset: {}, textContent: "" });
  const loads = { what: "target abc", step: 1, of: 2, size: 900, done: 0, read: 0, doing: "Loading", seconds: 0 };
  const live = (/** @type {object} */ more) => {
    const loading = /** @type {any} */ ({ ...loads, ...more });
    tellSteps(said, loadingWords(loading), loadingStep(loading));
    return said.ariaLive;
  };
  assert.deepEqual([live({}), live({ read: 300 }), live({ read: 600, seconds: 2 })], ["polite", "off", "off"]);
  assert.match(said.textContent, /600 bytes of 900 bytes, 2 s$/);
  assert.equal(live({ what: "draft abc", step: 2 }), "polite");
  tellSteps(said, "", "draft abc");
  assert.equal(said.ariaLive, "polite");
});

test("while a lane waits for its heads the server is asked, until each lane has begun or ended", async (t) => {
  const store = createStore();
  let asked = 0;
  const get = async () => {
    asked += 1;
    return { loading: null };
  };
  watchLoading(store, { api: { get } });
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const settled = () => new Promise(setImmediate);
  const later = async () => {
    t.mock.timers.tick(700);
    await settled();
    return asked;
  };
  const begun = trace("chain", [round()]).events;
  store.begin(["chain", "refused"].map((key) => ({ key, card: card(key) })));
  await settled();
  assert.equal(asked, 1);
  store.push("chain", begun.slice(0, 2));
  assert.equal(await later(), 2, "one has not begun");
  store.push("refused", [{ kind: "end", reason: "error" }]);
  assert.equal(await later(), 2);
  store.setStatus({ step: false });
  assert.equal(await later(), 2);
});
