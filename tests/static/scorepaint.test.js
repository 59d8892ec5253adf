// How the score is painted: bars, titles, spans, marks and shades, on pens that keep what they are told.

import assert from "node:assert/strict";
import { test } from "node:test";

import { columns } from "../../app/static/columns.js";
import { cells, tickStep } from "../../app/static/stage/axis.js";
import { bandOf } from "../../app/static/stage/bands.js";
import { belowTitle, layoutBands } from "../../app/static/stage/layout.js";
import { paintBand, paintRuler } from "../../app/static/stage/scorepaint.js";
import { bars } from "../../app/static/stage/trackpaint.js";
import { trackOf } from "../../app/static/stage/tracks.js";
import { createStore } from "../../app/static/store.js";
import { round, trace } from "./runs.js";

/** A pen that keeps how high each colour stands in each pixel: of rectangles, and of shapes made of level steps. */
function skyline(base) {
  const tops = new Map();
  let path = [];
  const stand = (colour, from, to, top) => {
    for (let x = from; x < to; x += 1) tops.set(`${colour}/${x}`, base - top);
  };
  const pen = {
    tops,
    fillStyle: "",
    beginPath: () => (path = []),
    moveTo: (x, y) => path.push([x, y, "begins"]),
    lineTo: (x, y) => path.push([x, y]),
    fill() {
      for (let i = 1; i < path.length; i += 1) {
        const [[x0, y0], [x1, y1, begins]] = [path[i - 1], path[i]];
        assert.ok(begins || x0 === x1 || y0 === y1, "a slope between bars");
        if (!begins && y0 === y1 && y0 < base) stand(pen.fillStyle, x0, x1, y0);
      }
    },
    fillRect: (x, y, width, height) => y + height === base && stand(pen.fillStyle, x, x + width, y),
  };
  return pen;
}

test("bars that touch stand as high, and in the colours, as each by itself", () => {
  const values = [0.2, 0.2, null, 0.9, 0.4, 0, 0.4, null, null, 1, 0.6];
  const list = values.map((value, i) => ({ value, colour: i % 3 ? "a" : "b" }));
  const ink = (name) => name;
  for (const [px, top] of [
    [0.5, 1],
    [1, 0.8],
    [3, 1],
    [5, 1],
    [5, 2],
  ]) {
    const view = { run: null, list, first: 0, last: list.length, px, scroll: 0, y: 4, height: 20, top, ink };
    const pen = skyline(24);
    bars(
      pen,
      view,
      (column) => column.value,
      (column) => column.colour,
    );
    const want = new Map();
    cells(0, list.length, px, 0, (x0, x1, from, to) => {
      const best = list.slice(from, to).reduce((a, b) => ((b.value ?? -1) > (a.value ?? -1) ? b : a));
      const end = px >= 4 ? x1 - 1 : x1;
      if (best.value !== null)
        for (let x = x0; x < end; x += 1)
          want.set(`${best.colour}/${x}`, Math.max(1, Math.round(Math.min(1, best.value / top) * 20)));
    });
    assert.deepEqual(pen.tops, want, `${px} pixels a column`);
  }
});

test("where a title has a line of its own, nothing of its band is painted over it", () => {
  const { places } = layoutBands(
    ["a", "b"],
    () => [{ id: "spans", height: 18 }],
    (key) => key === "b",
    { head: 20 },
  );
  for (const place of places) {
    const below = belowTitle(place);
    assert.deepEqual([below.top - place.top, below.top + below.height], [20, place.top + place.height]);
    /** @type {number[]} */
    const tops = [];
    const down = (/** @type {number} */ _x, /** @type {number} */ y) => tops.push(y);
    const pen = { fillRect: down, moveTo: down, lineTo: down, fillText: down };
    const ctx = new Proxy(pen, { get: (own, name) => Reflect.get(own, name) ?? (() => {}), set: () => true });
    const lane = { list: new Array(9).fill({}), parts: 4, shift: 2, passes: null, whatif: null };
    const look = { px: 10, scroll: 0, width: 200, ink: String, tops: new Map(), widest: 1 };
    paintBand(ctx, { ...place, tracks: [] }, lane, look);
    assert.ok(tops.length > 6 && Math.min(...tops) >= below.top, String(tops));
  }
});

