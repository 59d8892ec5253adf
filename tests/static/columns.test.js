import assert from "node:assert/strict";
import { test } from "node:test";
import {
  columns,
  lockedRun,
  nameOf,
  nodeSelection,
  rejectedNode,
  resolve,
  selectedRun,
  visibleColumns,
} from "../../app/static/columns.js";
import { createStore } from "../../app/static/store.js";
import { round, trace } from "./runs.js";

const loaded = (...lanes) => {
  const store = createStore();
  store.load(lanes);
  return store;
};

test("a correction's column has the rejected candidate as its ghost", () => {
  const store = loaded(trace("chain", [round({ drafted: 3, accepted: 1 }), round({ drafted: 1, accepted: 1 })]));
  const list = columns(store.runs.get("chain"));
  assert.deepEqual(
    list.map(({ pos, round: at, index, ghost }) => ({ pos, at, index, ghost })),
    [
      { pos: 0, at: 0, index: 0, ghost: false },
      { pos: 1, at: 0, index: 1, ghost: true },
      { pos: 2, at: 1, index: 0, ghost: false },
      { pos: 3, at: 1, index: null, ghost: false },
    ],
  );
});

test("a trace may say of a token that it has no draft token, or say nothing", () => {
  const { events, ...lane } = trace("chain", [round({ drafted: 3, accepted: 1 })]);
  const [first, one, ...rest] = events;
  const tokens = one.tokens.map((token) => ({ ...token, node: token.node ?? null }));
  const store = loaded({ ...lane, events: [first, { ...one, tokens }, ...rest] });
  assert.deepEqual(
    columns(store.runs.get("chain")).map(({ index, ghost }) => [index, ghost]),
    [
      [0, false],
      [1, true],
    ],
  );
});

test("columns grow with the run", () => {
  const whole = trace("chain", [round({ drafted: 1, accepted: 0 }), round({ drafted: 1, accepted: 1 })]);
  const store = createStore();
  store.begin([whole]);
  store.push("chain", whole.events.slice(0, 2));
  const run = store.runs.get("chain");
  assert.equal(columns(run).length, 1);
  store.push("chain", whole.events.slice(2));
  assert.equal(columns(run).length, 3);
});

test("of several rejected siblings the leading one ended the round; children of others do not count", () => {
  const nodes = [
    { parent: -1, depth: 1, state: "rejected", rank: 2 },
    { parent: 0, depth: 2, state: "discarded", rank: 3 },
    { parent: -1, depth: 1, state: "rejected", rank: 1 },
    { parent: 2, depth: 2, state: "rejected" },
  ];
  assert.equal(rejectedNode({ path: [], nodes }), 2);
  assert.equal(rejectedNode({ path: [2], nodes }), 3);
  assert.equal(rejectedNode({ path: [1], nodes }), null);
});

test("time hides the columns of later rounds", () => {
  const store = loaded(
    trace(
      "chain",
      [2, 1, 0].map((n) => round({ drafted: 2, accepted: n })),
    ),
  );
  const run = store.runs.get("chain");
  assert.equal(visibleColumns(store, run).length, 6);
  store.setTime({ at: 2 });
  assert.equal(visibleColumns(store, run).length, 5);
  store.setTime({ at: 0 });
  assert.equal(visibleColumns(store, run).length, 0);
});

test("nothing selected: a finished run shows its first rejection, one under way its last token", () => {
  const whole = trace("chain", [round({ drafted: 1, accepted: 1 }), round({ drafted: 2, accepted: 1 })]);
  const store = loaded(whole);
  const { roundIndex, index, pos, token } = resolve(store);
  assert.deepEqual({ roundIndex, index, pos, token }, { roundIndex: 1, index: 1, pos: 3, token: null });
  store.setTime({ at: 1 });
  assert.equal(resolve(store).pos, 1);
  store.begin([whole]);
  store.push("chain", whole.events.slice(0, 3));
  assert.deepEqual([resolve(store).pos, resolve(store).token?.origin], [3, "correction"]);
});

test("nothing selected: a finished run that rejected nothing shows its first token", () => {
  const store = loaded(
    trace(
      "chain",
      [1, 1].map(() => round({ drafted: 1, accepted: 1 })),
    ),
  );
  assert.equal(resolve(store).pos, 0);
  assert.equal(resolve(loaded({ ...trace("chain", []), events: trace("chain", []).events.slice(0, 1) })).round, null);
});

test("a node that was never emitted resolves to its place below the round's start", () => {
  const store = loaded(trace("chain", [round({ drafted: 1, accepted: 1 }), round({ drafted: 3, accepted: 0 })]));
  const found = resolve(store, { run: "chain", round: 1, node: 2 });
  assert.equal(found.pos, 4);
  assert.equal(found.token, null);
  assert.equal(found.node.depth, 3);
  assert.deepEqual(nodeSelection(found.run, 1, 2), { run: "chain", round: 1, pos: 4, node: 2 });
});

test("a hovered lane is the selected one, but not the locked one", () => {
  const store = loaded(trace("plain", [round()]), trace("chain", [round({ drafted: 1, accepted: 1 })]));
  assert.equal(selectedRun(store).key, "chain");
  store.setHover({ run: "plain", round: 0 });
  assert.equal(selectedRun(store).key, "plain");
  assert.equal(lockedRun(store).key, "chain");
  store.setCursor({ run: "plain", round: 0 });
  assert.equal(lockedRun(store).key, "plain");
});

