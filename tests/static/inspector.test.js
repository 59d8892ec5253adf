// The numbers and the stand-in sentences of the inspector.

import assert from "node:assert/strict";
import { test } from "node:test";
import { barRows, cutFrom, middleOf, stepOf } from "../../app/static/bars.js";
import { clear, cutOf } from "../../app/static/inspector/chance.js";
import { numbers } from "../../app/static/inspector/numbers.js";
import { neutral } from "../../app/static/inspector/sentence.js";
import { leftBy } from "../../app/static/inspector/siblings.js";
import { subject } from "../../app/static/inspector/subject.js";
import { createStore } from "../../app/static/store.js";
import { overlapN } from "../../app/static/thresholds.js";
import { recordedRun } from "./recorded.js";
import { round, trace } from "./runs.js";

/** What the inspector shows of a place in a run whose first rejected token is this node. */
function shown(node, place = { round: 0, node: 1 }, sampling = {}) {
  const store = createStore();
  const one = round({ drafted: 3, accepted: 1 });
  const made = { ...one, nodes: one.nodes.map((old, i) => (i === 1 ? { ...old, ...node } : old)) };
  const { events, ...lane } = trace("chain", [made]);
  const [head, ...rest] = events;
  store.load([{ ...lane, events: [{ ...head, sampling: { ...head.sampling, ...sampling } }, ...rest] }]);
  store.setCursor({ run: "chain", ...place });
  return subject(store);
}
const facts = (it, n = 5) => Object.fromEntries(numbers(it, n, null).map(([name, value]) => [name, value]));

test("only what was recorded is told, with its unit", () => {
  assert.deepEqual(facts(shown({ rank: undefined })), {});
  const told = facts(shown({ p: 0.25, q: 0.5, h_draft: 1.5, h_target: 2, margin: 0.125, judge: 0.75 }));
  assert.deepEqual(told, {
    p: "0.25",
    q: "0.50",
    "H draft": "1.50 nats",
    "H target": "2.00 nats",
    margin: "0.13 nats",
    importance: "0.75",
    "draft rank": "2 of 3",
  });
});

test("a block's weight is told, and the residual with the weight that is left before the token", () => {
  const it = shown({ reason: { weight: 0.25 } });
  const told = (weight) => Object.fromEntries(numbers(it, 5, weight).map(([name, value]) => [name, value]));
  assert.deepEqual([told(1).weight, told(1).residual], ["0.25", "max(p−q, 0), hatched"]);
  const words = (node) => numbers(shown(node), 5, 1).find(([name]) => name === "P(accept)")?.[2];
  assert.match(words({ reason: { weight: 0.25 }, accept_prob: 0.5 }), /the block passes/);
  assert.match(words({ accept_prob: 0.5 }), /the rule accepts/);
  assert.equal(told(0.5).residual, "max(0.50 p−q, 0), hatched");
  assert.equal(told(null).residual, undefined);
});

test("the overlap is told in tokens of the n that the rule takes it at", () => {
  const top_draft = [
    [1, 0.5],
    [2, 0.3],
    [3, 0.1],
  ];
  const node = { overlap: 0.5, top_draft, top_target: top_draft };
  assert.equal(facts(shown(node), 2)["overlap@2"], "1 of 2");
  const it = shown({ ...node, top_draft: top_draft.slice(0, 2), overlap: 1 });
  assert.equal(facts(it, overlapN(it.run, it.node))["overlap@2"], "2 of 2");
});

test("a token that a veto barred is named; the number drawn only where something is drawn", () => {
  const fired = { reason: { fired: true, remove: 90 }, u: 0.5 };
  assert.deepEqual([facts(shown(fired)).barred, facts(shown(fired)).u], ["#90", undefined]);
  assert.equal(facts(shown({ ...fired, reason: { fired: false, remove: 90 } })).barred, undefined);
  assert.equal(facts(shown(fired, undefined, { temperature: 1 })).u, "0.50");
});

test("where the engine gave no sentence, one says what kind of token it is", () => {
  const say = (place, node = {}) => {
    const it = shown(node, place);
    return neutral(it, it.token && it.token.node == null ? it.token.origin : it.node?.state);
  };
  assert.match(say({ pos: 1 }), /^Put in place of the rejected draft token/);
  assert.match(say({ round: 0, node: 2 }), /^Never tested/);
  const open = { ...shown({}), node: { token: 5, p: 0.25, q: 0.5 } };
  assert.equal(neutral(open, "drafted"), "Drafted with probability 0.50; the target has not seen it yet.");
  assert.match(
    neutral({ ...open, token: { origin: "target" } }, "target"),
    /^Plain decoding: one target call, one token/,
  );
  assert.equal(
    neutral({ ...shown({}), node: { token: 5, p: 0.25, q: 0.5 } }, "verified"),
    "The target gives it 0.25, the draft 0.50; the rule has not decided yet.",
  );
  assert.match(say({ round: 0, node: 1 }, { p: 0.25, q: 0.5 }), /^rejected: draft 0\.50, target 0\.25\.$/);
  assert.match(
    say({ round: 0, node: 1 }, { p: 0.25, q: 0.5, top_target: [[7, 0.9]] }),
    /The target's first choice is #7 \(0\.90\)\.$/,
  );
});

