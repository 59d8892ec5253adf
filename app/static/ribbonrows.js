/** The rows of the ribbon: what each shows, and its scale. */

import { targetRank } from "./columns.js";
import { FONT, fmt } from "./draw.js";
import { flagged } from "./flags.js";
import { linesOf, overlapAt, overlapN } from "./thresholds.js";

/** @typedef {{key: string, label: string, unit: string, height: number, low: number, high: number, ticks: number[], value: (column: any) => number|null}} Row */

const GAP = 13;
export const known = (value) => value !== null && value !== undefined;

/** The rows that a run has data for. @param {any} run @param {any[]} list columns @param {number} width of one column @returns {Row[]} */
export function rowsOf(run, list, width) {
  const some = (read) => list.some((column) => known(read(column)));
  const common = (column) => overlapAt(run, column.node);
  const extra = (name) => (column) => run.rounds[column.round].extras?.[name] ?? null;
  const top = Math.max(
    2,
    ...list.map((column) =>
      Math.max(column.token.h_target ?? 0, column.node?.h_draft ?? 0, column.node?.h_target ?? 0),
    ),
  );
  const high = Math.ceil(top * 1.04);
  const listed = list.find((column) => column.node?.top_draft?.length)?.node.top_draft.length ?? 0;
  const depth =
    known(extra("levels")(list[0] ?? { round: 0 })) || some(extra("levels"))
      ? extra("levels")
      : (column) => run.rounds[column.round].levels;
  const nodes = (column) => extra("n_verify")(column) ?? run.rounds[column.round].fed;
  const tree = run.rounds.some((round) => round.nodes?.some((node, i) => node.parent !== i - 1));
  const most = (read) => Math.max(1, ...list.map((column) => read(column) ?? 0));
  const rows = [
    { key: "state", label: "decision", unit: "", height: 20, value: () => 1 },
    width >= 24 && { key: "text", label: "", unit: "", height: 15, value: () => 1 },
    {
      key: "entropy",
      label: "entropy",
      unit: "nats",
      height: 76,
      low: 0,
      high,
      ticks: [0, high / 2, high],
      value: (column) => column.token.h_target ?? column.node?.h_target ?? null,
    },
    some(common) && {
      key: "overlap",
      label: `overlap@${overlapN(run)}`,
      unit: "",
      height: 30,
      low: 0,
      high: 1,
      ticks: [0, 1],
      value: common,
    },
    some(keepAt) && {
      key: "keep",
      label: "P(keep)",
      unit: "",
      height: 34,
      low: 0,
      high: 1,
      ticks: [0, 1],
      value: keepAt,
    },
    listed > 0 && {
      key: "rank",
      label: "target's 1st,",
      unit: "rank in draft",
      height: 40,
      low: 1,
      high: listed + 1,
      ticks: [1, listed],
      value: rankAt(listed),
    },
    some(allowedAt) && {
      key: "gap",
      label: "gap to 1st",
      unit: "nats",
      height: 34,
      low: 0,
      high: gapTop(list),
      ticks: [0, gapTop(list)],
      value: (column) => column.node?.reason?.gap ?? null,
    },
    some(judgeAt) && {
      key: "judge",
      label: "judge score",
      unit: "probability",
      height: 34,
      low: 0,
      high: 1,
      ticks: [0, 1],
      value: judgeAt,
    },
    flagged(run) && { key: "flags", label: "importance", unit: "mined, judged", height: 22, value: () => 1 },
    tree && {
      key: "depth",
      label: "depth d′",
      unit: "levels",
      height: 26,
      low: 0,
      high: most(depth),
      ticks: [0, most(depth)],
      value: depth,
    },
    tree && {
      key: "nodes",
      label: "checked N′",
      unit: "nodes",
      height: 26,
      low: 0,
      high: most(nodes),
      ticks: [0, most(nodes)],
      value: nodes,
    },
  ].filter(Boolean);
  let y = 8;
  for (const row of rows) {
    row.y = y;
    y += row.height + (row.key === "state" && rows[1].key === "text" ? 1 : GAP);
  }
  return rows;
}

/** @param {Row[]} rows @returns {number} */
export function heightOf(rows) {
  const last = rows.at(-1);
  return last ? last.y + last.height + 18 : 60;
}

const keepAt = (column) => column.node?.accept_prob ?? null;
export const allowedAt = (column) => (column.node?.reason?.gap === undefined ? null : (column.node.reason.tau ?? null));
const gapTop = (list) => Math.max(1, Math.ceil(2 * Math.max(...list.map((column) => allowedAt(column) ?? 0))));
const judgeAt = (column) => column.node?.judge ?? null;
const rankAt = (listed) => (column) => {
  const rank = targetRank(column.node);
  return rank === null ? null : Math.min(rank, listed + 1);
};

export const yOf = (row, value) =>
  row.y + row.height - ((Math.min(row.high, Math.max(row.low, value)) - row.low) / (row.high - row.low)) * row.height;

/** Ranks run downwards, 1 on top, on a logarithmic scale. */
export const rankY = (row, rank) => row.y + (Math.log(rank) / Math.log(row.high)) * row.height;

/** Labels and scales, to the left of the columns. @param {any} ctx @param {Row[]} rows @param {number} width @param {(name: string) => string} ink @param {any} run @param {any=} knobs */
export function paintAxis(ctx, rows, width, ink, run, knobs) {
  for (const row of rows) {
    const lines = linesOf(run, row.key, knobs);
    ctx.textAlign = "left";
    ctx.fillStyle = ink("--ink-2");
    ctx.font = `11px ${FONT}`;
    const middle = row.y + row.height / 2;
    if (row.unit) {
      ctx.fillText(row.label, 0, middle - 2);
      ctx.fillStyle = ink("--ink-3");
      ctx.font = `10px ${FONT}`;
      ctx.fillText(row.unit, 0, middle + 10);
    } else ctx.fillText(row.label, 0, middle + 4);
    ctx.textAlign = "right";
    ctx.font = `10px ${FONT}`;
    ctx.fillStyle = ink("--ink-3");
    const free = (tick) => lines.every((line) => Math.abs(yOf(row, line.value) - yOf(row, tick)) > 9);
    for (const tick of (row.ticks ?? []).filter(free))
      ctx.fillText(fmt(tick), width - 6, (row.key === "rank" ? rankY(row, tick) : yOf(row, tick)) + 3.5);
    ctx.fillStyle = ink("--judge");
    for (const line of lines) ctx.fillText(fmt(line.value), width - 6, yOf(row, line.value) + 3.5);
  }
}
