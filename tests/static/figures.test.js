// What the page decides about figures that the server built, and what its own figures draw.

import assert from "node:assert/strict";
import { test } from "node:test";
import { calibrationSaid } from "../../app/static/aggregates/acceptance.js";
import { plainNumbers } from "../../app/static/aggregates/cost.js";
import { FIGURES } from "../../app/static/aggregates/figures.js";
import { bandsOf, quantile, roundWords, TCR_FIGURES } from "../../app/static/aggregates/tcr.js";
import { nameOf } from "../../app/static/columns.js";
import { telling, told } from "../../app/static/pooled/choice.js";
import { recoloured, shareFormat } from "../../app/static/recolour.js";
import { SHARES } from "../../app/static/stage/sharefigures.js";
import { createStore } from "../../app/static/store.js";
import { page } from "./page.js";
import { round, trace } from "./runs.js";

test("a figure takes the page's colours by their names, and no other text changes", () => {
  const figure = {
    data: [{ marker: { color: ["#1467a8", "#000000"] }, text: ["#1467a8 is a colour"] }],
    layout: { meta: { colours: { "#1467a8": "draft" } } },
  };
  const found = recoloured(figure, (name) => `dark(${name})`);
  assert.deepEqual(found.data[0].marker.color, ["dark(--draft)", "#000000"]);
  assert.equal(found.data[0].text[0], "#1467a8 is a colour");
  assert.deepEqual(found.layout.meta.colours, { "#1467a8": "draft" }, "the names stay for the other theme");
  assert.deepEqual(figure.data[0].marker.color, ["#1467a8", "#000000"]);
});

const drawn = (/** @type {boolean} */ entropy, /** @type {number} */ steady) => ({
  entropy: { tcr: entropy ? [1] : [] },
  steady,
});

test("many runs open on a method with its usual knobs, not on an ablation", () => {
  const methods = [
    { method: "eagle3", label: "EAGLE-3" },
    { method: "heterospec", label: "HeteroSpec" },
    { method: "heterospec", label: "HeteroSpec, low_bins 0" },
  ];
  const figures = {
    "EAGLE-3": drawn(false, 1),
    HeteroSpec: drawn(true, 0.2),
    "HeteroSpec, low_bins 0": drawn(true, 1),
  };
  assert.equal(telling({ methods, figures }, Object.keys(figures)), "HeteroSpec");
  assert.equal(telling({ methods, figures }, []), "");
});

test("a number without an interval has no whisker, not even one of no length", () => {
  const bars = { array: [0.5, null], arrayminus: [0.25, null] };
  const [found] = recoloured(/** @type {any} */ ({ data: [{ error_x: bars }], layout: {} }), () => "").data;
  assert.deepEqual(found.error_x, { array: [0.5, Number.NaN], arrayminus: [0.25, Number.NaN] });
});

test("columns in which no row says anything are left out", () => {
  const table = {
    name: "",
    caption: "",
    columns: ["method", "a", "b"],
    rows: [
      ["x", "–", 1],
      ["y", "", "–"],
    ],
  };
  assert.deepEqual(told(table).columns, ["method", "b"]);
  assert.deepEqual(told(table).rows, [
    ["x", 1],
    ["y", "–"],
  ]);
});

test("shares in figures of the server have the blank that they have elsewhere on the page", () => {
  assert.equal(shareFormat(".0%"), "$.0%");
  assert.equal(shareFormat("%{y:.1%} of %{x:.2f} (95 % %{z:.0%})"), "%{y:$.1%} of %{x:.2f} (95 % %{z:$.0%})");
  const layout = { yaxis: { tickformat: ".0%" }, title: { text: "a:.0%" } };
  const found = recoloured(/** @type {any} */ ({ data: [{ hovertemplate: "%{y:.0%}" }], layout }), () => "");
  assert.deepEqual(found, {
    data: [{ hovertemplate: "%{y:$.0%}" }],
    layout: { yaxis: { tickformat: "$.0%" }, title: { text: "a:.0%" } },
  });
});

test("a dot of a round tells a rank only where something was accepted", () => {
  const [kept, lost] = [round({ drafted: 4, accepted: 2 }), round({ drafted: 4, accepted: 0 })];
  assert.equal(roundWords(kept, 3)[1], "2 of 4 accepted, the last of rank 3");
  assert.equal(roundWords(lost, 0)[1], "none of 4 accepted");
});

const { tip } = page();