test("bars: both lists' first n, the named tokens always, in one order, the shared ones marked", () => {
  const draft = Array.from({ length: 12 }, (_, i) => [i, 0.3 / (i + 1)]);
  const target = [
    [2, 0.6],
    [30, 0.3],
    [31, 0.05],
  ];
  const candidate = { token: 40, q: 0.001, p: 0.0005 };
  const rows = barRows({ draft, target, candidate, n: 3, order: "target", keep: [40, undefined] });
  assert.equal(rows.length, 10);
  assert.deepEqual(
    rows.slice(0, 2).map(({ id, shared }) => [id, shared]),
    [
      [2, true],
      [30, false],
    ],
  );
  assert.deepEqual(rows[3], { id: 40, q: 0.001, p: 0.0005, shared: false });
  const many = barRows({ draft, target, candidate, n: 12, order: "draft", keep: [40] });
  assert.deepEqual([many.length, many.at(-1).id], [10, 40], "a named token stays, however improbable");
  const first = barRows({ draft, target, candidate: null, n: 3, order: "draft", keep: [] });
  assert.equal(first[0].id, 0);
  const level = [1, 2, 3].map((id) => [id, 0.2]);
  const apart = [3, 1].map((id) => [id, id / 10]);
  assert.deepEqual(
    barRows({ draft: apart, target: level, candidate: null, n: 3, order: "target", keep: [] }).map(({ id }) => id),
    [3, 1, 2],
    "equal ones in the order of the other list",
  );
  assert.deepEqual(
    barRows({ draft: null, target, candidate: null, n: 3, order: "draft", keep: [] }).map(({ id, q }) => [id, q]),
    [
      [2, null],
      [30, null],
      [31, null],
    ],
  );
});

test("a token that top-k or top-p cut keeps a row with its raw probability; without either nothing is cut", () => {
  const raw = [
    [1, 0.5],
    [2, 0.3],
    [3, 0.15],
    [4, 0.05],
  ];
  const sampled = [
    [1, 0.625],
    [2, 0.375],
  ];
  const cut = { draft: new Map(), target: cutFrom(sampled, raw, { top_k: 2, top_p: 1 }) };
  assert.deepEqual(
    [...cut.target],
    [
      [3, 0.15],
      [4, 0.05],
    ],
  );
  const rows = barRows({ draft: null, target: sampled, candidate: null, n: 5, order: "target", keep: [3], cut });
  assert.deepEqual(
    rows.map(({ id, p, cutP, cutQ }) => [id, p, cutP, cutQ]),
    [
      [1, 0.625, null, null],
      [2, 0.375, null, null],
      [3, null, 0.15, null],
      [4, null, 0.05, null],
    ],
  );
  assert.equal(cutFrom(sampled, raw, { top_k: 0, top_p: 0.8 }).size, 2);
  assert.equal(cutFrom(sampled, raw, { top_k: 0, top_p: 1 }).size, 0, "a probability that rounds to 0 is not cut");
  assert.equal(cutFrom(raw, raw, { top_k: 4 }).size, 0, "beyond the list nothing is known");
  assert.equal(cutFrom(null, raw, { top_k: 2 }).size, 0);
  const long = Array.from({ length: 12 }, (_, i) => [i + 10, 0.08]);
  const full = barRows({ draft: null, target: long, candidate: null, n: 10, order: "target", keep: [], cut });
  assert.deepEqual([full.length, full.filter(({ cutP }) => cutP !== null).length], [10, 2]);
});

test("what rejected siblings left of both distributions is what the rule compared, in recorded runs too", () => {
  const node = (token, more) => ({ token, parent: -1, depth: 1, ...more });
  const lists = {
    law_target: [
      [1, 0.5],
      [2, 0.3],
      [3, 0.2],
    ],
    law_draft: [
      [1, 0.6],
      [2, 0.4],
    ],
  };
  const nodes = [node(1, { ...lists, p: 0.5, q: 0.6 }), node(2, { ...lists, p: 0.3, q: 0.4, reason: { p: 0, q: 1 } })];
  assert.equal(leftBy({ nodes }, 0), null, "none came before");
  const cousin = { ...nodes[0], parent: 0, depth: 2 };
  assert.equal(leftBy({ nodes: [cousin, nodes[1]] }, 1), null, "a child of another node is no sibling");
  const own = [nodes[0], { ...nodes[1], reason: { p: 0.3, q: 0.4 } }];
  assert.equal(leftBy({ nodes: own }, 1), null, "what the rule compared is what stands at the node");
  assert.deepEqual(leftBy({ nodes }, 1), {
    p: 0,
    q: 1,
    lists: {
      draft: [[2, 1]],
      target: [
        [3, 1],
        [1, 0],
        [2, 0],
      ],
    },
  });
  const other = [nodes[0], { ...nodes[1], reason: { p: 0.3, q: 0.9 } }];
  assert.equal(leftBy({ nodes: other }, 1).lists, null, "another way than this one: nothing is shown for it");
  const half = [nodes[0], { ...nodes[1], reason: { p: 0.3, q: 1 } }];
  assert.equal(leftBy({ nodes: half }, 1).lists, null, "the draft's share alone fits");
  const raw = nodes.map(({ law_target: top_target, law_draft: top_draft, ...one }) => ({
    ...one,
    top_target,
    top_draft,
  }));
  assert.deepEqual(leftBy({ nodes: raw }, 1), leftBy({ nodes }, 1), "at temperature 1 there are the raw lists alone");
  const run = recordedRun("fourth_try-0-stand");
  const found = run.rounds.flatMap((one) => one.nodes.map((_, i) => leftBy(one, i))).filter(Boolean);
  assert.ok(found.length > 100 && found.every(({ lists }) => lists));
});

