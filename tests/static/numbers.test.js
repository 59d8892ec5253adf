import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, fmt, importance, percent, perSecond, prob } from "../../app/static/draw.js";
import {
  acceptedBeyond,
  acceptedIn,
  binned,
  byPosition,
  calibration,
  depthsBeyond,
  depthsOf,
  incomparable,
  lengthCurve,
  plainOf,
  rejects,
  siblings,
  sizeOf,
  summary,
  tcrOf,
  tested,
} from "../../app/static/numbers.js";
import { createStore } from "../../app/static/store.js";
import { round, trace } from "./runs.js";

const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

test("acceptance by position: what was drafted, what was tested, what held", () => {
  const rounds = [
    round({ drafted: 3, accepted: 3 }),
    round({ drafted: 3, accepted: 1 }),
    round({ drafted: 3, accepted: 0 }),
    round({ drafted: 1, accepted: 1 }), // a short draft: nothing was tested behind it
    round(),
  ];
  const found = byPosition(rounds);
  assert.equal(found.drafting, 4);
  assert.deepEqual(found.accepted, [3, 1, 1]);
  assert.deepEqual(found.tested, [4, 2, 1]);
  assert.deepEqual(found.marginal, [3 / 4, 1 / 4, 1 / 4]);
  assert.deepEqual(found.conditional, [3 / 4, 1 / 2, 1]);
});

test("an axis of positions ends where no lane has a twentieth of its rounds left; the numbers behind are told", () => {
  const shallow = new Array(10).fill(0).map((_, i) => round({ drafted: 5, accepted: i % 6 }));
  const solid = new Array(10).fill(0).map((_, i) => round({ drafted: 12, accepted: i < 5 ? 12 : 0 }));
  const deep = new Array(50).fill(0).map((_, i) => round({ drafted: 30, accepted: i === 0 ? 20 : i === 1 ? 28 : 0 }));
  assert.deepEqual(depthsOf([shallow, solid, deep]), { x: 12, deepest: 29 });
  assert.deepEqual(depthsOf([shallow, deep]), { x: 8, deepest: 29 }, "eight positions are shown always");
  assert.deepEqual(depthsOf([shallow]), { x: 5, deepest: 5 });
  assert.deepEqual(depthsOf([deep]), { x: 29, deepest: 29 }, "a lane with nothing else to show shows that");
  assert.deepEqual(depthsOf([[round()]]), { x: 1, deepest: 1 });
  const first = new Array(30).fill(0).map((_, i) => round({ drafted: 12, accepted: i ? 1 : 11 }));
  assert.deepEqual(depthsOf([first]), { x: 8, deepest: 12 }, "one that accepts little but the first token");
  assert.deepEqual(acceptedIn([shallow, solid, deep]), { x: 12, deepest: 28 });
  assert.deepEqual(depthsBeyond(deep, 12), {
    to: 29,
    of: "of 50 rounds with a draft",
    said: ["13 to 20 accepted in 2", "21 to 28 accepted in 1", "29 accepted in 0"],
  });
  assert.equal(depthsBeyond(solid, 12), null);
  assert.deepEqual(acceptedBeyond(deep, 12), {
    to: 28,
    of: "of 50 rounds",
    said: ["20 accepted in 1", "28 accepted in 1"],
  });
  assert.equal(acceptedBeyond(shallow, 12), null);
});

test("a draft that ends with its last candidate accepted was not rejected", () => {
  assert.equal(rejects(round({ drafted: 2, accepted: 2 })), false);
  assert.equal(rejects(round({ drafted: 2, accepted: 1 })), true);
  assert.equal(rejects({ ...round({ drafted: 2, accepted: 1 }), nodes: [] }), true);
  assert.equal(rejects({ ...round({ drafted: 2, accepted: 2 }), nodes: [] }), false);
});

test("a summary's step is the draft's time a level, its call the target's time a round", () => {
  const rounds = [
    round({ drafted: 2, accepted: 1, draft_ms: 8, verify_ms: 20, other_ms: 2 }),
    round({ drafted: 2, accepted: 2, draft_ms: 4, verify_ms: 20, other_ms: 6 }),
  ];
  const { step, call, costRatio, tau, perSecond, histogram, fed } = summary(rounds);
  assert.deepEqual({ step, call, tau, fed }, { step: 3, call: 20, tau: 2.5, fed: 6 });
  close(costRatio, 0.15);
  close(perSecond, 5000 / 60);
  assert.deepEqual(histogram, [0, 1, 1]);
  assert.equal(summary([round({ verify_ms: 10 }), round({ drafted: 1, accepted: 1, verify_ms: 20 })]).call, 15);
  assert.equal(summary([round()]).step, null);
});

