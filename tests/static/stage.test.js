// The score without a browser: scales, layout, and what its bands say of recorded runs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { stateOf } from "../../app/static/draw.js";
import { untested } from "../../app/static/inspector/chance.js";
import { autoWidth, cells, keepAnchor, stepWidth, tickStep } from "../../app/static/stage/axis.js";
import { agreement, bandOf, breadthOf, firstFrom, partsAt, referenceOf, sorted } from "../../app/static/stage/bands.js";
import { cardLines } from "../../app/static/stage/hovercard.js";
import { layoutBands, placeAt } from "../../app/static/stage/layout.js";
import { entryAt, lineAt, rankSaid } from "../../app/static/stage/positiontable.js";
import { contentOf, headOf } from "../../app/static/stage/scorecontent.js";
import { rangeOf } from "../../app/static/stage/scoreinput.js";
import { readStage, stagePairs, zoomIn, zoomOf } from "../../app/static/stage/stagelink.js";
import { columnsIn, dirtyFrom, rowsOf } from "../../app/static/stage/tiles.js";
import { createStore } from "../../app/static/store.js";
import { NOT_YET } from "../../app/static/thresholds.js";
import { vectorsOf } from "./recorded.js";
import { round, trace } from "./runs.js";
import { recordedStore } from "./storeofcase.js";

const { thresholds } = vectorsOf("thresholds");
const store = recordedStore("all_methods");
const runs = [...store.runs.values()];

test("zooming keeps what lies under the pointer", () => {
  for (const [scroll, anchor, before, after] of [
    [0, 100, 12, 18],
    [640, 33, 2, 1],
  ]) {
    const position = (scroll + anchor) / before;
    assert.ok(Math.abs((keepAnchor(scroll, anchor, before, after) + anchor) / after - position) < 1e-9);
  }
  assert.equal(stepWidth(12, 1), 18);
  assert.equal(stepWidth(13.4, -1), 12);
  assert.equal(stepWidth(64, 1), 64);
});

test("a finished run fits the room; a growing one keeps a readable step", () => {
  assert.equal(autoWidth(740, 74, false), 10);
  assert.equal(autoWidth(740, 10, false), 28);
  assert.equal(autoWidth(740, 74, true), 8);
  assert.equal(autoWidth(740, 9000, true), 3);
  assert.ok(tickStep(0.5) * 0.5 >= 56 && tickStep(40) === 2);
});

test("cells cover every position once, in order, also below a pixel each", () => {
  for (const width of [0.3, 0.5, 1, 2.7, 12]) {
    const seen = [];
    let right = -Infinity;
    cells(17, 400, width, 5, (x0, x1, from, to) => {
      assert.ok(x0 >= right - 1 && x1 > x0);
      right = x1;
      for (let i = from; i < to; i += 1) seen.push(i);
    });
    assert.deepEqual(
      seen,
      Array.from({ length: 383 }, (_, i) => i + 17),
    );
  }
});

test("bands stand under one another; a folded one keeps its spans alone", () => {
  const tracks = [
    { id: "spans", height: 18 },
    { id: "entropy", height: 28 },
  ];
  const { places, height } = layoutBands(
    ["a", "b", "c"],
    () => tracks,
    (key) => key === "b",
    { head: 0 },
  );
  assert.deepEqual(
    places.map((place) => place.tracks.length),
    [2, 1, 2],
  );
  for (const [i, place] of places.entries())
    assert.equal(place.top, i === 0 ? 0 : places[i - 1].top + places[i - 1].height);
  assert.equal(height, places.at(-1).top + places.at(-1).height);
  for (const place of places)
    for (const track of place.tracks)
      assert.ok(track.y >= place.top && track.y + track.height < place.top + place.height);
  assert.equal(placeAt(places, places[1].top + 3).key, "b");
  assert.equal(placeAt(places, height + 1), null);
});