/** A figure of the first lane of these, with a hundred pixels a unit on both axes: its bars from where to where on
 * both, its points, its words, and what is told of each shape.
 * @param {string} id @param {any[]} lanes
 * @param {{x?: [number, number], y?: [number, number], pad?: number, key?: boolean}} [axes] */
function figure(id, lanes, { x = [0, 4], y = [0, 1], pad = 12, key = false } = {}) {
  const store = createStore();
  store.load(lanes);
  const all = [...store.runs.values()].map((run) => run.rounds);
  const one = [...FIGURES, ...TCR_FIGURES].find((each) => each.id === id);
  const [run] = store.runs.values();
  const [left, foot] = [46, 34];
  const height = (key ? 24 : 12) + foot + 100 * (y[1] - y[0]);
  const width = left + pad + 100 * (x[1] - x[0]);
  const at = (/** @type {number} */ value) => Number(value.toFixed(2));
  const [along, up] = [
    (/** @type {number} */ px) => at(x[0] + (px - left) / 100),
    (/** @type {number} */ py) => at(y[0] + (height - foot - py) / 100),
  ];
  const domain = one.domain(
    all,
    [...store.runs.values()].map((each) => plainNumbers(store, each)),
  );
  const drawn = one.draw({ rounds: run.rounds, width, height, small: false, title: one.name, domain, store, run });
  const shapes = drawn.all().map(({ name, attrs }) => ({ name, ...attrs }));
  const groups = drawn.all().filter((mark) => mark.heard.pointermove);
  return {
    needs: all.map((rounds) => one.needs(rounds)),
    domain,
    store,
    bars: shapes
      .filter(({ name, fill, height }) => name === "rect" && fill !== "transparent" && !["7", "8"].includes(height)) // of the key
      .map((shape) => {
        const [px, py, wide, tall] = [shape.x, shape.y, shape.width, shape.height].map(Number);
        return [shape.fill, along(px), along(px + wide), up(py + tall), up(py)];
      }),
    points: shapes.flatMap(({ d, fill, stroke }) => {
      const [, px, py, sign, size] = d?.match(/^M([\d.-]+) ([\d.-]+)([ahL])([\d.-]+)/) ?? [];
      if (!sign || !fill.startsWith("var")) return [];
      const radius = sign === "h" ? Number(size) / 2 : Number(size);
      const [cx, cy] = [
        sign === "L" ? Number(px) : Number(px) + radius,
        sign === "h" ? Number(py) + radius : Number(py),
      ];
      const shape = { a: "disc", h: "square", L: "diamond" }[sign];
      const low = sign === "L" ? [along(cx)] : [along(cx), up(cy)];
      return [[fill === stroke ? shape : `hollow ${shape}`, stroke, ...low]];
    }),
    words: drawn
      .all()
      .filter(({ name }) => name === "text")
      .map((text) => text.textContent),
    told: groups.map(tip),
    picks: groups.filter((group) => group.heard.click),
  };
}
const chain = (...counts) => counts.map(([drafted, accepted, more]) => round({ drafted, accepted, ...more }));

test("bars of acceptance by position are of all rounds with a draft; each tells both shares and sets its filter", () => {
  const lanes = [trace("sd", chain([3, 3], [3, 1], [3, 0], [1, 1], [0, 0])), trace("ar", chain([0, 0]))];
  const { bars, points, told, words, picks, store, needs } = figure("position", lanes, { x: [0.5, 3.5], key: true });
  assert.deepEqual(needs, [true, false]);
  assert.deepEqual(bars, [
    ["var(--draft-2)", 0.64, 1.36, 0, 0.75],
    ["var(--draft-2)", 1.64, 2.36, 0, 0.25],
    ["var(--draft-2)", 2.64, 3.36, 0, 0.25],
  ]);
  assert.deepEqual(points, [
    ["square", "var(--target)", 1, 0.75],
    ["square", "var(--target)", 2, 0.5],
    ["square", "var(--target)", 3, 1],
  ]);
  assert.deepEqual(told, [
    ["position 1", "accepted in 3 of 4 rounds: 75 %", "accepted 3 of 4 tested here: 75 %"],
    ["position 2", "accepted in 1 of 4 rounds: 25 %", "accepted 1 of 2 tested here: 50 %"],
    ["position 3", "accepted in 1 of 4 rounds: 25 %", "accepted 1 of 1 tested here: 100 %"],
  ]);
  assert.ok(words.includes("position in the draft") && words.includes("of those tested"));
  picks[1].heard.click[0]({});
  const run = store.runs.get("sd");
  const passed = () => run.rounds[0].nodes.map((node) => store.passes(run, run.rounds[0], node, null));
  assert.deepEqual(passed(), [false, true, false]);
  picks[1].heard.click[0]({});
  assert.equal(store.filters.size, 0, "once more takes it away");
});