test("pairs leave out what was never tested; bins give shares and intervals", () => {
  const rounds = [round({ drafted: 3, accepted: 1 })];
  const pairs = tested(rounds, (node) => node.depth / 10);
  assert.deepEqual(pairs, [
    [0.1, true],
    [0.2, false],
  ]);
  const bins = binned(
    [
      [0.05, true],
      [0.07, false],
      [0.25, true],
    ],
    0.1,
  );
  assert.deepEqual(
    bins.map(({ low, high, n, kept, share }) => [low, high, n, kept, share]),
    [
      [0, 0.1, 2, 1, 0.5],
      [0.1, 0.2, 0, 0, null],
      [0.2, 3 * 0.1, 1, 1, 1],
    ],
  );
  assert.ok(bins[0].interval[0] < 0.5 && bins[0].interval[1] > 0.5);
});

test("draft probabilities as forecasts: tested tokens in tenths, and how far the two are apart", () => {
  const node = (q, state) => ({ q, state, depth: 1, rank: 1 });
  const rounds = [
    { ...round({ drafted: 6 }), nodes: [node(0.91, "accepted"), node(1, "relaxed"), node(0.25, "rejected")] },
    { ...round({ drafted: 6 }), nodes: [node(0.98, "vetoed"), node(0.4, "discarded"), node(null, "accepted")] },
  ];
  const { n, said, share, error, bins } = calibration(rounds);
  assert.equal(n, 4);
  assert.deepEqual(
    bins.map((bin) => bin.n),
    [0, 0, 1, 0, 0, 0, 0, 0, 0, 3],
  );
  close(bins[9].said, 2.89 / 3);
  close(bins[9].share, 2 / 3);
  assert.deepEqual([bins[2].share, bins[2].said, bins[0].share], [0, 0.25, null]);
  close(said, 3.14 / 4);
  close(share, 0.5);
  close(error, (2.89 - 2 + 0.25) / 4);
  assert.deepEqual([calibration([]).n, calibration([]).error], [0, null]);
});

test("the rank of the last accepted candidate: its length in a chain, its node's rank in a tree", () => {
  assert.equal(tcrOf(round({ drafted: 4, accepted: 3 })), 3);
  assert.equal(tcrOf({ ...round(), tcr: 7, accepted: 2 }), 7);
  const tree = { accepted: 1, levels: 1, drafted: 3, path: [2], nodes: [{ rank: 1 }, { rank: 2 }, { rank: 3 }] };
  assert.equal(tcrOf(tree), 3);
  assert.equal(tcrOf({ ...tree, accepted: 0, path: [] }), 0);
  assert.equal(sizeOf(round({ drafted: 4 })), 5, "the draft tokens and the root");
  assert.equal(sizeOf(round({ drafted: 4, extras: { n_verify: 8 } })), 8, "what its shape says was verified");
});

test("two speeds may be compared only when target, machine, prompt, sampling and process are the same", () => {
  const store = createStore();
  const same = { extras: { process: "p" } };
  const lane = (key, more, drafted = 1) => trace(key, [round({ drafted, accepted: 0 })], { ...same, ...more });
  store.load([
    lane("plain", {}, 0),
    lane("chain", {}),
    lane("device", { device: "cuda" }),
    lane("prompt", { prompt_ids: [2] }),
    lane("sampling", { sampling: { temperature: 1 } }),
    lane("target", { models: { target: { id: "other" } } }),
    lane("limit", { max_new_tokens: 1 }),
    lane("stop", { stop: ["."] }),
    lane("record", { record: "light" }),
    lane("process", { extras: { process: "q" } }),
    lane("unknown", { extras: {} }),
    lane("lossy", { guarantee: "lossy" }, 0),
  ]);
  const plain = store.runs.get("plain");
  const why = (key) => incomparable(store.runs.get(key), plain);
  assert.equal(why("chain"), "");
  assert.match(why("device"), /device/);
  assert.match(why("prompt"), /prompt/);
  assert.match(why("sampling"), /sampling/);
  assert.match(why("target"), /target/);
  assert.match(why("limit"), /limit/);
  assert.match(why("stop"), /stop/);
  assert.match(why("record"), /record/);
  assert.match(why("process"), /process/);
  assert.match(why("unknown"), /process/);
  const nameless = store.runs.get("unknown");
  assert.match(incomparable(nameless, { ...plain, head: { ...plain.head, extras: {} } }), /process/);
  assert.match(incomparable(plain, store.runs.get("chain")), /draft/);
  assert.match(incomparable(store.runs.get("chain"), store.runs.get("lossy")), /distribution/);
  assert.equal(plainOf(store, store.runs.get("chain")), plain);
  assert.equal(plainOf(store, store.runs.get("device")), null);
  assert.equal(plainOf(store, plain), null, "not itself");
  store.setTime({ at: 0 });
  assert.equal(plainOf(store, store.runs.get("chain")), null, "nothing of it is shown");
});