test("marks of What if are filled where a decision hangs on them, hollow elsewhere, and end with the first change", () => {
  const { places } = layoutBands(
    ["a"],
    () => [{ id: "spans", height: 18 }],
    () => false,
    { head: 0 },
  );
  const signs = (/** @type {number | null} */ changed) => {
    /** @type {[string, number][]} */
    const seen = [];
    let [left, corners] = [0, 0];
    const pen = {
      beginPath: () => {
        corners = 0;
      },
      moveTo: (/** @type {number} */ x) => {
        left = x;
        corners += 1;
      },
      lineTo: () => {
        corners += 1;
      },
      fill: () => corners === 3 && seen.push(["filled", (left + 4) / 10 - 0.5]),
      stroke: () => corners === 3 && seen.push(["hollow", (left + 4) / 10 - 0.5]),
    };
    const ctx = new Proxy(pen, { get: (own, name) => Reflect.get(own, name) ?? (() => {}), set: () => true });
    const whatif = { marks: new Set([1, 3, 5, 7]), settled: new Set([3, 7]), changed };
    const lane = { list: new Array(9).fill({}), parts: null, shift: 0, passes: null, whatif };
    const look = { px: 10, scroll: 0, width: 200, ink: String, tops: new Map(), widest: 1 };
    paintBand(ctx, { ...places[0], tracks: [] }, lane, look);
    return seen;
  };
  const all = [
    ["filled", 1],
    ["hollow", 3],
    ["filled", 5],
    ["hollow", 7],
  ];
  assert.deepEqual(signs(null), all);
  assert.deepEqual(signs(5), all.slice(0, 3), "beyond it the text would be another");
});

/** A pen that keeps each rectangle and shape with its colour, its opacity where it has one, and from where to where it
 * lies. */
function recorder() {
  /** @type {[string, number, number][]} */
  const seen = [];
  /** @type {number[]} */
  let xs = [];
  const note = (/** @type {string} */ colour, /** @type {number} */ from, /** @type {number} */ to) =>
    seen.push([
      ctx.globalAlpha === 1 ? colour : `${colour} ${ctx.globalAlpha}`,
      Number(from.toFixed(2)),
      Number(to.toFixed(2)),
    ]);
  const along = (/** @type {number} */ x) => xs.push(x);
  /** @type {any} */
  const pen = {
    globalAlpha: 1,
    fillStyle: "",
    strokeStyle: "",
    beginPath: () => {
      xs = [];
    },
    moveTo: along,
    lineTo: along,
    roundRect: (/** @type {number} */ x, /** @type {number} */ _y, /** @type {number} */ w) => xs.push(x, x + w),
    fillRect: (/** @type {number} */ x, /** @type {number} */ _y, /** @type {number} */ w) =>
      note(ctx.fillStyle, x, x + w),
    fill: () => note(ctx.fillStyle, Math.min(...xs), Math.max(...xs)),
    stroke: () => note(`${ctx.strokeStyle} line`, Math.min(...xs), Math.max(...xs)),
    fillText: (/** @type {string} */ text, /** @type {number} */ x) => note(`“${text}”`, x, x),
  };
  const ctx = new Proxy(pen, { get: (own, name) => Reflect.get(own, name) ?? (() => {}) });
  return { ctx, seen };
}