test("marks that set a filter are named by their lane, too, so that no two lanes of Shares have the same names", () => {
  const store = createStore();
  const likely = { nodes: [{ parent: -1, depth: 1, rank: 1, token: 1, state: "accepted", h_target: 0.2, q: 0.9 }] };
  store.load([trace("sd", chain([1, 1, likely])), trace("easd", chain([1, 1, likely]))]);
  const runs = [...store.runs.values()];
  for (const share of [...SHARES, ...FIGURES, ...TCR_FIGURES]) {
    const domain = share.domain(runs.map(({ rounds }) => rounds));
    const common = { width: 400, height: 200, small: false, title: share.name, domain, store };
    for (const run of runs)
      for (const mark of share.draw({ ...common, rounds: run.rounds, run }).all())
        if (mark.attrs.role === "button")
          assert.ok(mark.attrs["aria-label"].startsWith(`${nameOf(store, run)}: `), `${share.id} of ${run.key}`);
  }
});

test("a lane that goes on beyond the axis of the others says how far, and the others do not", () => {
  page();
  const store = createStore();
  const deep = new Array(50).fill(0).map((_, i) => (i ? [3, 1] : [34, 34]));
  store.load([trace("sd", chain(...deep)), trace("easd", chain([3, 3], [3, 1]))]);
  const runs = [...store.runs.values()];
  for (const share of SHARES.slice(0, 2)) {
    const domain = share.domain(runs.map(({ rounds }) => rounds));
    const common = { width: 400, height: 200, small: false, title: share.name, domain, store };
    const [far, near] = runs.map((run) =>
      share
        .draw({ ...common, rounds: run.rounds, run })
        .all()
        .filter((one) => one.attrs.class === "goeson"),
    );
    assert.deepEqual([far.length, near.length], [1, 0], share.id);
    assert.match(far[0].textContent, /to 34/);
    assert.match(share.says?.(runs[0].rounds, domain) ?? "", /34 accepted in 1/);
  }
});

test("rounds by what they accepted, their mean, and the tokens a call that follow", () => {
  const lanes = [trace("sd", chain([3, 3], [3, 1], [3, 1], [0, 0]))];
  const { bars, told, words } = figure("accepted", lanes, { x: [-0.5, 3.5], y: [0, 0.56], key: true });
  assert.deepEqual(bars, [
    ["var(--draft-2)", -0.4, 0.4, 0, 0.25],
    ["var(--draft-2)", 0.6, 1.4, 0, 0.5],
    ["var(--draft-2)", 1.6, 2.4, 0, 0],
    ["var(--draft-2)", 2.6, 3.4, 0, 0.25],
  ]);
  assert.deepEqual(told[1], ["1 accepted", "2 of 4 rounds (50 %)"]);
  assert.ok(words.includes("mean 1.25; 2.25 tokens a call"), words.join());
});

test("acceptance by entropy and by the draft's probability: a point a bin, hollow where it holds few", () => {
  const node = (/** @type {number} */ i, /** @type {object} */ more) => ({
    parent: -1,
    depth: 1,
    rank: 1,
    token: i,
    ...more,
  });
  const nodes = [
    ...[0.1, 0.2, 0.3, 0.4, 0.45].map((h, i) =>
      node(i, { h_target: h, h_draft: h + 0.5, q: 0.85, state: i < 4 ? "accepted" : "rejected" }),
    ),
    node(6, { h_target: 1.2, h_draft: null, q: 0.35, state: "relaxed" }),
    node(7, { h_target: 0.3, h_draft: 0.3, q: 0.85, state: "discarded" }),
  ];
  const lanes = [trace("sd", [{ ...round({ drafted: 7, accepted: 1 }), nodes }])];
  const entropy = figure("entropy", lanes, { x: [0, 1.5], y: [-0.28, 1], key: true });
  assert.deepEqual(entropy.points, [
    ["disc", "var(--draft)", 0.7, 0.8],
    ["square", "var(--target)", 0.29, 0.8],
    ["hollow square", "var(--target)", 1.29, 1],
  ]);
  const counts = ["var(--neutral-soft)"];
  assert.deepEqual(entropy.bars, [
    [...counts, 0.01, 0.49, -0.28, -0.04],
    [...counts, 0.51, 0.99, -0.28, -0.28],
    [...counts, 1.01, 1.49, -0.28, -0.23],
  ]);
  assert.deepEqual(entropy.told, [
    ["H(draft) 0.5 to 1 nats", "accepted 4 of 5: 80 %"],
    ["H(target) 0 to 0.5 nats", "accepted 4 of 5: 80 %"],
    ["H(target) 1 to 1.5 nats", "accepted 1 of 1: 100 %"],
  ]);
  assert.ok(entropy.domain.x === 1.2);
  const probability = figure("probability", lanes, { x: [0, 1], y: [-0.28, 1], pad: 20, key: true });
  assert.deepEqual(probability.points, [
    ["hollow disc", "var(--draft)", 0.35, 1],
    ["disc", "var(--draft)", 0.85, 0.8],
  ]);
  assert.deepEqual(probability.told, [
    ["draft probability 30 % to 40 %, 35 % on average", "accepted 1 of 1: 100 %"],
    ["draft probability 80 % to 90 %, 85 % on average", "accepted 4 of 5: 80 %"],
  ]);
  const said = "The drafter gave 77 % on average and 83 % of 6 were accepted; expected calibration error 15 %.";
  assert.deepEqual([calibrationSaid([{ ...round(), nodes }]), calibrationSaid([])], [said, ""]);
  assert.deepEqual(figure("entropy", [trace("ar", chain([0, 0]))]).needs, [false]);
  assert.deepEqual(figure("probability", [trace("ar", chain([0, 0]))]).needs, [false]);
});

