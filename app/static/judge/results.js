// @ts-check
// What a judge is worth: accuracy against tokens a target call on held-out problems, with intervals; measured offline.

import { commandline } from "../commandline.js";
import { h } from "../dom.js";
import { fmt, minus, perCall, percent } from "../draw.js";
import { plotted } from "../plot.js";
import { interval } from "../trajectories/pool.js";

/**
 * @typedef {import("../types/analysis.js").Interval} Interval
 * @typedef {import("../types/measured.js").JudgeResult} JudgeResult
 * @typedef {import("../types/measured.js").JudgedSetting} JudgedSetting
 */

const one = (/** @type {number} */ value) => minus(value.toFixed(1));
const points = (/** @type {number} */ share) => one(100 * share);
/** Points lost. @param {Interval | null} drop */
export const lost = (drop) => interval(drop, points);

/** @param {HTMLElement} spot @param {import("../types/workshop.js").Workshop} ctx */
export async function drawAccuracy(spot, ctx) {
  const body = await ctx.lab.api.get("evaluations").catch((error) => {
    spot.append(h("p.warn", {}, error.message));
  });
  if (!body) return;
  if (!spot.isConnected || spot.childElementCount || ctx.kept.tab !== "accuracy") return;
  spot.append(
    h(
      "p.quiet",
      {},
      "One point a setting: the share of held-out problems with the right answer, against tokens emitted a target " +
        "call. Up and to the right is better. Counts are exact; times are not compared here.",
    ),
  );
  for (const { task, command, result } of body.tasks) {
    spot.append(
      h(
        "section.accuracy",
        { "aria-label": `Accuracy on ${task}` },
        h("h3", {}, task),
        ...(result ? drawn(result, task) : [h("p.v-empty", {}, "Not measured yet: ", commandline(command))]),
      ),
    );
  }
}

/** @param {JudgeResult} result @param {string} task @returns {(HTMLElement | string)[]} */
function drawn(result, task) {
  return [
    h("p.quiet", {}, about(result, task), " Made by ", commandline(result.command)),
    plotted(result.figure, { source: about(result, task) }),
    ...claims(result),
    numbers(result),
  ];
}

/** @param {JudgeResult} result @param {string} task */
function about(result, task) {
  const judge =
    result.auc == null
      ? ""
      : `Judge: own threshold ${fmt(result.threshold)}, chosen, as its C was, on the prompts where its ROC area is ` +
        `${fmt(result.auc)}.`;
  const how = `${result.problems} held-out problems of ${task}, greedy, ${result.window} tokens drafted a round.`;
  const parts = [how, "Vertical lines: 95 % intervals (Wilson).", judge, ...(result.notes ?? [])];
  return parts.filter(Boolean).join(" ");
}

/** @param {JudgeResult} result */
function claims(result) {
  const signed = (/** @type {number} */ gap) => `${gap >= 0 ? "+" : "−"}${Math.abs(100 * gap).toFixed(1)}`;
  /** @param {string} what @param {Interval | null} above @param {Interval | null} gap @param {string} group */
  const say = (what, above, gap, group) => {
    if (above === null || gap === null) return null;
    const { low, high } = gap;
    const span = low === null || high === null ? "" : ` (${signed(low)} to ${signed(high)})`;
    const where = `on ${percent(above.mean)} of the range they share`;
    const by = `${signed(gap.mean)} points${span}`;
    const line = result.lines?.[group];
    return `The judge's curve lies at or above that of ${what} ${where}, by ${by} on average.${line ? ` ${line}` : ""}`;
  };
  return [
    result.rules ?? null,
    say("top-K", result.above_topk, result.gap_to_topk, "topk"),
    say("the other task's judge (transfer)", result.above_transfer, result.gap_to_transfer, "transfer"),
  ]
    .filter((text) => text !== null)
    .map((text) => h("p", {}, text));
}

/** @param {JudgeResult} result */
function numbers({ rows, groups }) {
  const bleu = rows.some((row) => row.bleu);
  const cells = (/** @type {JudgedSetting} */ row) => [
    row.name,
    groups[row.group] ?? row.group,
    row.group === "draft" ? "–" : perCall(row.tokens_per_call),
    row.group === "draft" ? "–" : perCall(row.accepted_per_call),
    interval(row.accuracy, percent),
    lost(row.accuracy_drop),
    ...(bleu ? [interval(row.bleu, one), interval(row.bleu_drop, one)] : []), // 0 to 100
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
              ...(bleu ? ["BLEU, 95 % interval", "BLEU lost against SD, 95 % interval"] : []),
            ].map((text) => h("th", { scope: "col" }, text)),
          ),
        ),
        h(
          "tbody",
          {},
          rows
            .filter((row) => row.accuracy)
            .map((row) =>
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