test("spans lie over their tokens, in the colour of what became of them, and rejected drafts below", () => {
  const made = createStore();
  const relaxed = round({ drafted: 2, accepted: 2 });
  const veto = round({ drafted: 1, accepted: 0 });
  made.load([
    trace("all", [
      round({ drafted: 3, accepted: 1 }),
      {
        ...relaxed,
        tokens: relaxed.tokens.map((token, i) => ({ ...token, origin: ["relaxed", "draft", "bonus"][i] })),
      },
      { ...veto, nodes: [{ ...veto.nodes[0], state: "vetoed" }] },
      round(),
    ]),
  ]);
  const run = made.runs.get("all");
  const drawn = (/** @type {number} */ px, more = {}) => {
    const { ctx, seen } = recorder();
    const list = columns(run);
    const view = {
      run,
      band: bandOf(run),
      list,
      first: 0,
      last: list.length,
      px,
      scroll: 0,
      ink: String,
      y: 0,
      ...more,
    };
    trackOf("spans").paint(ctx, view);
    return seen;
  };
  const rejected = [
    ["--draft-2", 10, 29],
    ["--draft-2", 50, 59],
  ];
  assert.deepEqual(drawn(10), [
    ["--draft-2", 1, 9],
    ["--target line", 11.75, 18.25],
    ["--judge", 21, 29],
    ["--panel", 23, 27],
    ["--draft-2", 31, 39],
    ["--target-soft", 41, 49],
    ["--target", 42.5, 47.5],
    ["--target", 44.25, 45.75],
    ["--judge line", 51.75, 58.25],
    ["--judge line", 51.67, 58.33],
    ["--neutral 0.55", 61, 69],
    ...rejected,
  ]);
  assert.deepEqual(drawn(2), [
    ["--draft-2", 0, 2],
    ["--target", 2, 4],
    ["--judge", 4, 6],
    ["--draft-2", 6, 8],
    ["--target-2", 8, 10],
    ["--judge", 10, 12],
    ["--neutral 0.55", 12, 14],
    ["--draft-2", 2, 6],
    ["--draft-2", 10, 12],
  ]);
  const part = drawn(10, { first: 2, last: 3, scroll: 20 });
  assert.deepEqual(part, [
    ["--judge", 1, 9],
    ["--panel", 3, 7],
    ["--draft-2", -10, 9],
  ]);
  const texts = drawn(40).filter(([what]) => what.startsWith("“"));
  assert.deepEqual(
    texts.map(([text, x]) => [text, x]),
    [10, 11, 10, 11, 12, 10, 10].map((id, i) => [`“·t${id}”`, 40 * i + 20]),
  );
  assert.ok(!drawn(10).some(([what]) => what.startsWith("“")), "no room for text");
  const step = round({ drafted: 2, accepted: 2, ids: [1, 2], fed: 0, extras: { reward: 0.9 } });
  made.load([trace("steps", [step, step])]);
  const steps = made.runs.get("steps");
  assert.deepEqual(
    bandOf(steps).spans.map(({ from, to }) => [from, to]),
    [
      [0, 2],
      [2, 4],
    ],
    "two rounds are two spans",
  );
  const { ctx, seen } = recorder();
  const view = { run: steps, band: bandOf(steps), list: columns(steps), first: 0, last: 4, px: 10, scroll: 0, y: 0 };
  trackOf("spans").paint(ctx, { ...view, ink: String });
  assert.deepEqual(
    seen.filter(([what]) => what === "--judge line"),
    [
      ["--judge line", 1.75, 18.25],
      ["--judge line", 1, 18.25],
      ["--judge line", 21.75, 38.25],
      ["--judge line", 21, 38.25],
    ],
    "a bracket under each",
  );
});

