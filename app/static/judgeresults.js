// What a judge is worth: accuracy against tokens a target call on held-out problems, with intervals; measured offline.

import { h } from "./dom.js";
import { fmt, percent } from "./draw.js";
import { plotted } from "./plot.js";

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
        ...(result ? drawn(result, task) : [h("p.v-empty", {}, "Not measured yet: ", h("code", {}, command))]),
      ),
    );
  }
}

/** @param {any} result @param {string} task @returns {(HTMLElement | string)[]} */
function drawn(result, task) {
  const rows = result.rows.filter(share);
  const groups = result.groups ?? Object.fromEntries(rows.map((/** @type {any} */ { group }) => [group, group]));
  return [
    h("p.quiet", {}, about(result, task), "Made by ", h("code", {}, result.command)),
    plotted(result.figure),
    ...claims(result),
    numbers(rows, groups),
  ];
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
    row.group === "draft" ? "–" : fmt(row.tokens_per_call),
    row.group === "draft" ? "–" : fmt(row.accepted_per_call),
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