test("tiles paint new columns alone, all of them when anything else changed, none when nothing did", () => {
  const now = { stamp: "a", count: 40, px: 10 };
  assert.equal(dirtyFrom(undefined, now, 512), 0);
  assert.equal(dirtyFrom({ stamp: "b", count: 40 }, now, 512), 0);
  assert.equal(dirtyFrom({ stamp: "a", count: 40 }, now, 512), null);
  assert.equal(dirtyFrom({ stamp: "a", count: 31 }, now, 512), 31);
  assert.equal(dirtyFrom({ stamp: "a", count: 50 }, now, 512), 40); // time was moved back
  assert.equal(dirtyFrom({ stamp: "a", count: 31 }, now, 256), null); // nothing new reaches this tile
  const [first, last] = columnsIn(512, 512, 10, 200, 0);
  assert.ok(first * 10 <= 512 && last * 10 >= 1024 && first > 45 && last < 110);
  assert.deepEqual(columnsIn(512, 512, 10, 60, 57), [54, 60]);
  assert.deepEqual(columnsIn(5120, 512, 10, 60, 0), [60, 60]);
});

test("rows of tiles hold bands until they are tall enough, and every band once", () => {
  const parts = [26, 26, 190, 190, 500, 26].map((height, i, all) => ({
    key: String(i),
    height,
    top: all.slice(0, i).reduce((sum, one) => sum + one, 0),
  }));
  assert.deepEqual(
    rowsOf(parts).map((row) => row.map((part) => part.key).join("")),
    ["012", "3", "4", "5"],
  );
});

test("spans cover each token of every recorded method once and agree with the counts", () => {
  assert.ok(runs.length >= 24);
  for (const run of runs) {
    const { spans, overhangs, drafts } = bandOf(run);
    for (const [i, span] of spans.entries()) assert.equal(span.from, i === 0 ? 0 : spans[i - 1].to, run.key);
    assert.equal(spans.at(-1).to, run.tokens.length);
    const length = (kinds) =>
      spans.filter(({ kind }) => kinds.includes(kind)).reduce((sum, one) => sum + one.to - one.from, 0);
    if (run.rounds.every((round) => !round.drafted))
      assert.ok(
        spans.every(({ kind }) => kind !== "accepted"),
        run.key,
      );
    const accepted = run.rounds.reduce((sum, round) => sum + round.tokens.filter(({ node }) => node != null).length, 0);
    assert.equal(length(["accepted", "relaxed"]), accepted, run.key);
    assert.equal(drafts.length, run.rounds.length);
    for (const one of overhangs) assert.ok(run.rounds[one.round].levels > run.rounds[one.round].accepted);
    for (const round of run.rounds)
      if (round.nodes.length)
        assert.equal(
          breadthOf(round).reduce((a, b) => a + b, 0),
          round.drafted,
          run.key,
        );
  }
});

test("an accepted run never crosses a target call", () => {
  const { spans } = bandOf(store.runs.get("autojudge"));
  for (const span of spans) {
    const round = store.runs.get("autojudge").rounds[span.round];
    assert.ok(span.from >= round.start && span.to <= round.start + round.tokens.length);
  }
  assert.equal(firstFrom(spans, spans[2].from), 2);
});

test("a band tells what a veto ended, how far drafts reach and how wide they are", () => {
  const made = createStore();
  const nodes = [0, 0, 1].map((parent, i) => ({
    token: 90 + i,
    parent: parent - 1,
    depth: i < 2 ? 1 : 2,
    state: "discarded",
  }));
  nodes[0].state = "vetoed";
  const tree = { drafted: 3, levels: 2, nodes, ids: [7] };
  made.load([trace("veto", [round({ drafted: 2, accepted: 1 }), round(tree), round({ drafted: 4, accepted: 4 })])]);
  const { spans, overhangs, drafts, widest, reach } = bandOf(made.runs.get("veto"));
  assert.deepEqual(
    spans.map(({ from, to, kind }) => [from, to, kind]),
    [
      [0, 1, "accepted"],
      [1, 2, "correction"],
      [2, 3, "vetoed"],
      [3, 7, "accepted"],
      [7, 8, "bonus"],
    ],
  );
  assert.deepEqual(
    overhangs.map(({ from, to, round: index }) => [from, to, index]),
    [
      [1, 2, 0],
      [2, 4, 1],
    ],
  );
  assert.deepEqual(drafts[1].breadth, [2, 1]);
  assert.deepEqual(breadthOf({ levels: 3, drafted: 3, nodes: [] }), [1, 1, 1], "a chain of a light recording");
  assert.deepEqual(breadthOf({ levels: 2, drafted: 5, nodes: [] }), [0, 0], "of a tree nobody knows");
  assert.deepEqual([widest, reach], [2, 4]);
});

