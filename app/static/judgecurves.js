// What a judge makes of the labels: ROC, recall against threshold, scores by label, reliability; and a threshold to move.

import { bar, frame, keyLine, line, marker, point } from "./charts.js";
import { nameOf } from "./columns.js";
import { h } from "./dom.js";
import { fmt, percent, pieceOf } from "./draw.js";
import { atThreshold, histogram, recallCurve, reliability, roc } from "./judgement.js";
import { knobsOf, movable, replay } from "./thresholds.js";

const TRAINING = "unseen labels of training: ";

/** @param {HTMLElement} spot @param {any} ctx of workshop.js */
export async function drawCurves(spot, ctx) {
  const { kept, lab } = ctx;
  kept.judges ??= await lab.api.get("evaluations").then(
    (body) => body.tasks.filter((task) => task.judge),
    () => [],
  );
  if (!spot.isConnected || spot.childElementCount || kept.tab !== "curves") return;
  const sources = sourcesOf(ctx);
  if (!sources.length) {
    return void spot.append(
      h("p.v-empty", {}, "No judge has scored these labels."),
      h(
        "p.quiet",
        {},
        "Train one with ",
        h("code", {}, "python -m engine judge-train --preset tiny --mined FILE --out assets/tiny/judge-arithmetic"),
        ", name it in the preset, and mine again: each label then carries its score.",
      ),
      ...(judgeRuns(ctx.store).length ? [cutPanel([], ctx, 0.5)] : []),
    );
  }
  const chosen = sources.find((source) => source.name === kept.curves) ?? sources[0];
  const threshold = kept.threshold ?? chosen.threshold ?? 0.5;
  const charts = h("div.curves");
  spot.append(
    h(
      "div.row.tools",
      {},
      h(
        "label.field",
        {},
        h("span", {}, "Labels"),
        h(
          "select",
          {
            onchange: (event) => {
              kept.curves = event.target.value;
              kept.threshold = null;
              ctx.draw();
            },
          },
          sources.map(({ name }) => h("option", { value: name, selected: name === chosen.name }, name)),
        ),
      ),
    ),
    cutPanel(chosen.scored, ctx, threshold, chosen.threshold, (now) => drawAll(charts, chosen, now)),
    charts,
  );
  drawAll(charts, chosen, threshold);
}

/** Sets of scored labels: those shown, and those that a judge had not seen in training. */
function sourcesOf(ctx) {
  const own = ctx.items
    .filter((item) => item.label.score != null)
    .map((item) => ({ score: item.label.score, important: item.label.important }));
  const found = own.length
    ? [
        {
          name: `this set, as filtered (${own.length} labels)`,
          scored: own,
          threshold: ctx.head()?.judge?.threshold ?? ctx.kept.judges[0]?.judge.threshold ?? null,
        },
      ]
    : [];
  return [
    ...found,
    ...ctx.kept.judges.map(({ task, judge }) => ({
      name: `${TRAINING}${task} (${judge.scores.length} labels)`,
      threshold: judge.threshold,
      scored: judge.scores.map((score, i) => ({ score, important: Boolean(judge.truth[i]) })),
    })),
  ];
}

/** The slider, what it keeps, and where recorded runs would first change. */
function cutPanel(scored, ctx, first, own = null, moved = () => {}) {
  const words = h("p.cutwords", { role: "status" });
  const runs = h("ul.cutruns");
  const show = h("output.v-value", {}, fmt(first));
  const input = h("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.005,
    value: first,
    id: "cut",
    "aria-describedby": "cut-help",
    oninput: () => set(Number(input.value), true),
  });
  const set = (threshold, asked) => {
    if (asked) ctx.kept.threshold = threshold;
    show.textContent = fmt(threshold);
    words.textContent = scored.length ? said(atThreshold(scored, threshold)) : "";
    runs.replaceChildren(...changes(ctx, threshold));
    moved(threshold);
  };
  const back =
    own == null
      ? null
      : h(
          "button",
          {
            onclick: () => {
              input.value = own;
              set(own, true);
            },
          },
          `Judge's own (${fmt(own)})`,
        );
  const panel = h(
    "section.cut",
    {},
    h(
      "div.v-slider",
      {},
      h("label", { for: "cut" }, "threshold"),
      h("span.v-track", {}, input),
      show,
      h(
        "span.v-help",
        { id: "cut-help" },
        "A refused guess is kept as drafted when its score lies below the threshold.",
      ),
    ),
    back,
    words,
    h("h4", {}, "On the page"),
    runs,
  );
  set(first, false);
  return panel;
}