test("lanes of one title are told apart by the knobs that differ", () => {
  const named = (key, knobs) => {
    const lane = trace(key, [round()], { knobs });
    return { ...lane, card: { ...lane.card, title: "Chain" } };
  };
  const store = loaded(named("a", { gamma: 4, hold: true }), named("b", { gamma: 7, hold: true }));
  assert.equal(nameOf(store, store.runs.get("a")), "Chain (gamma 4)");
  assert.equal(nameOf(store, store.runs.get("b")), "Chain (gamma 7)");
  const alone = loaded(named("a", { gamma: 4 }));
  assert.equal(nameOf(alone, alone.runs.get("a")), "Chain");
});

test("lanes of two prompts, targets, samplings or seeds name what differs, and only that", () => {
  const of = (...heads) => {
    const store = loaded(...heads.map((more, i) => trace(`m${i}`, [round()], more)));
    return [...store.runs.values()].map((run) => nameOf(store, run));
  };
  const text = (n) => `Question: A farmer has ${n} apples. She sells all of them and buys some pears.`;
  assert.deepEqual(of({ prompt: text(48) }, { prompt: text(48) }), ["m0", "m1"]);
  assert.deepEqual(of({ prompt: text(48) }, { prompt: text(66) }, { prompt: text(48) }), [
    "m0 (“… 48 apples. She sells all of …”)",
    "m1 (“… 66 apples. She sells all of …”)",
    "m2 (“… 48 apples. She sells all of …”)",
  ]);
  assert.deepEqual(of({ prompt: "One" }, { prompt: "One more" }), ["m0 (“One”)", "m1 (“One more”)"]);
  assert.deepEqual(of({ seed: 1 }, { seed: 2 }), ["m0", "m1"], "greedy: a seed draws nothing");
  const hot = { sampling: { temperature: 0.8, top_p: 0.9 } };
  assert.deepEqual(of({ ...hot, seed: 1 }, { ...hot, seed: 2 }), ["m0 (seed 1)", "m1 (seed 2)"]);
  assert.deepEqual(of({}, hot), ["m0 (greedy)", "m1 (temperature 0.8, top-p 0.9)"]);
  const warm = { sampling: { temperature: 1, top_p: 1, top_k: 0 } };
  assert.deepEqual(of({}, warm), ["m0 (greedy)", "m1 (temperature 1)"]);
  const target = (id) => ({ models: { target: { id } } });
  assert.deepEqual(of(target("a/big"), target("a/small")), ["m0 (target big)", "m1 (target small)"]);
});

test("lanes of several files name these where nothing else tells them apart", () => {
  const store = createStore();
  const lane = (key, file, more = {}) => ({ ...trace(key, [round()], more), file });
  const names = (...lanes) => {
    store.load(lanes);
    return [...store.runs.values()].map((run) => nameOf(store, run));
  };
  assert.deepEqual(names(lane("a", "x.jsonl"), lane("b", "y.jsonl")), ["a (x.jsonl)", "b (y.jsonl)"]);
  assert.deepEqual(names(lane("a", "x.jsonl"), lane("b", "x.jsonl")), ["a", "b"]);
  const [one, other] = names(lane("a", "x.jsonl", { prompt: "Once" }), lane("b", "y.jsonl", { prompt: "Twice" }));
  assert.deepEqual([one, other], ["a (“Once”)", "b (“Twice”)"]);
});

/** A lane of one method. */
const named = (key, more) => {
  const lane = trace(key, [round()], more);
  return { ...lane, card: { ...lane.card, title: "Chain" } };
};

/** The names of lanes of one method. */
const names = (...given) => {
  const store = loaded(...given.map((more, i) => named(`lane${i}`, more)));
  return [...store.runs.values()].map((run) => nameOf(store, run));
};

test("no two lanes share a name: more settings where two do not do, numbers where none does", () => {
  const knobs = (a, b, c) => ({ knobs: { a, b, c, same: 1 } });
  assert.deepEqual(names(knobs(1, 1, 1), knobs(2, 2, 1), knobs(1, 1, 2)), [
    "Chain (a 1, b 1, c 1)",
    "Chain (a 2, b 2, c 1)",
    "Chain (a 1, b 1, c 2)",
  ]);
  const hot = { sampling: { temperature: 0.8 } };
  assert.deepEqual(names({ ...hot, seed: 1 }, { ...hot, seed: 2 }), ["Chain (seed 1)", "Chain (seed 2)"]);
  assert.deepEqual(names({}, {}), ["Chain (1)", "Chain (2)"]);
  assert.deepEqual(names({ ...hot, seed: 1 }, { ...hot, seed: 1 }, { ...hot, seed: 2 }), [
    "Chain (seed 1, 1)",
    "Chain (seed 1, 2)",
    "Chain (seed 2)",
  ]);
});

test("a lane that goes on from another alone says so: the others keep their names", () => {
  const own = { prompt: "Once", prompt_ids: [1], prompt_pieces: ["Once"], max_new_tokens: 64 };
  /** @param {string[]} given */
  const after = (...given) => ({
    prompt: `Once${given.join("")}`,
    prompt_ids: [1, ...given.map((_, i) => 10 + i)],
    prompt_pieces: ["Once", ...given],
    max_new_tokens: 64 - given.length,
    extras: { forced: given.length },
  });
  assert.deepEqual(names(own, after(" Then")), ["Chain", "Chain (given “Then”)"]);
  assert.deepEqual(names(own, after(" a", " Then"), after(" Then")), [
    "Chain",
    "Chain (given 2 tokens to “Then”)",
    "Chain (given “Then”)",
  ]);
});