test("a band grows with its run and reads only what is new", () => {
  const whole = store.runs.get("eagle3");
  const growing = { ...whole, rounds: whole.rounds.slice(0, 3) };
  growing.rounds = growing.rounds.slice();
  const early = bandOf(growing).spans.length;
  growing.rounds.push(...whole.rounds.slice(3));
  assert.deepEqual(bandOf(growing).spans, bandOf(whole).spans);
  assert.ok(early < bandOf(growing).spans.length);
});

test("where texts part: the first token that differs, never for a lossless greedy method", () => {
  const reference = referenceOf(store);
  assert.equal(reference.key, "ar");
  for (const run of runs) {
    const at = partsAt(store, run, reference);
    if (run.card.guarantee === "lossless") assert.equal(at, null, run.key);
    if (at === null) continue;
    assert.notEqual(run.tokens[at].token, reference.tokens[at].token);
    assert.deepEqual(
      run.tokens.slice(0, at).map((t) => t.token),
      reference.tokens.slice(0, at).map((t) => t.token),
    );
    assert.equal(agreement(store, run, reference), at / reference.tokens.length);
  }
  assert.ok(runs.some((run) => partsAt(store, run, reference) !== null));
  const made = createStore();
  const lane = (/** @type {string} */ key, /** @type {number} */ id, more = {}) =>
    trace(key, [round({ ids: [id] })], more);
  const plain = { guarantee: "reference" };
  made.load([lane("ar", 1, plain), lane("ar.2", 2, plain), lane("sd", 3), lane("other", 3, { prompt: "Twice" })]);
  const first = referenceOf(made);
  const parts = (/** @type {string} */ key) => partsAt(made, made.runs.get(key), first);
  assert.deepEqual([first.key, parts("ar"), parts("sd"), parts("other")], ["ar", null, 0, null]);
  assert.equal(partsAt(made, made.runs.get("sd"), null), null);
});

test("sorting puts the fewest calls, the most tokens a call, the fastest and the most faithful first", () => {
  const values = {
    calls: (run) => store.stats(run).calls || Infinity, // the draft model alone calls none: last
    tau: (run) => -store.stats(run).tau,
    speed: (run) => -store.stats(run).perSecond,
    agreement: (run) => -agreement(store, run, referenceOf(store)),
  };
  for (const [by, value] of Object.entries(values)) {
    const order = sorted(store, by).map((key) => value(store.runs.get(key)));
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
      by,
    );
    assert.equal(order.length, runs.length);
  }
  assert.deepEqual(sorted(store, "given"), store.lanes);
  const names = sorted(store, "name").map((key) => store.runs.get(key).card.title);
  assert.equal(names[0], "AdaEDL");
});

test("a drag over the score takes positions that there are", () => {
  assert.deepEqual(rangeOf(31, 15, 20), [15, 19]);
  assert.deepEqual(rangeOf(3, -2, 20), [0, 3]);
  assert.deepEqual(rangeOf(3, 5, 20), [3, 5]);
  assert.equal(rangeOf(31, 25, 20), null);
});

test("at an earlier time a text has not ended where it goes on", () => {
  const store = createStore();
  store.load([trace("chain", [round({ drafted: 2, accepted: 1 }), round({ drafted: 2, accepted: 1 })])]);
  const run = store.runs.get("chain");
  assert.equal(lineAt(store, run, 4), "ended at 4");
  store.setTime({ mode: "calls", at: 1 });
  assert.equal(lineAt(store, run, 3), "not there yet");
  assert.equal(lineAt(store, run, 4), "ended at 4");
});