test("where texts part, what filters leave out and what nobody has run is shaded from its place on", () => {
  const place = { key: "a", top: 0, height: 60, folded: false, tracks: [], head: 0 };
  const drawn = (/** @type {object} */ lane, /** @type {object} */ look = {}) => {
    const { ctx, seen } = recorder();
    const plain = { list: new Array(20).fill({}), parts: null, shift: 0, passes: null, whatif: null };
    const axis = { px: 30, scroll: 60, width: 450, ink: String, tops: new Map(), widest: 1, ...look };
    paintBand(ctx, place, { ...plain, ...lane }, axis);
    return seen.filter(([what]) => what !== "--line 0.7").slice(0, -1);
  };
  assert.deepEqual(drawn({}), []);
  assert.deepEqual(drawn({ parts: 5 }), [
    ["--judge-soft 0.55", 90, 450],
    ["--judge line", 90.5, 90.5],
  ]);
  assert.deepEqual(drawn({ parts: 1 }), [["--judge-soft 0.55", 0, 450]], "the place itself is left of what is shown");
  assert.deepEqual(drawn({ parts: 18 }), [], "and here right of it");
  assert.deepEqual(drawn({ parts: 5 }, { width: 900 })[0], ["--judge-soft 0.55", 90, 540], "to the end of the text");
  const list = Array.from({ length: 8 }, (_, pos) => ({ pos }));
  const passes = (/** @type {{pos: number}} */ { pos }) => [2, 5].includes(pos);
  assert.deepEqual(drawn({ list, passes }, { scroll: 0 }), [
    ["--panel 0.74", 0, 60],
    ["--panel 0.74", 90, 150],
    ["--panel 0.74", 180, 240],
  ]);
  const whatif = { marks: new Set(), settled: new Set(), changed: 3 };
  const words = "“from here the text would differ: run to see”";
  assert.deepEqual(drawn({ whatif }), [
    ["--panel 0.7", 60, 540],
    [words, 66, 66],
  ]);
  assert.deepEqual(drawn({ whatif: { ...whatif, changed: 17 } }, { width: 900 }), [["--panel 0.7", 480, 540]]);
  assert.deepEqual(drawn({ shift: 4 }, { scroll: 0 }), [
    ["--line-2 0.5", 0, 119],
    ["“given: 4 forced”", 4, 4],
  ]);
  const grid = recorder();
  paintBand(
    grid.ctx,
    place,
    { list: [], parts: null, shift: 0, passes: null, whatif: null },
    {
      ...{ px: 30, scroll: 60, width: 150, ink: String, tops: new Map(), widest: 1 },
    },
  );
  assert.deepEqual(grid.seen, [
    ["--line 0.7", 0, 1],
    ["--line 0.7", 60, 61],
    ["--line 0.7", 120, 121],
    ["--line", 0, 150],
  ]);
});

test("every number of the ruler is whole, also the last one and those that lie on two tiles", () => {
  const [tile, digit] = [512, 7];
  for (const [px, end] of [
    [10.67, 652],
    [2.1, 652],
    [5.12, 1040],
    [10.26, 520],
    [28, 900],
  ]) {
    /** @type {Map<string, number>} */
    const seen = new Map(); // pixels of each number that are on a tile
    for (let from = 0; from < end; from += tile) {
      const ctx = {
        textAlign: "left",
        fillRect() {},
        fillText(/** @type {string} */ n, /** @type {number} */ x) {
          const left = from + x - (this.textAlign === "right" ? digit * n.length : 0);
          const right = left + digit * n.length;
          assert.ok(right <= end, `${n} ends at ${right} of ${end}`);
          const on = Math.min(right, from + tile) - Math.max(left, from);
          seen.set(n, (seen.get(n) ?? 0) + Math.max(0, on));
        },
      };
      paintRuler(ctx, 26, { px, scroll: from, width: tile, ink: String, tops: new Map(), widest: 1 }, end);
    }
    const step = tickStep(px);
    const ticks = Array.from({ length: Math.floor(end / px / step) + 1 }, (_, i) => String(i * step));
    assert.deepEqual([...seen.keys()], ticks);
    for (const [n, on] of seen) assert.equal(on, digit * n.length, `${n} at ${px} pixels a position`);
  }
});