test("runs of one method are pooled where knobs and trajectory are the same, the chosen one first", () => {
  const store = createStore();
  const lane = (key, method, more = {}) => trace(key, [round()], { method, ...more });
  store.load([
    lane("a", "sd", { knobs: { gamma: 4 } }),
    lane("b", "sd", { knobs: { gamma: 4 } }),
    lane("c", "sd", { knobs: { gamma: 5 } }),
    lane("d", "pld", { knobs: { gamma: 4 } }),
    lane("e", "sd", { knobs: { gamma: 4 }, extras: { trajectory: 1 } }),
  ]);
  const pooled = (key) => siblings(store, store.runs.get(key)).map((run) => run.key);
  assert.deepEqual([pooled("a"), pooled("b"), pooled("c"), pooled("e")], [["a", "b"], ["b", "a"], ["c"], ["e"]]);
});

test("a free draft of which all is accepted gains one call a level", () => {
  const rounds = [round({ drafted: 2, accepted: 2, verify_ms: 10 })];
  const curve = lengthCurve(rounds);
  assert.deepEqual(
    curve.map(({ k, calls, speed }) => [k, calls, speed]),
    [
      [0, 1, 1],
      [1, 2, 2],
      [2, 3, 3],
    ],
  );
  const dear = lengthCurve([round({ drafted: 2, accepted: 2, verify_ms: 10, draft_ms: 20 })]);
  assert.deepEqual(
    dear.map(({ speed }) => speed),
    [1, 1, 1],
  );
  const block = round({ drafted: 2, accepted: 2, verify_ms: 10, draft_ms: 20, extras: { passes: 1 } });
  assert.equal(summary([block]).costRatio, 2);
  const unkept = round({ drafted: 2, accepted: 2, verify_ms: 10, draft_ms: 20, extras: { made: 4 } });
  const unverified = round({ drafted: 2, accepted: 2, verify_ms: 10, draft_ms: 20, extras: { levels: 4 } });
  for (const one of [unkept, unverified]) assert.equal(summary([one]).costRatio, 0.5, "all that was written counts");
  assert.deepEqual(
    lengthCurve([block]).map(({ speed }) => speed),
    [1, 2 / 3, 1],
    "one pass writes one level or both",
  );
  const some = lengthCurve([block, round({ verify_ms: 10 })]);
  assert.equal(some[2].speed, 1, "also beside a round without a draft");
  assert.deepEqual(lengthCurve([round({ verify_ms: 10 })]), [{ k: 0, calls: 1, speed: null }], "no step was measured");
  assert.deepEqual(lengthCurve([round({ drafted: 1, accepted: 1 })])[1], { k: 1, calls: 2, speed: null }, "no time");
});

test("predicted speeds are in plain calls where there is a lane without a draft", () => {
  const plain = summary([round({ verify_ms: 8, other_ms: 2 })]);
  const curve = lengthCurve([round({ drafted: 2, accepted: 2, draft_ms: 4, verify_ms: 12, other_ms: 3 })], plain);
  close(curve[0].speed, 10 / (8 + 3));
  close(curve[1].speed, (2 * 10) / (8 + 4 / 2 + 2 + 3));
  close(curve[2].speed, (3 * 10) / (12 + 4 + 3));
});

test("numbers are written with the digits that they have, and what is unknown as a dash", () => {
  const forms = { fmt, prob, percent, importance, perSecond };
  for (const [kind, ...cases] of [
    ["fmt", [0, "0"], [Infinity, "∞"], [-Infinity, "−∞"], [0.0004, "<0.001"], [-1.25, "−1.25"], [1234.6, "1235"]],
    ["prob", [0, "0"], [1, "1"], [0.0004, "<0.001"], [0.004, "0.004"], [0.12, "0.12"], [0.996, "0.996"]],
    ["prob", [0.9996, ">0.999"]],
    ["importance", [0.31, "0.31"], [0.017, "0.017"], [0.996, "0.996"], [0.9999, ">0.999"]],
    ["perSecond", [214.4, "214"], [21.44, "21.4"]],
  ])
    for (const [value, told] of cases) assert.equal(forms[kind](value), told, `${kind} of ${value}`);
  for (const [kind, form] of Object.entries(forms))
    for (const none of [null, undefined, NaN]) assert.equal(form(none), "–", `${kind} of ${none}`);
  assert.deepEqual([cut("abcdef", 6), cut("abcdefg", 6), cut("abcdef", 1)], ["abcdef", "abcde…", "abc…"]);
});