test("a light recording tells what became of its draft tokens, though it has none of their numbers", () => {
  const store = createStore();
  store.load([
    trace("chain", [round({ drafted: 3, accepted: 2, ids: [1, 2, 9], nodes: [] })], { record: "light" }),
    trace("alone", [round({ ids: [1], fed: 0 })], { guarantee: "lossy" }),
  ]);
  const [run, alone] = ["chain", "alone"].map((key) => store.runs.get(key));
  for (const token of alone.tokens) token.origin = "draft"; // of no draft
  const [first] = cardLines(store, { run: "chain", pos: 0 });
  assert.equal(first, "·t1  accepted");
  assert.equal(lineAt(store, run, 1), "accepted");
  assert.equal(lineAt(store, run, 2), "correction");
  assert.equal(lineAt(store, alone, 0), "written by the draft model alone");
  assert.equal(stateOf(run.tokens[0], null), "accepted");
  assert.deepEqual(untested(null, run.rounds[0]), ["recorded lightly:", "without its numbers"]);
  assert.deepEqual(untested(null, alone.rounds[0]), ["no draft token here:", "nothing to test"]);
});

/** A tree whose first round rejects a draft token and vetoes another, beside the text of the target. */
function told() {
  const made = createStore();
  const tree = round({ drafted: 3, accepted: 1, levels: 2, ids: [10, 11], tcr: 1 });
  const [kept, lost, sibling] = tree.nodes;
  const numbers = { p: 0.25, q: 0.5, accept_prob: 0.5, h_draft: 1.5, h_target: 2, overlap: 0.6, judge: 0.04 };
  const veto = round({ drafted: 1, accepted: 0, ids: [30] });
  made.load([
    trace(
      "ar",
      [10, 11, 12].map((id) => round({ ids: [id] })),
      { guarantee: "reference" },
    ),
    trace("tree", [
      {
        ...tree,
        nodes: [
          { ...kept, p: 0.75 },
          { ...lost, ...numbers },
          { ...sibling, parent: 0, depth: 2 },
        ],
      },
      { ...veto, nodes: [{ ...veto.nodes[0], state: "vetoed" }], tokens: [{ ...veto.tokens[0], h_target: 0.5 }] },
    ]),
  ]);
  return { made, run: made.runs.get("tree") };
}

test("a line of a position tells the decision, its numbers, and from where on it is another text", () => {
  const { made, run } = told();
  const line = (/** @type {number} */ pos) => lineAt(made, run, pos);
  assert.equal(line(0), "accepted, p 0.75, draft rank 1");
  assert.equal(line(1), "#91 rejected, p 0.25, ·t11 instead, judge 0.04");
  assert.equal(line(2), "#90 vetoed, ·t30 instead, another text");
  assert.equal(line(-1), "given: this beginning was forced");
  assert.equal(line(3), "ended at 3");
  made.setTime({ at: 1 });
  assert.equal(line(2), "not there yet");
  made.setTime({ at: Infinity });
  const { state, tcr, other } = entryAt(made, run, 2);
  assert.deepEqual([state, tcr, other], ["vetoed", 0, true]);
  assert.deepEqual([entryAt(made, run, 1).state, entryAt(made, run, 1).other], ["correction", false]);
  assert.equal(entryAt(made, made.runs.get("ar"), 0).tcr, null, "without a draft there is no rank");
  made.load([trace("chain", [round({ drafted: 2, accepted: 2 })])]);
  const whole = made.runs.get("chain");
  assert.equal(lineAt(made, whole, 0), "accepted", "in a chain ranks say nothing");
  assert.equal(rankSaid(whole.rounds[0], entryAt(made, whole, 0).tcr), "2 of 2", "the last of a whole draft");
  assert.equal(rankSaid(whole.rounds[0], null), "–");
});

