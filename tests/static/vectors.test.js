// What the page computes beside the engine gives the engine's numbers (tests/vectors).

import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOf } from "../../app/static/columns.js";
import { apart, marks, visible } from "../../app/static/dom.js";
import { nats, perCall, percent, times } from "../../app/static/draw.js";
import { atThreshold } from "../../app/static/judge/judgement.js";
import { byPosition, calibration, incomparable, summary, tcrOf, wilson } from "../../app/static/numbers.js";
import { agreement } from "../../app/static/review/kappa.js";
import { wordsIn } from "../../app/static/run/intro.js";
import { divergenceOf, statsOf } from "../../app/static/run.js";
import { csv } from "../../app/static/save.js";
import { createStore } from "../../app/static/store.js";
import { alike, recordedRun, vectorsOf } from "./recorded.js";
import { round, trace } from "./runs.js";

/** @param {any} found @param {any} wanted @param {string} what */
function same(found, wanted, what) {
  if (Array.isArray(wanted)) {
    assert.equal(found.length, wanted.length, what);
    wanted.forEach((one, i) => same(found[i], one, `${what}[${i}]`));
  } else assert.ok(alike(found, wanted), `${what}: ${found}, the engine has ${wanted}`);
}

test("statistics of the visible rounds are the engine's", () => {
  for (const { run: name, rounds, numbers, by_depth, calibration: forecasts, tcr } of vectorsOf("numbers").cases) {
    const run = recordedRun(name);
    const shown = run.rounds.slice(0, rounds);
    const found = summary(shown);
    const what = `${name}, ${rounds} rounds`;
    for (const key of ["tokens", "rounds", "drafted", "accepted", "tau"])
      same(found[key], numbers[key], `${what}: ${key}`);
    for (const key of ["draft", "verify", "other"]) same(found[key] / 1000, numbers[`${key}_s`], `${what}: ${key}`);
    same(found.costRatio, numbers.cost_ratio, `${what}: cost ratio`);
    same(found.perSecond, numbers.tokens_per_s, `${what}: tokens a second`);
    same(found.histogram, numbers.accepted_histogram, `${what}: histogram`);
    const depth = byPosition(shown);
    for (const key of ["accepted", "tested", "marginal", "conditional"])
      same(depth[key], by_depth[key], `${what}: ${key}`);
    const trusted = calibration(shown);
    for (const key of ["n", "said", "share", "error"]) same(trusted[key], forecasts[key], `${what}: forecasts, ${key}`);
    forecasts.bins.forEach((/** @type {any} */ bin, /** @type {number} */ at) => {
      for (const key of Object.keys(bin)) same(trusted.bins[at][key], bin[key], `${what}: forecasts, bin ${at}`);
    });
    same(shown.map(tcrOf), tcr, `${what}: TCR`);
    const sums = statsOf(run, rounds);
    same(sums.tau, numbers.tau, `${what}: tau of the sums`);
    same(sums.perSecond, numbers.tokens_per_s, `${what}: speed of the sums`);
  }
});

test("the same runs are fair baselines", () => {
  for (const { run, baseline, fair } of vectorsOf("comparable").cases)
    assert.equal(incomparable(recordedRun(run), recordedRun(baseline)) === "", fair, `${run} against ${baseline}`);
});

test("lanes part at the engine's position", () => {
  for (const { runs, pos } of vectorsOf("first_difference").cases)
    assert.equal(divergenceOf(recordedRun(runs[0]), recordedRun(runs[1])), pos, runs.join(" and "));
});

test("Wilson's interval is the engine's", () => {
  for (const { kept, n, low, high } of vectorsOf("intervals").cases)
    same(wilson(kept, n), [low, high], `${kept} of ${n}`);
});

test("a threshold does what the engine says", () => {
  const { scores, important, cases } = vectorsOf("judgement");
  const scored = scores.map((/** @type {number} */ score, /** @type {number} */ i) => ({
    score,
    important: important[i],
  }));
  for (const { threshold, recall, kept_unimportant, refused } of cases) {
    const found = atThreshold(scored, threshold);
    same(found.recall, recall, `recall at ${threshold}`);
    same(found.keptUnimportant, kept_unimportant, `others at ${threshold}`);
    same(1 - found.kept / found.n, refused, `rejected at ${threshold}`);
  }
});

test("words of a prompt are those that the server finds", () => {
  for (const { prompt, words } of vectorsOf("words").cases)
    assert.deepEqual(new Set(wordsIn(prompt)), new Set(words), prompt);
});

test("numbers of one kind read as the engine tells them", () => {
  const forms = { percent, times, per_call: perCall, nats };
  for (const { kind, value, told } of vectorsOf("forms").cases)
    assert.equal(forms[/** @type {keyof typeof forms} */ (kind)](value), told, `${kind} of ${value}`);
});

test("agreement of reviewers is scikit-learn's", () => {
  for (const { first, second, observed, kappa } of vectorsOf("kappa").cases) {
    const found = agreement(first, second);
    same([found.observed, found.kappa], [observed, kappa], `${first.length} items`);
  }
  assert.equal(agreement(["agree"], ["agree"]).kappa, null);
  assert.deepEqual(agreement([], []).observed, null);
  assert.throws(() => agreement(["agree"], []), /same items/);
});

test("pieces of all scripts are marked as the engine marks them", () => {
  for (const { piece, marked } of vectorsOf("pieces").cases) {
    assert.equal(marks(piece), marked);
    assert.equal(visible(piece), apart(marked));
  }
});

test("cells that a spreadsheet would run are saved as the engine exports them", () => {
  for (const { text, cell } of vectorsOf("cells").cases) {
    const quoted = /[\n\r]/.test(cell) ? `"${cell}"` : cell;
    assert.equal(csv(["text"], [[text]]), `text\r\n${quoted}\r\n`);
  }
});

test("lanes are called what the engine's tables call them", () => {
  for (const { heads, files, names } of vectorsOf("names").cases) {
    const store = createStore();
    store.load(
      heads.map((/** @type {any} */ head, /** @type {number} */ at) => {
        const lane = trace(`lane${at}`, [round()], head);
        return { ...lane, card: { ...lane.card, title: head.title }, file: files[at] };
      }),
    );
    const found = [...store.runs.values()].map((run) => nameOf(store, run));
    assert.deepEqual(found, names);
  }
});