test("p has to reach u times q where the rule tests their ratio, and nowhere else", () => {
  const node = { p: 0.25, q: 0.5, u: 0.3, accept_prob: 0.5 };
  assert.deepEqual(cutOf(node), { at: 0.15, name: "u times q" });
  assert.equal(cutOf({ ...node, reason: { p: 0.1, q: 0.2 } })?.at, 0.3 * 0.2, "as the rule compared them");
  for (const other of ["p", "q", "u", "accept_prob"]) assert.equal(cutOf({ ...node, [other]: null }), null, other);
  assert.equal(cutOf({ ...node, accept_prob: 1 }), null, "another rule decided");
  assert.equal(cutOf({ ...node, reason: { weight: 0.5 } }), null, "a block's weight is no ratio");
  assert.equal(cutOf(null), null);
});

test("what is emitted beside a draft token is what stands at its place, at the end of the accepted path alone", () => {
  const made = round({ drafted: 3, accepted: 1 });
  const sibling = { token: 70, parent: 0, depth: 2, state: "rejected", rank: 4 };
  const astray = { token: 71, parent: 2, depth: 4, state: "discarded", rank: 5 };
  const store = createStore();
  store.load([
    trace("tree", [{ ...made, drafted: 5, nodes: [...made.nodes, sibling, astray] }]),
    trace("lost", [round({ drafted: 1, accepted: 0 })]),
  ]);
  assert.equal(subject(createStore()), null, "there is nothing yet");
  const at = (/** @type {number} */ node, key = "tree") => {
    store.setCursor({ run: key, round: 0, node });
    const { emitted, own } = subject(store);
    return [emitted?.token, own];
  };
  assert.deepEqual(
    [at(0), at(1), at(3)],
    [
      [10, true],
      [11, false],
      [11, false],
    ],
  );
  assert.deepEqual(
    [at(2), at(4)],
    [
      [undefined, false],
      [undefined, false],
    ],
    "behind it another text would stand",
  );
  assert.deepEqual(at(0, "lost"), [10, false]);
});

test("the words of the strip stand beside the draw", () => {
  assert.equal(clear(0, 100, null), 50, "greedy: nothing is drawn");
  assert.equal(clear(0, 100, 10), 50, "far from the word");
  for (const arrow of [40, 50, 60]) {
    const word = clear(0, 100, arrow);
    assert.ok(Math.abs(word - arrow) >= 20 && word >= 20 && word <= 80, `${word} beside ${arrow}`);
  }
});

test("where a token looked in its source is told by words", () => {
  const store = createStore();
  const { events, ...lane } = trace("chain", [round({ drafted: 1, accepted: 1 })]);
  const [start, first, ...rest] = events;
  const pieces = { prompt_ids: [1, 2, 0], prompt_pieces: ["A", " cow", "<pad>"], source: 2 };
  const looked = first.tokens.map((token) => ({ ...token, looks: [[1, 0.5]] }));
  store.load([{ ...lane, events: [{ ...start, ...pieces }, { ...first, tokens: looked }, ...rest] }]);
  store.setCursor({ run: "chain", pos: 0 });
  assert.equal(facts(subject(store))["looked at"], "cow 50 %");
});

test("few rows stand farther apart, so that little stays empty below them", () => {
  const rows = (/** @type {number} */ n) => new Array(n).fill(null);
  const most = 22 + 9 * 19 + 24; // of eight rows and the other tokens
  assert.equal(stepOf(rows(8), most), 19);
  assert.ok(stepOf(rows(6), most) > 23 && stepOf(rows(6), most) * 7 <= 9 * 19 + 22);
  assert.equal(stepOf(rows(4), 22 + 11 * 19 + 24) * 5, 11 * 19, "four fill the height of ten");
  assert.equal(stepOf(rows(2), most), 42, "but not too far");
  assert.equal(stepOf(rows(10), most), 19, "and never closer than a row is high");
});

test("a token's name leaves the signs beside it their room", () => {
  for (const width of [280, 366, 480, 900]) {
    const { middle, letters } = middleOf(width);
    assert.ok(letters * 7.2 + 2 * 14 <= middle && letters >= 10, `${width} pixels`);
  }
});