test("lanes' time is told a token, and in parts a round", () => {
  const timed = { draft_ms: 2, verify_ms: 6, other_ms: 2 };
  const { told, words, bars } = figure("time", [
    trace("sd", chain([3, 3, timed], [3, 1, timed])),
    trace("ar", chain([0, 0, { verify_ms: 9, other_ms: 1 }]), { drafter: "none" }),
  ]);
  assert.deepEqual(told, [
    [
      "sd",
      "draft: 2 ms a round, 20 %",
      "target: 6 ms a round, 60 %",
      "other: 2 ms a round, 20 %",
      "prefill: 1 ms, once",
    ],
    ["ar", "target: 9 ms a round, 90 %", "other: 1 ms a round, 10 %", "prefill: 1 ms, once"],
  ]);
  assert.ok(words.includes("3.33 ms  300/s") && words.includes("10 ms  100/s"), words.join());
  const parts = ["--draft-2", "--target-2", "--neutral"].map((colour) => `var(${colour})`);
  assert.deepEqual(
    bars.slice(-6).map(([fill]) => fill),
    [...parts, ...parts],
  );
});

test("the draft length that pays most is named beside what was measured", () => {
  const lanes = [
    trace("sd", chain([2, 2, { draft_ms: 4, verify_ms: 12 }], [2, 0, { draft_ms: 4, verify_ms: 12 }])),
    trace("ar", chain([0, 0, { verify_ms: 10 }]), { guarantee: "reference" }),
  ];
  const { told, words, points, needs } = figure("length", lanes, { x: [0, 2], y: [0, 1.25 * 1.1] });
  assert.deepEqual(needs, [true, false]);
  assert.deepEqual(points, [
    ["disc", "var(--draft)", 0, 1],
    ["disc", "var(--draft)", 1, 1.15],
    ["diamond", "var(--draft)", 2],
    ["square", "var(--target)", 2, 1.25],
  ]);
  assert.deepEqual(told, [
    ["k = 0", "1.00 tokens a call expected", "1.00×, predicted"],
    ["k = 1", "1.50 tokens a call expected", "1.15×, predicted"],
    ["k = 2", "2.00 tokens a call expected", "1.25×, predicted"],
    ["measured", "2 levels a round on average", "1.25×"],
  ]);
  const fast = trace("fast", chain([2, 2, { draft_ms: 1, verify_ms: 5 }]));
  const beside = figure("length", [...lanes, fast], { x: [0, 2], y: [0, 5 * 1.1] });
  assert.deepEqual([beside.domain.y, beside.points], [5, points], "one scale, also of what was measured");
  assert.ok(words.includes("best predicted: k = 2, 1.25×") && words.includes("measured 1.25×"), words.join());
  assert.ok(words.includes("c = 0.17: one draft step / one target call"), words.join());
});

