// What a judge is worth: accuracy against tokens a target call on held-out problems, with intervals; measured offline.

import { frame, line, point } from "./charts.js";
import { h, s } from "./dom.js";
import { fmt, percent } from "./draw.js";

/** How groups of results look: the groups are those of the results' file. */
const LOOKS = {
  own: { colour: "--judge", shape: "disc", joined: true },
  safer: { colour: "--judge", shape: "disc", hollow: true },
  transfer: { colour: "--judge", shape: "diamond", joined: true, dash: "5 3", hollow: true },
  topk: { colour: "--draft", shape: "square", joined: true },
  math: { colour: "--neutral", shape: "diamond" },
  exact: { colour: "--target", shape: "square", big: true },
  target: { colour: "--target", shape: "disc", big: true, hollow: true },
  draft: { colour: "--draft", band: true },
};
const share = (row) => row.accuracy;
const whole = (interval) => `${percent(interval.mean)} (${percent(interval.low)} to ${percent(interval.high)})`;

/** @param {HTMLElement} spot @param {any} ctx of workshop.js */
export async function drawAccuracy(spot, ctx) {
  let body;
  try {
    body = await ctx.lab.api.get("evaluations");
  } catch (error) {
    return void spot.append(h("p.warn", {}, error.message));
  }
  if (!spot.isConnected || spot.childElementCount || ctx.kept.tab !== "accuracy") return;
  spot.append(
    h(
      "p.quiet",
      {},
      "One point a setting: the share of held-out problems with the right answer, against tokens emitted a target call. Up and to the right is better. Counts are exact; times are not compared here.",
    ),
  );
  for (const { task, command, result } of body.tasks) {
    spot.append(
      h(
        "section.accuracy",
        { "aria-label": `Accuracy on ${task}` },
        h("h3", {}, task),
        ...(result ? drawn(result, task, spot) : [h("p.v-empty", {}, "Not measured yet: ", h("code", {}, command))]),
      ),
    );
  }
}

function drawn(result, task, spot) {
  const rows = result.rows.filter((row) => share(row));
  const groups =
    result.groups ?? Object.fromEntries([...new Set(rows.map((row) => row.group))].map((group) => [group, group]));
  const width = Math.max(320, Math.min(760, (spot.clientWidth || 760) - 4));
  const bands = rows.filter((row) => LOOKS[row.group]?.band);
  const dots = rows.filter((row) => !LOOKS[row.group]?.band);
  const most = Math.max(...dots.map((row) => row.tokens_per_call));
  const least = Math.min(1, ...dots.map((row) => row.tokens_per_call));
  const low = Math.max(0, Math.min(...rows.map((row) => share(row).low)) - 0.04);
  const high = Math.min(1, Math.max(...rows.map((row) => share(row).high)) + 0.02);
  const chart = frame({
    width,
    height: 340,
    title: `Accuracy on ${task}`,
    x: [least - 0.1, most * 1.04],
    y: [low, high],
    xName: "tokens emitted a target call",
    yName: "problems solved",
    yFormat: percent,
  });
  for (const row of bands) band(chart, row);
  for (const [group, look] of Object.entries(LOOKS)) {
    const own = dots.filter((row) => row.group === group).sort((a, b) => a.tokens_per_call - b.tokens_per_call);
    if (look.joined)
      line(
        chart,
        own.map((row) => [row.tokens_per_call, share(row).mean]),
        { stroke: `var(${look.colour})`, "stroke-dasharray": look.dash ?? null },
      );
    for (const row of own) dot(chart, row, look);
  }
  return [
    h("p.quiet", {}, about(result, task), "Made by ", h("code", {}, result.command)),
    chart.figure,
    key(groups, rows),
    ...claims(result),
    numbers(rows, groups),
  ];
}

function dot(chart, row, look) {
  const { mean, low, high } = share(row);
  const x = chart.x(row.tokens_per_call);
  chart.plot.append(
    s("line", {
      x1: x,
      x2: x,
      y1: chart.y(low),
      y2: chart.y(high),
      stroke: `var(${look.colour})`,
      "stroke-width": 1,
      opacity: 0.55,
    }),
  );
  const lines = [
    row.name,
    `solved ${whole(share(row))}`,
    `${fmt(row.tokens_per_call)} tokens, ${fmt(row.accepted_per_call)} accepted a target call`,
  ];
  const mark = point(chart, row.tokens_per_call, mean, {
    shape: look.shape,
    colour: look.colour,
    size: look.big ? 6 : 4,
    hollow: look.hollow,
    lines,
  });
  mark.setAttribute("tabindex", "0");
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", lines.join(", "));
}

