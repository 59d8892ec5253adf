// Flags of importance: where they stand in a run, their words, and what is said while labels are on their way.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createEmitter } from "../../app/static/emitter.js";
import { flagged, flagKey, flagsAt, watchFlags } from "../../app/static/flags.js";
import { addPrompt, createMined, emptySet } from "../../app/static/mined.js";
import { paintNones } from "../../app/static/stage/scorepaint.js";
import { trackOf } from "../../app/static/stage/tracks.js";
import { createStore } from "../../app/static/store.js";
import { round, trace } from "./runs.js";

const said = () => trackOf("importance").none;
/** What is said in a picture and on paper. */
function drawn() {
  /** @type {string[]} */
  const words = [];
  const place = { tracks: [{ id: "importance", y: 0, height: 20 }] };
  const lane = { run: { rounds: [], tokens: [], head: null } };
  paintNones(/** @type {any} */ ({ fillText: words.push.bind(words) }), /** @type {any} */ (place), lane, () => "");
  return words[0];
}
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
  assert.equal(drawn(), "labels not read", "a picture does not wait for them");
  timers.tick(2000);
  await soon();
  return told;
}

test("labels load until they are read, and only then it is known that nothing was judged", async (t) => {
  assert.equal(said(), "not judged", "where nobody reads labels there are none");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  assert.equal(await page(Promise.resolve([{ name: "a" }]), t.mock.timers), 1, "views are told");
  assert.deepEqual([said(), drawn()], ["not judged", "not judged"]);
  t.mock.method(console, "warn", () => {});
  assert.equal(await page(Promise.reject(new Error("no answer")), t.mock.timers), 1);
  assert.equal(said(), "labels not read");
});

/** Sets of one prompt whose response was 1, 2, 3, 4; each label is [position, whether it is important]. */
function sets() {
  const mined = createMined(/** @type {any} */ ({}));
  watchFlags(createStore(), /** @type {any} */ ({ mined }));
  return {
    mined,
    put(/** @type {string} */ name, /** @type {[number, boolean][]} */ given, head = {}, more = {}) {
      const set = emptySet(name, /** @type {any} */ ({ kind: "mining", schema: 1, task: "arithmetic", ...head }));
      const label = ([t, important]) => ({
        ...{ prompt: "p", t, important, target_token: 1, draft_token: 2, target_piece: " the", draft_piece: " a" },
        ...{ target_answer: "4", draft_answer: important ? "5" : "4", target_text: "", draft_text: "" },
      });
      const labels = given.map((one) => /** @type {any} */ (label(one)));
      addPrompt(set, {
        kind: "prompt",
        prompt: "p",
        key: "p",
        text: "Once",
        final: [1, 2, 3, 4],
        pieces: [],
        labels,
        ...more,
      });
      mined.put(set);
    },
  };
}
const runOf = (/** @type {any[]} */ rounds, more = {}) => {
  const store = createStore();
  store.load([trace("sd", rounds, more)]);
  return store.runs.get("sd");
};
const written = (/** @type {number[]} */ ids, more = {}) =>
  runOf(
    ids.map((id) => round({ ids: [id] })),
    more,
  );
const kinds = (/** @type {any} */ run) =>
  run.tokens.map((_, pos) =>
    flagsAt(run, pos)
      .map(({ kind, important }) => `${kind}${important ? "!" : ""}`)
      .join(),
  );

test("labels stand where a run follows the response that they were mined on, up to where it leaves it", () => {
  const { mined, put } = sets();
  put("set", [
    [1, true],
    [2, false],
    [3, true],
  ]);
  assert.deepEqual(kinds(written([1, 2, 3, 4])), ["", "mined!", "mined", "mined!"]);
  assert.deepEqual(kinds(written([1, 2, 9, 4])), ["", "mined!", "mined", ""], "it leaves the response at a label");
  assert.deepEqual(kinds(written([9, 2, 3, 4])), ["", "", "", ""]);
  assert.deepEqual(kinds(written([1, 2, 3, 4], { prompt: "Twice" })), ["", "", "", ""]);
  const other = { models: { target: { id: "another" } } };
  put("set", [[1, true]], { models: { target: { id: "target" } } });
  assert.deepEqual(kinds(written([1, 2, 3, 4])), ["", "mined!", "", ""], "read anew when a set changes");
  assert.deepEqual(kinds(written([1, 2, 3, 4], other)), ["", "", "", ""], "what another target did says nothing");
  const growing = written([1]);
  assert.deepEqual([kinds(growing), flagged(growing)], [[""], false]);
  growing.tokens.push({ ...growing.tokens[0], token: 2, pos: 1 });
  assert.deepEqual([kinds(growing), flagged(growing)], [["", "mined!"], true]);
  assert.deepEqual(
    flagKey([growing]).map(({ kind, important }) => [kind, important]),
    [
      ["mined", true],
      ["mined", false],
    ],
  );
  assert.deepEqual(mined.of("Once", undefined).length, 1);
});

test("a flag says which swap was tried, how, and what became of the answer; running mining speaks before naive", () => {
  const { put } = sets();
  put(
    "alone",
    [
      [1, false],
      [2, true],
    ],
    { naive: true },
  );
  const run = written([1, 2, 3]);
  const words = (/** @type {number} */ pos) => flagsAt(run, pos).map((flag) => flag.words);
  assert.deepEqual(words(1), ["Mined: ·the → ·a was tried here alone, with no swap before it; the answer stayed."]);
  put("running", [[1, true]]);
  assert.deepEqual(words(1), ["Mined: ·the → ·a was tried here; the answer 4 became 5."]);
  assert.match(words(2)[0], /here alone.*4 became 5/);
});

test("a judge flags what it rejected or let pass, and nothing that the exact rule accepted", () => {
  sets();
  const judged = (/** @type {string} */ state, accepted = 0) => {
    const one = round({ drafted: 1, accepted });
    return { ...one, nodes: [{ ...one.nodes[0], state, judge: 0.3 }] };
  };
  const run = runOf([
    judged("accepted", 1),
    judged("relaxed", 1),
    judged("rejected"),
    round({ drafted: 1, accepted: 0 }),
  ]);
  assert.deepEqual(kinds(run), ["", "", "judge", "", "judge!", ""]);
  assert.deepEqual(
    [2, 4].map((pos) => flagsAt(run, pos)[0].words),
    ["Judge: importance 0.30, let pass as not important.", "Judge: importance 0.30, rejected as important."],
  );
  assert.deepEqual([flagged(run), flagged(runOf([judged("accepted", 1)]))], [true, false]);
  assert.deepEqual(
    flagKey([run]).map(({ words }) => words),
    ["judge: important", "judge: let pass"],
  );
  assert.ok(trackOf("importance").has(run) && trackOf("importance").has(runOf([judged("accepted", 1)])));
  assert.ok(!trackOf("importance").has(written([1])));
});
