// Reviews of places in runs: which place a review is of, wherever the run is opened again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { flagsAt } from "../../app/static/flags.js";
import { identityOf } from "../../app/static/review/identity.js";
import { change, compare, exportLines, keep, load, readLines, take } from "../../app/static/review/reviews.js";
import { keyOf, placeAt, placeOf, reviewsAt, runOf, unended } from "../../app/static/review/runreviews.js";
import { createStore } from "../../app/static/store.js";
import { head, round, trace } from "./runs.js";

const PAGE = { recorded: "code", view: "?trace=code&at=sd~0~1~1", piece: (id) => ` t${id}` };
const AT = { round: 0, pos: 1, node: 1 };

/** A run of two rounds; `more` changes what it was asked for, `ids` what its second round wrote. */
function made(more = {}, ids = [20, 21]) {
  const store = createStore();
  store.load([trace("sd", [round({ drafted: 2, accepted: 1 }), round({ drafted: 1, accepted: 1, ids })], more)]);
  return store.runs.get("sd");
}

test("a run is the same wherever it is made again, and another when anything else was asked for", () => {
  const same = { id: "other", created: "later", knobs: { b: 1, a: 2 } };
  assert.equal(identityOf(head("sd", { knobs: { a: 2, b: 1 } })), identityOf(head("sd", same)));
  const others = [
    { knobs: { a: 2 } },
    { prompt_ids: [2] },
    { seed: 1 },
    { sampling: { temperature: 1, top_k: 0, top_p: 1 } },
    { models: { target: { id: "target", revision: "x" } } },
    { max_new_tokens: 65 },
    { stop: ["."] },
  ];
  assert.equal(new Set([{}, ...others].map((more) => identityOf(head("sd", more)))).size, others.length + 1);
});

test("a place is found again by what it wrote, and only there", () => {
  const [run, again, other] = [made(), made({ id: "again" }), made({}, [20, 22])];
  for (const place of ["token", "round", "run"]) assert.equal(keyOf(run, place, AT), keyOf(again, place, AT));
  const later = { round: 1, pos: 3, node: null };
  assert.equal(keyOf(run, "round", AT), keyOf(other, "round", AT), "the first round is the same");
  for (const place of ["token", "round", "run"]) assert.notEqual(keyOf(run, place, later), keyOf(other, place, later));
  assert.notEqual(keyOf(run, "token", AT), keyOf(run, "token", { ...AT, node: 0 }));
  const of = placeOf(run, "token", later, PAGE);
  assert.deepEqual(placeAt(of), later);
  assert.equal(runOf([other, again], keyOf(run, "token", later), of), again);
  assert.equal(runOf([other], keyOf(run, "token", later), of), null);
});

test("a draft token of a light recording, which keeps no candidates, was accepted as in a full one", () => {
  const states = (run) =>
    run.tokens.map(({ round: at, pos, node }) => placeOf(run, "token", { round: at, pos, node }, PAGE).state);
  const full = made();
  const light = made({ record: "light" });
  for (const event of light.rounds) event.nodes = [];
  assert.deepEqual(states(full), ["accepted", "correction", "accepted", "bonus"]);
  assert.deepEqual(states(light), states(full));
  for (const token of light.tokens) token.node = null;
  assert.deepEqual(states(light).slice(0, 2), ["draft", "correction"], "of the draft model alone, which none accepts");
});

test("a review carries what its place wrote, and which models wrote it", () => {
  const models = { target: { id: "big", revision: "abc" }, draft: { id: "small" }, judge: {} };
  const run = made({ models });
  const at = (/** @type {"token" | "round" | "run"} */ place, where = AT) => {
    const { piece, state, draft, models: named } = placeOf(run, place, where, PAGE);
    return [piece, state, draft, named];
  };
  const named = "target big@abc, draft small, judge ?";
  assert.deepEqual(at("token"), [" t11", "rejected", " t91", named]);
  assert.deepEqual(at("token", { ...AT, node: null }), [" t11", "correction", "", named]);
  assert.deepEqual(at("round"), [" t10 t11", "1 of 2 accepted", "", named]);
  assert.deepEqual(at("run"), [" t10 t11 t20 t21", "limit", "", named]);
});