function said({ n, kept, keptImportant, important, recall, keptUnimportant }) {
  return `${kept} of ${n} mismatches would be kept: ${keptImportant} of the ${important} important ones, which may change the answer, and ${kept - keptImportant} of the ${n - important} others (${percent(keptUnimportant)}). Recall of important ones ${percent(recall)}.`;
}

const judgeRuns = (store) => [...store.runs.values()].filter((run) => movable(run).includes("judge_threshold"));

/** For each run whose rule is a judge: where the text would first change. */
function changes({ store, lab }, threshold) {
  const runs = judgeRuns(store);
  if (!runs.length)
    return [
      h(
        "li.quiet",
        {},
        "No run on the page was decided by a judge. Run one, or open a recorded case with one, to see where its text would change.",
      ),
    ];
  return runs.map((run) => {
    const { changed, marks, was, known } = replay(run, { ...knobsOf(run), judge_threshold: threshold });
    const go = () => {
      lab.ui.close();
      store.setCursor({ run: run.key, round: changed.round, node: changed.node });
    };
    const start = `${nameOf(store, run)}, run at ${fmt(knobsOf(run).judge_threshold)}: `;
    if (!known) return h("li", {}, `${start}it asked its judge about no guess.`);
    if (!changed)
      return h(
        "li",
        {},
        `${start}the text stays the same to its end (${marks.length} of ${known} refused guesses kept, ${was.length} as run).`,
      );
    const node = run.rounds[changed.round].nodes[changed.node];
    return h(
      "li",
      {},
      start,
      "the text first changes at position ",
      h("button.plain", { onclick: go }, `${changed.pos}, `, h("code", {}, pieceOf(run, node.token))),
      " ; beyond it the run would be another.",
    );
  });
}

function drawAll(spot, { scored, name }, threshold) {
  const room = spot.clientWidth || 380;
  const width =
    room > 1240 ? Math.floor((room - 66) / 4) : room > 640 ? Math.floor((room - 22) / 2) : Math.min(420, room - 4);
  const size = { width, height: 250 };
  const at = atThreshold(scored, threshold);
  spot.replaceChildren(
    rocChart(scored, at, size),
    recallChart(scored, threshold, size),
    scoreChart(scored, threshold, size),
    reliabilityChart(scored, size),
    numbers(scored, name),
  );
}

const figure = (chart, title, caption) =>
  h(
    "figure.curve",
    { style: `width:${chart.figure.getAttribute("width")}px` },
    h("h4", {}, title),
    chart.figure,
    h("figcaption.quiet", {}, caption),
  );

function rocChart(scored, at, size) {
  const { points, auc } = roc(scored);
  const chart = frame({
    ...size,
    title: "ROC",
    x: [0, 1],
    y: [0, 1],
    xName: "share of unimportant swaps refused",
    yName: "recall of important swaps",
    xFormat: percent,
    yFormat: percent,
    rightPad: 20,
  });
  line(
    chart,
    [
      [0, 0],
      [1, 1],
    ],
    { stroke: "var(--line-2)", "stroke-dasharray": "4 3", "stroke-width": 1 },
  );
  line(
    chart,
    points.map(([x, y]) => [x, y]),
    { stroke: "var(--judge)" },
  );
  if (at.recall != null && at.keptUnimportant != null)
    point(chart, 1 - at.keptUnimportant, at.recall, { shape: "diamond", colour: "--target", size: 5 });
  return figure(
    chart,
    "ROC",
    `Area ${auc == null ? "unknown: one class only" : fmt(auc)}; n = ${scored.length}, ${at.important} important. Diamond: the threshold above. Dashed: chance.`,
  );
}

