// Texts that are written in place: what a lane shows of them, and what the figures say, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { columns, visibleColumns } from "../../app/static/columns.js";
import { callWords, writesAlone } from "../../app/static/run/calls.js";
import {
  cellAt,
  cellWords,
  inPlace,
  iterations,
  iterationWords,
  scaleOf,
  shownRound,
  stepOf,
} from "../../app/static/run/canvas.js";
import { draftedNothing, guaranteeOf } from "../../app/static/run/guarantee.js";
import { addEvent, makeRun, statsOf } from "../../app/static/run.js";
import { iterationAt } from "../../app/static/stage/scoreinput.js";
import { budget } from "../../app/static/stage/sharefigures.js";
import { paintIterations, paintSpans } from "../../app/static/stage/trackpaint.js";
import { trackOf } from "../../app/static/stage/tracks.js";
import { whyNone } from "../../app/static/stage/treegrid.js";
import { clockParts, paintTimeline } from "../../app/static/timelinepaint.js";
import { card, head } from "./runs.js";

const [A, B, C, MASK] = [5, 6, 7, 0];
const CANVASES = [
  [
    [A, 1],
    [B, 1],
    [MASK, 0],
  ],
  [
    [A, 1],
    [C, 2, B],
    [B, 2],
  ],
].map((cells) => cells.map(([token, iteration, before]) => ({ token, iteration, before, q: 0.5 })));

/** A run of two iterations; the last one gives the text. */
function made(more = {}) {
  const run = makeRun("placed", card("placed", { writer: "nat", guarantee: "lossy", family: "x", ...more }));
  addEvent(run, head("placed"));
  CANVASES.forEach((canvas, index) => {
    const last = index === CANVASES.length - 1;
    const tokens = canvas.map(({ token }, pos) => ({
      pos,
      token,
      piece: `<${token}>`,
      origin: "placed",
      round: index,
    }));
    const extras = { iteration: index + 1, places: 3, written: 2, open: last ? 0 : 1, network_ms: 4 };
    const plain = { kind: "round", index, start: 0, drafted: 0, fed: 0, levels: 0, accepted: 0, path: [], nodes: [] };
    const times = { draft_ms: 0, verify_ms: 0, other_ms: 5 };
    const pieces = index ? {} : { [A]: "<5>", [B]: "<6>", [C]: "<7>", [MASK]: "<mask>" };
    addEvent(run, { ...plain, ...times, extras, canvas, pieces, tokens: last ? tokens : [], emitted: last ? 3 : 0 });
  });
  addEvent(run, { kind: "end", reason: "eos", text: "" });
  return run;
}
const storeOf = (run, shown, cursor = null) => ({
  cursor,
  visibleRounds: () => shown,
  runs: new Map([[run.key, run]]),
});

test("a card tells that its texts are written in place, and so do rounds without one", () => {
  const run = made();
  assert.ok(inPlace(run) && inPlace({ card: {}, rounds: run.rounds }) && inPlace({ card: run.card, rounds: [] }));
  assert.ok(!inPlace({ card: {}, rounds: [] }) && !inPlace({ card: {}, rounds: [{ ...run.rounds[0], fed: 1 }] }));
  assert.equal(iterations(run), 2);
});

test("each iteration has a colour of its own while there are enough, and then a few share one", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((n) => stepOf(n, 5)),
    [1, 2, 3, 4, 5],
  );
  assert.deepEqual(
    [1, 2, 3, 9, 10].map((n) => stepOf(n, 10)),
    [1, 1, 2, 5, 5],
  );
  assert.deepEqual(
    scaleOf(3).map(({ step, words }) => `${step}:${words}`),
    ["1:1", "2:2", "3:3"],
  );
  const ten = scaleOf(10).map(({ words }) => words);
  assert.deepEqual(ten, ["1–2", "3–4", "5–6", "7–8", "9–10"]);
});

test("a lane shows the iteration under its cursor, else the last that the time shows", () => {
  const run = made();
  assert.equal(shownRound(storeOf(run, 2), run), 1);
  assert.equal(shownRound(storeOf(run, 1), run), 0);
  assert.equal(shownRound(storeOf(run, 0), run), -1);
  const at = (round, key = "placed") => ({ run: key, round, pos: 0, node: null });
  assert.equal(shownRound(storeOf(run, 2, at(0)), run), 0);
  assert.equal(shownRound(storeOf(run, 1, at(1)), run), 0, "what the time hides stays hidden");
  assert.equal(shownRound(storeOf(run, 2, at(0, "other")), run), 1);
});

test("places and iterations in words", () => {
  const [first, second] = made().rounds;
  assert.equal(iterationWords(first, 2), "iteration 1 of 2: 2 of 3 places written, 1 open");
  assert.equal(iterationWords(second, 2), "iteration 2 of 2: 2 of 3 places written");
  const said = [0, 1, 2].map((pos) => cellWords(second, cellAt(second, pos)));
  assert.deepEqual(said, ["as left in iteration 1", "rewritten in iteration 2", "written in iteration 2"]);
  assert.match(cellWords(first, cellAt(first, 2)), /^open/);
  assert.equal(cellAt(first, 3), null);
  const behind = { start: 2, canvas: [{ token: A }, { token: B }] };
  assert.deepEqual(
    [1, 2, 3, 4, null].map((pos) => cellAt(behind, pos)?.token),
    [undefined, A, B, undefined, undefined],
  );
  assert.equal(iterations({ rounds: [1, 2, 3].map((iteration) => ({ extras: { iteration } })) }), 3);
});