test("ranks of the last accepted draft token: which share lies in the first quarter, and how far half of them go", () => {
  const tree = (/** @type {number} */ tcr, /** @type {object} */ more = {}) =>
    round({
      drafted: 7,
      levels: 2,
      accepted: tcr ? 1 : 0,
      tcr,
      extras: { phi: tcr / 2, bin: tcr > 2 ? 1 : 0, ...more },
    });
  const lanes = [trace("tree", [tree(0), tree(1), tree(2), tree(7, { d_extra: 1 })])];
  const { told, words, needs, bars } = figure("tcr", lanes, { x: [-0.5, 8.5], y: [0, 0.25 * 1.25] });
  assert.deepEqual(
    bars.filter(([, , , , share]) => share).map(([fill, from, to, , share]) => [fill, (from + to) / 2, share]),
    [
      ["var(--neutral)", 0, 0.25],
      ["var(--draft-2)", 1, 0.25],
      ["var(--draft-2)", 2, 0.25],
      ["var(--draft-2)", 7, 0.25],
    ],
  );
  assert.deepEqual(needs, [true]);
  assert.deepEqual(
    told.map((lines) => lines.join(": ")),
    [0, 1, 2, 3, 4, 5, 6, 7].map((rank) =>
      [rank ? `rank ${rank}` : "none accepted", `${[0, 1, 2, 7].includes(rank) ? 1 : 0} of 4 rounds`].join(": "),
    ),
  );
  assert.ok(
    words.includes("75 % within the first quarter") && words.includes("50 %: 1") && words.includes("90 %: 7"),
    words.join(),
  );
  assert.deepEqual(figure("tcr", [trace("sd", chain([3, 1]))]).needs, [false], "of a chain it is the number accepted");
  const mixed = figure("tcr", [trace("tree", [tree(7), tree(0), tree(2), tree(1)])]);
  assert.ok(mixed.words.includes("50 %: 1") && mixed.words.includes("90 %: 7"), "in whatever order they came");
  const dots = figure("tcr-length", lanes, { x: [-0.5, 7.5], y: [0, 1.08] });
  assert.deepEqual(dots.points, [
    ["hollow square", "var(--neutral)", 0, 0],
    ["disc", "var(--draft)", 1, 1],
    ["disc", "var(--draft)", 2, 1],
    ["disc", "var(--draft)", 7, 1],
  ]);
  assert.deepEqual(dots.told[3].slice(0, 2), ["round 3", "1 of 7 accepted, the last of rank 7"]);
  const bins = figure("bins", lanes, { x: [0, 7], y: [0, 3.5 * 1.06], pad: 84 });
  assert.deepEqual(bins.points, [
    ["hollow disc", "var(--neutral)", 0, 0],
    ["disc", "var(--draft)", 1, 0.5],
    ["disc", "var(--draft)", 3, 1],
    ["diamond", "var(--draft)", 5],
  ]);
  assert.deepEqual(bins.bars, [
    ["var(--draft)", 0, 7, 0, 2.25],
    ["var(--draft)", 0, 7, 2.25, 3.71],
  ]);
  assert.deepEqual(bins.words.slice(-2), ["bin 0: 3", "bin 1: 1"]);
  assert.deepEqual(bins.told[0], [
    ...["round 0", "none of 7 accepted", "cumulative entropy 0 nats", "bin 0", "2 levels, 8 tokens checked"],
  ]);
  assert.deepEqual(bandsOf(lanes[0].events.slice(1, -1)), [
    { bin: 0, low: 0, high: 2.25, n: 3 },
    { bin: 1, low: 2.25, high: 3.5, n: 1 },
  ]);
  const far = round({ drafted: 20, levels: 4, accepted: 4, tcr: 12, extras: { phi: 9, bin: 0 } });
  const beside = [...lanes, trace("far", [far, far])];
  const heights = (/** @type {number[][]} */ all) => all.map((one) => one[4]).filter(Boolean);
  assert.deepEqual(heights(figure("tcr", beside, { x: [-0.5, 21.5], y: [0, 1.25] }).bars), heights(bars));
  assert.deepEqual(figure("tcr-length", beside, { x: [-0.5, 12.5], y: [0, 4 * 1.08] }).points, dots.points);
  const sums = figure("tcr-entropy", lanes, { x: [-0.5, 7.5], y: [0, 3.5 * 1.08] });
  assert.deepEqual(figure("tcr-entropy", beside, { x: [-0.5, 12.5], y: [0, 9 * 1.08] }).points, sums.points);
  const end = figure("bins", beside).domain;
  assert.deepEqual(figure("bins", beside, { x: [0, end.x], y: [0, 9 * 1.06], pad: 84 }).points, bins.points);
  assert.ok(end.x > 7);
  assert.deepEqual([quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.9), quantile([5], 0)], [2, 4, 5]);
});