function recallChart(scored, threshold, size) {
  const curve = recallCurve(scored);
  const chart = frame({
    ...size,
    title: "Recall against threshold",
    x: [0, 1],
    y: [0, 1],
    xName: "threshold, probability",
    yName: "share",
    yFormat: percent,
    key: true,
  });
  line(
    chart,
    curve.map((one) => [one.threshold, one.recall]),
    { stroke: "var(--judge)" },
  );
  line(
    chart,
    curve.map((one) => [one.threshold, one.keptUnimportant]),
    { stroke: "var(--draft)", "stroke-dasharray": "6 3" },
  );
  marker(chart, threshold, "", { colour: "--target" });
  keyLine(chart.figure, chart.left, 9, [
    { words: "important refused (recall)", colour: "--judge", shape: "line" },
    { words: "others kept", colour: "--draft", shape: "dash" },
  ]);
  return figure(
    chart,
    "Recall against threshold",
    `A higher threshold keeps more drafts and refuses fewer important ones. n = ${scored.length}.`,
  );
}

function scoreChart(scored, threshold, size) {
  const bins = histogram(scored);
  const high = Math.max(1, ...bins.map((bin) => Math.max(bin.important, bin.unimportant)));
  const chart = frame({
    ...size,
    title: "Scores by label",
    x: [0, 1],
    y: [-high, high],
    xName: "judge score, probability",
    yName: "swaps",
    yFormat: (value) => fmt(Math.abs(value)),
    yWhole: true,
    key: true,
  });
  for (const bin of bins) {
    const lines = [
      `score ${fmt(bin.low)} to ${fmt(bin.high)}`,
      `${bin.important} important`,
      `${bin.unimportant} not important`,
    ];
    bar(chart, { x0: chart.x(bin.low) + 1, x1: chart.x(bin.high) - 1, value: bin.important, colour: "--judge", lines });
    bar(chart, {
      x0: chart.x(bin.low) + 1,
      x1: chart.x(bin.high) - 1,
      value: -bin.unimportant,
      colour: "--draft",
      outline: true,
    });
  }
  marker(chart, threshold, "", { colour: "--target" });
  keyLine(chart.figure, chart.left, 9, [
    { words: "important, upwards", colour: "--judge", shape: "bar" },
    { words: "not important, downwards", colour: "--draft", shape: "box" },
  ]);
  return figure(
    chart,
    "Scores by label",
    `Counts in bins of 0.05; n = ${scored.length}. A good judge has both heaps apart.`,
  );
}

function reliabilityChart(scored, size) {
  const chart = frame({
    ...size,
    title: "Reliability",
    x: [0, 1],
    y: [0, 1],
    xName: "mean score of a bin, probability",
    yName: "share really important",
    xFormat: percent,
    yFormat: percent,
    rightPad: 20,
  });
  line(
    chart,
    [
      [0, 0],
      [1, 1],
    ],
    { stroke: "var(--line-2)", "stroke-dasharray": "4 3", "stroke-width": 1 },
  );
  for (const bin of reliability(scored).filter(({ n }) => n)) {
    line(
      chart,
      bin.interval.map((share) => [bin.mean, share]),
      { stroke: "var(--judge)", "stroke-width": 1 },
    );
    const lines = [
      `scores ${fmt(bin.low)} to ${fmt(bin.high)}: ${bin.n} swaps`,
      `${percent(bin.share)} important (${percent(bin.interval[0])} to ${percent(bin.interval[1])})`,
    ];
    point(chart, bin.mean, bin.share, { colour: "--judge", size: 3.5, lines });
  }
  return figure(
    chart,
    "Reliability",
    `In bins of 0.1 with 95 % intervals; n = ${scored.length}. On the dashed line a score of 30 % is right in 30 of 100 swaps.`,
  );
}

function numbers(scored, name) {
  const rows = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9].map((threshold) => [
    threshold,
    atThreshold(scored, threshold),
  ]);
  return h(
    "details.numbers",
    {},
    h("summary", {}, "As a table"),
    h(
      "div.tablebox",
      { tabindex: 0, role: "region", "aria-label": "Numbers of the curves" },
      h(
        "table.mined",
        {},
        h("caption", {}, name),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["threshold", "kept", "important kept", "recall", "others kept"].map((text) =>
              h("th", { scope: "col" }, text),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(([threshold, at]) =>
            h(
              "tr",
              {},
              [
                fmt(threshold),
                `${at.kept} of ${at.n}`,
                `${at.keptImportant} of ${at.important}`,
                percent(at.recall),
                percent(at.keptUnimportant),
              ].map((text) => h("td.number", {}, text)),
            ),
          ),
        ),
      ),
    ),
  );
}