function band(chart, row) {
  const { mean, low, high } = share(row);
  const y = chart.y(mean);
  chart.plot.append(
    s("rect", {
      x: chart.left,
      width: chart.right - chart.left,
      y: chart.y(high),
      height: Math.max(1, chart.y(low) - chart.y(high)),
      fill: "var(--draft-soft)",
      opacity: 0.7,
    }),
    s("line", { x1: chart.left, x2: chart.right, y1: y, y2: y, stroke: "var(--draft)", "stroke-dasharray": "2 3" }),
  );
}

function key(groups, rows) {
  const present = new Set(rows.map((row) => row.group));
  return h(
    "p.resultkey",
    {},
    Object.entries(groups)
      .filter(([group]) => present.has(group) && LOOKS[group])
      .map(([group, words]) => {
        const look = LOOKS[group];
        const box = { plot: s("g"), x: (v) => v, y: (v) => v, small: true };
        if (look.band)
          box.plot.append(
            s("rect", { x: 0, y: 2, width: 22, height: 10, fill: "var(--draft-soft)" }),
            s("path", { d: "M0 7H22", stroke: "var(--draft)", "stroke-dasharray": "2 3" }),
          );
        else {
          if (look.joined)
            box.plot.append(
              s("path", {
                d: "M0 7H22",
                stroke: `var(${look.colour})`,
                "stroke-width": 1.6,
                "stroke-dasharray": look.dash ?? null,
              }),
            );
          point(box, 11, 7, { shape: look.shape, colour: look.colour, size: 4, hollow: look.hollow });
        }
        return h(
          "span",
          {},
          s("svg", { width: 22, height: 14, viewBox: "0 0 22 14", "aria-hidden": "true" }, box.plot),
          ` ${words}`,
        );
      }),
  );
}

function about(result, task) {
  const judge =
    result.auc == null
      ? ""
      : ` Judge: ROC area ${fmt(result.auc)} on unseen prompts, own threshold ${fmt(result.threshold)}. `;
  return `${result.problems} held-out problems of ${task}, greedy, ${result.window} tokens drafted a round. Vertical lines: 95 % intervals (Wilson).${judge} `;
}

function claims(result) {
  const say = (what, above, gap) =>
    above == null
      ? null
      : `The judge's curve lies at or above that of ${what} on ${percent(above)} of the range they share, by ${gap >= 0 ? "+" : "−"}${Math.abs(100 * gap).toFixed(1)} points on average.`;
  return [
    say("top-K", result.above_topk, result.gap_to_topk),
    say("the other task's judge (transfer)", result.above_transfer, result.gap_to_transfer),
  ]
    .filter(Boolean)
    .map((text) => h("p", {}, text));
}

function numbers(rows, groups) {
  const cells = (row) => [
    row.name,
    groups[row.group] ?? row.group,
    LOOKS[row.group]?.band ? "–" : fmt(row.tokens_per_call),
    LOOKS[row.group]?.band ? "–" : fmt(row.accepted_per_call),
    whole(row.accuracy),
    row.accuracy_drop
      ? `${(100 * row.accuracy_drop.mean).toFixed(1)} (${(100 * row.accuracy_drop.low).toFixed(1)} to ${(100 * row.accuracy_drop.high).toFixed(1)})`
      : "–",
  ];
  return h(
    "details.numbers",
    {},
    h("summary", {}, "As a table"),
    h(
      "div.tablebox",
      { tabindex: 0, role: "region", "aria-label": "Numbers of the chart" },
      h(
        "table.mined",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            [
              "setting",
              "group",
              "tokens a call",
              "accepted a call",
              "solved, 95 % interval",
              "points lost against SD, 95 % interval",
            ].map((text) => h("th", { scope: "col" }, text)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              {},
              cells(row).map((text, i) => h(i > 1 ? "td.number" : "td", {}, text)),
            ),
          ),
        ),
      ),
    ),
  );
}