test("a run that has not ended has no review of the whole", () => {
  const store = createStore();
  const { events, ...lane } = trace("sd", [round({ drafted: 2, accepted: 1 })]);
  store.load([{ ...lane, events: events.slice(0, -1) }]);
  assert.equal(keyOf(store.runs.get("sd"), "run", {}), null);
  assert.ok(keyOf(store.runs.get("sd"), "round", AT));
  assert.match(unended({ phase: "done" }), /has no end: its file was cut off/);
  assert.match(unended({ phase: "running" }), /has not ended yet/);
});

test("reviews of a token, a round and a run go out with the run's identity and come back as they were", () => {
  const run = made();
  const reviews = { reviewer: "me", items: {} };
  for (const place of ["token", "round", "run"])
    change(reviews, keyOf(run, place, AT), { star: true, note: place, of: placeOf(run, place, AT, PAGE) });
  const text = exportLines(reviews, []);
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ place, run: id, method, recorded, position, node, piece }) => [
      place,
      id,
      method,
      recorded,
      position,
      node,
      piece,
    ]),
    [
      ["token", identityOf(run.head), "sd", "code", 1, 1, " t11"],
      ["round", identityOf(run.head), "sd", "code", null, null, " t10 t11"],
      ["run", identityOf(run.head), "sd", "code", null, null, " t10 t11 t20 t21"],
    ],
  );
  assert.deepEqual(readLines(text), reviews);
  assert.equal(compare(reviews, readLines(text)).n, 0, "stars are no verdicts");
});

test("a line of a run that is too long, of another kind or of no place is refused", () => {
  const good = { item: "run|x", verdict: "agree", place: "token", run: "x", round: 1 };
  assert.equal(readLines(JSON.stringify(good)).items["run|x"].of.round, 1);
  const bad = [
    [{ place: "page" }, /Line 1 is no review of a run: place must be token, round, run/],
    [{ place: "page", round: "1" }, /place must be token, round, run/],
    [{ round: "1" }, /round must be a whole number/],
    [{ position: 1.5 }, /position must be a whole number/],
    [{ piece: 3 }, /piece must be a text/],
    [{ why: "x".repeat(8001) }, /why must be a text/],
    [{ item: "x".repeat(1001) }, /needs an item/],
    [{ item: "__proto__" }, /needs an item/],
  ];
  for (const [more, said] of bad) assert.throws(() => readLines(JSON.stringify({ ...good, ...more })), said);
  const longest = { item: "x".repeat(1000), note: null, why: "x".repeat(8000), position: null };
  const { note, of } = readLines(JSON.stringify({ ...good, ...longest })).items[longest.item];
  assert.deepEqual([note, of.why.length, of.position], ["", 8000, null]);
});

test("a position tells its reviews, as long as the run wrote the same there", () => {
  const run = made();
  const own = load();
  change(own, keyOf(run, "token", AT), { verdict: "agree", of: placeOf(run, "token", AT, PAGE) });
  keep(own);
  assert.deepEqual(
    reviewsAt(made(), 1).map(({ verdict }) => verdict),
    ["agree"],
  );
  assert.deepEqual(
    flagsAt(made(), 1).map(({ kind, words }) => [kind, words]),
    [["review", "Your review: agree."]],
  );
  assert.deepEqual(reviewsAt(made(), 0), []);
  assert.deepEqual(reviewsAt(made({ seed: 7 }), 1), [], "another run");
  const later = { round: 1, pos: 3, node: null };
  change(own, keyOf(run, "token", later), { star: true, of: placeOf(run, "token", later, PAGE) });
  keep(own);
  assert.equal(reviewsAt(made(), 3).length, 1);
  assert.deepEqual(reviewsAt(made({}, [20, 22]), 3), [], "asked for the same, and wrote another token");
  change(own, keyOf(run, "token", AT), { verdict: "" });
  keep(own);
  assert.deepEqual(reviewsAt(made(), 1), []);
});

test("of an imported review and one that is kept the later stays", () => {
  const of = (/** @type {string} */ note, /** @type {string} */ made) => ({ verdict: "", note, star: false, made });
  const own = { reviewer: "", items: { a: of("later", "2026-02"), b: of("earlier", "2026-01") } };
  const found = { reviewer: "us", items: { a: of("old", "2026-01"), b: of("new", "2026-02"), c: of("other", "") } };
  take(own, found);
  assert.deepEqual(
    Object.values(own.items).map(({ note }) => note),
    ["later", "new", "other"],
  );
  assert.equal(own.reviewer, "us");
});