test("a card tells the token under the pointer: of a correction both, of a draft token its own numbers", () => {
  const { made } = told();
  const card = (/** @type {object} */ place) => cardLines(made, { run: "tree", ...place });
  const both = [
    "·t11  correction",
    "tree, position 1, round 0",
    "rejected there: #91",
    "p 0.25, q 0.50, P(accept) 0.50 (raw distribution)",
    "entropy: draft 1.50, target 2.00 nats",
    "Judge: importance 0.04, rejected as important.",
  ];
  assert.deepEqual(card({ pos: 1 }), both);
  assert.deepEqual(card({ pos: 1, round: 0, node: 1 }), ["#91  rejected", both[1], both[3], both[4]]);
  assert.deepEqual(card({ pos: 0, round: 0, node: 0 }), [
    "·t10  accepted",
    "tree, position 0, round 0",
    "p 0.75 (raw distribution)",
  ]);
  assert.deepEqual(card({ pos: 2 }), [
    "·t30  correction",
    "tree, position 2, round 1",
    "vetoed there: #90",
    "entropy: target 0.50 nats",
    "another text than the reference since position 2",
  ]);
  assert.deepEqual(card({ round: 0, node: 2, pos: 1 })[0], "#92  discarded");
  assert.deepEqual([card({ pos: 9 }), cardLines(made, { run: "none", pos: 0 })], [[], []]);
});

test("heads tell a track's scale or its limit, and what a run has not", () => {
  const { made, run } = told();
  made.setOption("tracks", ["entropy", "overlap", "reason.rank", "steps", "iterations"]);
  run.card.threshold = thresholds.entropy_veto;
  run.head.knobs = {
    tau_entropy: 2,
    tau_overlap: 0.5,
    tau_entropy_draft: -1,
    entropy_temperature: 1,
    ablation: "none",
  };
  run.rounds[0].nodes[1].reason = { rank: 7 };
  const content = contentOf(made, () => false, 0);
  const of = (/** @type {string} */ key) => {
    const place = content.places.find((one) => one.key === key);
    return headOf(made, content, content.lanes.get(key), place);
  };
  assert.deepEqual(of("tree").labels, ["", "entropy 0–2, limit 2", "overlap@5, limit 0.5", "rank 0–7"]);
  assert.deepEqual(of("tree").briefs, ["", "entropy 0–2", "overlap@5", "rank 0–7"]);
  assert.deepEqual(of("tree").nones, ["", "", "", ""]);
  assert.deepEqual(of("ar").labels, ["", "entropy, nats", "overlap", "rank"]);
  assert.deepEqual(of("ar").nones, ["", "no entropies", "no overlap", "not recorded"]);
  assert.deepEqual(
    [...content.tops],
    [
      ["spans", 1],
      ["entropy", 2],
      ["overlap", 1],
      ["reason.rank", 7],
    ],
  );
  assert.equal(content.count, 3);
  assert.equal(of("tree").figures.agrees, 2 / 3);
  made.load([trace("sd", [round({ drafted: 1, accepted: 0, ids: [1] })])]);
  const one = made.runs.get("sd");
  one.rounds[0].nodes[0].h_draft = 2.3;
  assert.equal(contentOf(made, () => false, 0).tops.get("entropy"), 3, "a scale ends at a whole number");
});

test("the stage in a link comes back as it was; what nobody knows is left out", () => {
  const none = new Set();
  const whatif = { run: "a", moved: { tau: 0.5 }, knobs: {}, upto: NOT_YET, marks: none, settled: none, changed: null };
  const continued = [{ lane: "a~1", run: "a", pos: 3, token: 9 }];
  const dock = { details: "bottom", zoom: "18~40.5" };
  const options = { stage: "score", folded: true, sort: "calls", tracks: ["entropy", "reason.gap"], ...dock };
  const query = new URLSearchParams(stagePairs({ options: { ...options, continued, whatif }, lanes: ["a", "b"] }));
  assert.deepEqual(readStage(query), { ...options, continued, whatif });
  const bad = [
    "1",
    "[]",
    '["a"]',
    '["a",{}]',
    '["a",{"tau":"x"}]',
    '["a",{"<b>":1}]',
    '[7,{"tau":1}]',
    '["a",null]',
    "{",
  ];
  for (const text of bad) assert.equal(readStage(new URLSearchParams({ whatif: text })).whatif, undefined, text);
  for (const zoom of ["18", "99~1", "0.1~1", "x~1", "18~-1", "18~1e9"])
    assert.equal(readStage(new URLSearchParams({ zoom })).zoom, undefined, zoom);
  assert.deepEqual(zoomIn(zoomOf(11.31, 200)), { px: 11.31, first: 17.7 });
  assert.deepEqual(readStage(new URLSearchParams("v=cellar&fold=2&sort=luck&tracks=<b>")), { tracks: [] });
});