test("iterations are no target calls, and nothing is said of drafts", () => {
  const run = made();
  const stats = statsOf(run);
  assert.deepEqual([stats.iterations, stats.calls, stats.drafted, stats.tau], [2, 0, 0, null]);
  assert.equal(callWords(stats), "2 iterations");
  assert.ok(!writesAlone(stats) && writesAlone({ ...stats, iterations: 0 }));
  assert.equal(draftedNothing(run), "");
  assert.match(guaranteeOf(run).words, /no target checks it/);
  assert.match(whyNone(run, run.rounds[1], 0), /Written in place/);
});

test("the time of a text that is written in place is its network's: no draft's, and no target's", () => {
  const run = made();
  const parts = (rounds) => budget(run, rounds).map(({ words, value }) => [words, value]);
  assert.deepEqual(parts(run.rounds), [
    ["network", 8 / 3],
    ["other", 2 / 3],
  ]);
  assert.deepEqual(clockParts([run]), [["--overlap", "network"]]);
  const chain = { rounds: [{ drafted: 2, extras: {} }], card: {} };
  assert.deepEqual(
    clockParts([chain, run]).map(([, words]) => words),
    ["drafting", "target call", "network"],
  );
  assert.deepEqual(clockParts([{ rounds: [], card: { writer: "nat" } }]), []);
  const store = { ...storeOf(run, 2), time: { mode: "clock" }, span: () => 10, focus: () => null };
  const sheet = { width: 110, height: 40, row: 10, gap: 2, left: 0, rows: [run], names: [""], over: -1, head: null };
  const c = pen();
  paintTimeline(c, store, sheet, (name) => name);
  assert.deepEqual(
    c.drawn.map(([colour, , x]) => [colour, x]),
    [
      ["--overlap", 1],
      ["--overlap", 51],
    ],
    "nothing of a draft's colour",
  );
});

test("before the last iteration the canvas takes the text's place", () => {
  const run = made();
  assert.deepEqual(visibleColumns(storeOf(run, 2), run), columns(run));
  const half = visibleColumns(storeOf(run, 1), run);
  assert.deepEqual(
    half.map(({ token, round }) => [token.piece, round]),
    [
      ["<5>", 0],
      ["<6>", 0],
      ["<mask>", 0],
    ],
  );
  assert.equal(visibleColumns(storeOf(run, 0), run).length, 0);
});

/** A pen that keeps what it fills and frames. */
function pen() {
  const drawn = [];
  return {
    drawn,
    globalAlpha: 1,
    fillRect(x, y, w, h) {
      drawn.push([this.fillStyle, this.globalAlpha, x, y, w, h]);
    },
    beginPath() {},
    roundRect(x, y) {
      drawn.push(["frame", this.globalAlpha, x, y]);
    },
    stroke() {},
    fillText() {},
  };
}

test("a row an iteration: full where it wrote, pale where it left, a frame where nothing stands", () => {
  const run = made();
  const list = columns(run);
  const view = { run, list, first: 0, last: 3, px: 10, scroll: 0, y: 100, height: 20, ink: (name) => name };
  const ctx = pen();
  paintIterations(ctx, view);
  const told = ctx.drawn.map(([colour, alpha, x, y]) => [colour, alpha, Math.floor(x / 10), Math.floor(y / 10)]);
  assert.deepEqual(told, [
    ["--placed-1", 1, 0, 10],
    ["--placed-1", 1, 1, 10],
    ["frame", 1, 2, 10],
    ["--placed-1", 0.28, 0, 11],
    ["--placed-2", 1, 1, 11],
    ["--placed-2", 1, 2, 11],
  ]);
  const early = pen();
  paintIterations(early, { ...view, list: visibleColumns(storeOf(run, 1), run) });
  assert.equal(early.drawn.length, 3, "the second row has not come yet");
  const spans = pen();
  paintSpans(spans, { ...view, band: { spans: [], overhangs: [], steps: [], reach: 0 } });
  assert.deepEqual(
    spans.drawn.map(([colour]) => colour),
    ["--placed-1", "--placed-2", "--placed-2"],
  );
  assert.ok(trackOf("iterations").has(run) && !trackOf("iterations").has(makeRun("other", card("other"))));
});

test("the pointer finds the iteration of a row", () => {
  const run = made();
  const place = {
    tracks: [
      { id: "spans", y: 0, height: 18 },
      { id: "iterations", y: 23, height: 20 },
    ],
  };
  const rows = [10, 23, 32, 33, 42, 43].map((y) => iterationAt(place, run, y, 1)?.round);
  assert.deepEqual(rows, [undefined, 0, 0, 1, 1, undefined]);
  assert.deepEqual(iterationAt(place, run, 40, 2), { run: "placed", round: 1, pos: 2, node: null });
  assert.equal(iterationAt(place, run, 40, 3), null, "there is no such place");
});
