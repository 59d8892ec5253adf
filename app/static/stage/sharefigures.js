// @ts-check
// The figures of Shares: four of the aggregates as they are, the histogram of ranks, and the time of a token.

import { calibrationSaid } from "../aggregates/acceptance.js";
import { bar, frame, keyLine } from "../aggregates/charts.js";
import { FIGURES } from "../aggregates/figures.js";
import { nameOf, rejectedNode } from "../columns.js";
import { count, s } from "../dom.js";
import { fmt, label, linear, percent } from "../draw.js";
import { makeFilter } from "../filterkinds.js";
import {
  acceptedBeyond,
  billed,
  byPosition,
  depthsBeyond,
  drafting,
  sizeOf,
  summary,
  tcrOf,
  tested,
  timesOf,
} from "../numbers.js";

const BARS = 24; // of the histogram of ranks, at most

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {import("../aggregates/figures.js").Figure} Figure
 * @typedef {Omit<Figure, "names"> & {none: string, of: (rounds: readonly Round[]) => string,
 *   says?: (rounds: readonly Round[], domain: import("../aggregates/figures.js").Domain) => string}} Share
 *   `of`: the denominator in words; `says`: what the figure shows, in a sentence
 */

/** Rounds by the rank of their last accepted draft token, and by the rank of the one that was rejected after it.
 * @param {readonly Round[]} rounds
 * @returns {{accepted: number[], rejected: number[], n: number}} index is the rank, 0: none accepted */
export function ranksOf(rounds) {
  /** @type {number[]} */
  const accepted = [];
  /** @type {number[]} */
  const rejected = [];
  const found = drafting(rounds);
  for (const round of found) {
    const rank = tcrOf(round);
    if (rank !== null) accepted[rank] = (accepted[rank] ?? 0) + 1;
    const index = rejectedNode(round);
    const lost = index === null ? null : (round.nodes[index].rank ?? null);
    if (lost !== null) rejected[lost] = (rejected[lost] ?? 0) + 1;
  }
  const whole = (/** @type {number[]} */ list) => Array.from(list, (n) => n ?? 0);
  return { accepted: whole(accepted), rejected: whole(rejected), n: found.length };
}

/** What the histogram of ranks shows, in a sentence. @param {readonly Round[]} rounds @returns {string} */
export function ranksSaid(rounds) {
  const found = drafting(rounds).flatMap((round) => {
    const rank = tcrOf(round);
    return rank === null ? [] : [{ rank, share: rank / sizeOf(round) }];
  });
  if (!found.length) return "";
  const sorted = found.map(({ rank }) => rank).sort((a, b) => a - b);
  const middle = sorted[Math.ceil(sorted.length / 2) - 1];
  const none = sorted.filter((rank) => rank === 0).length;
  const early = found.filter(({ share }) => share <= 0.25).length;
  return (
    `Half of the rounds end at rank ${middle} or below; in ${none} of ${found.length} none was accepted; ` +
    `${early} of ${found.length} end within the first quarter of the draft.`
  );
}

/** @type {Share} */
const tcr = {
  id: "tcr",
  name: "Terminal confidence rank",
  caption:
    "Terminal confidence rank (TCR): rank by cumulative draft probability of a round's last accepted draft token, " +
    "0 when none was accepted. Solid: accepted. Outlined: tested and rejected after it.",
  none: "No draft tokens.",
  of: (rounds) => `of ${count(drafting(rounds).length, "round")} with a draft`,
  says: ranksSaid,
  needs: (rounds) => drafting(rounds).length > 0,
  domain: (all) => {
    const lists = all.map(ranksOf);
    const x = Math.max(4, ...lists.map(({ accepted, rejected }) => Math.max(accepted.length, rejected.length) - 1));
    return {
      x,
      y: Math.max(
        0.1,
        ...lists.flatMap(({ accepted, rejected, n }) =>
          rankBars(accepted, rejected, x).flatMap(({ kept, lost }) => [kept / n, lost / n]),
        ),
      ),
    };
  },
  draw({ rounds, width, height, title, domain, store, run }) {
    const { accepted, rejected, n } = ranksOf(rounds);
    const chart = frame({
      width,
      height,
      title,
      whose: nameOf(store, run),
      key: true,
      x: [-0.5, domain.x + 0.5],
      y: [0, domain.y * 1.1],
      xName: "rank among the round's draft tokens",
      yName: "share of rounds",
      xWhole: true,
      yFormat: percent,
    });
    for (const { low, high, kept, lost } of rankBars(accepted, rejected, domain.x)) {
      const words = low === high ? `rank ${low}` : `ranks ${low} to ${high}`;
      const x0 = chart.x(low - 0.5) + 1;
      const x1 = chart.x(high + 0.5) - 1;
      bar(chart, {
        x0,
        x1,
        value: kept / n,
        colour: low === 0 && high === 0 ? "--neutral" : "--draft-2",
        store,
        lines: [
          words,
          `last accepted: ${kept} of ${count(n, "round")}`,
          `rejected after it: ${lost} of ${count(n, "round")}`,
        ],
        pick: { name: "tcr", filter: makeFilter({ kind: "tcr", low, high }) },
      });
      if (lost) {
        const mark = bar(chart, { x0, x1, value: lost / n, colour: "--target", outline: true });
        mark.setAttribute("pointer-events", "none");
      }
    }
    keyLine(chart.figure, chart.left, 9, [
      { words: "last accepted", colour: "--draft-2", shape: "bar" },
      { words: "tested, rejected", colour: "--target", shape: "box" },
    ]);
    return chart.figure;
  },
};

/** Rounds by rank in at most `BARS` bars of equally many ranks up to `last`, which all methods share.
 * @param {readonly number[]} accepted by rank @param {readonly number[]} rejected @param {number} last */
export function rankBars(accepted, rejected, last) {
  const step = Math.max(1, Math.ceil((last + 1) / BARS));
  return Array.from({ length: Math.ceil((last + 1) / step) }, (_, i) => {
    const [low, high] = [i * step, i * step + step - 1];
    const sum = (/** @type {readonly number[]} */ list) => list.slice(low, high + 1).reduce((a, b) => a + b, 0);
    return { low, high, kept: sum(accepted), lost: sum(rejected) };
  });
}

/** Pixels that the names of parts take left of their bars, in all lanes the same. @param {{words: string}[]} parts */
export const leftOf = (parts) => Math.max(46, ...parts.map(({ words }) => 8 + 6.5 * words.length));

/** Where a run's time goes, a row a part: its milliseconds a token, those of the parts before it, and its share.
 * @param {Run} run @param {readonly Round[]} rounds */
export function budget(run, rounds) {
  const numbers = summary(billed(run, rounds));
  const [tokens, total] = [Math.max(1, numbers.tokens), numbers.draft + numbers.verify + numbers.other];
  let before = 0;
  return timesOf([numbers]).map(({ part, words, colour }) => {
    const row = { words, colour, before, value: numbers[part] / tokens, share: numbers[part] / total };
    before += row.value;
    return row;
  });
}

/** @type {Share} */
const time = {
  id: "time",
  name: "Time budget",
  caption:
    "Milliseconds a token: in the drafter, in the target, in a reward model or a network that writes in place where " +
    "there is one, and in none. The prefill lies outside.",
  none: "No rounds yet.",
  of: (rounds) => `over ${count(summary(rounds).tokens, "token")}`,
  needs: (rounds) => rounds.length > 0,
  domain: (all) => ({
    left: leftOf(timesOf(all.map((rounds) => summary(rounds)))),
    x: Math.max(
      0.01,
      ...all.map((rounds) => {
        const numbers = summary(rounds);
        return (numbers.draft + numbers.verify + numbers.other) / Math.max(1, numbers.tokens);
      }),
    ),
  }),
  draw({ rounds, width, height, title, domain, run }) {
    const parts = budget(run, rounds);
    const chart = frame({
      width,
      height,
      title,
      x: [0, domain.x * 1.02],
      y: [0, parts.length + 1],
      yTicks: [],
      leftPad: domain.left,
      rightPad: 104,
      xName: "milliseconds a token",
      yName: "",
    });
    const x = linear(0, domain.x * 1.02, chart.left, chart.right);
    const all = parts.length + 1;
    parts.forEach(({ words, colour, before, value, share }, i) => {
      const y = chart.y(all - 1.5 - i) - 8.5; // its bar in the middle of its row
      chart.plot.append(
        s("rect", {
          x: x(before),
          y: chart.y(all - 0.15),
          width: Math.max(0, x(value) - x(0)),
          height: chart.y(all - 0.95) - chart.y(all - 0.15),
          fill: `var(${colour})`,
        }),
        s("rect", { x: x(0), y: y + 4, width: Math.max(0.5, x(value) - x(0)), height: 9, fill: `var(${colour})` }),
        label(chart.left - 5, y + 12, words, { "text-anchor": "end" }),
      );
      chart.plot.append(label(chart.right + 8, y + 12, `${fmt(value, 2)} ms, ${percent(share)}`));
    });
    const { before, value } = parts[parts.length - 1];
    chart.plot.append(
      label(chart.left - 5, chart.y(all - 0.7), "all", { "text-anchor": "end" }),
      label(chart.right + 8, chart.y(all - 0.7), `${fmt(before + value, 2)} ms`, { fill: "var(--ink)" }),
    );
    return chart.figure;
  },
};

/** The numbers beyond the end of an axis, in a sentence. @param {import("../numbers.js").Beyond} beyond */
const beyondSaid = (beyond) => (beyond ? `Beyond the axis, ${beyond.of}: ${beyond.said.join(", ")}.` : "");

/** A figure of the aggregates as a share.
 * @param {string} id @param {Pick<Share, "none" | "of" | "says"> & {name?: string}} more @returns {Share} */
function share(id, more) {
  const figure = FIGURES.find((one) => one.id === id);
  if (!figure) throw new Error(`no figure ${id}`);
  return { ...figure, ...more };
}

/** @type {Share[]} */
export const SHARES = [
  share("position", {
    name: "Acceptance by depth",
    none: "No draft tokens.",
    of: (rounds) => `of ${count(byPosition(rounds).drafting, "round")} with a draft`,
    says: (rounds, { x }) => beyondSaid(depthsBeyond(rounds, x)),
  }),
  share("accepted", {
    name: "Accepted a round",
    none: "No draft tokens.",
    of: (rounds) => `of ${count(rounds.length, "round")}`,
    says: (rounds, { x }) => beyondSaid(acceptedBeyond(rounds, x)),
  }),
  tcr,
  share("entropy", {
    name: "Acceptance and entropy",
    none: "No draft tokens with entropies.",
    of: (rounds) => `of ${count(tested(rounds, (node) => node.h_target).length, "tested draft token")}`,
  }),
  share("probability", {
    name: "Acceptance and draft probability",
    none: "No draft probabilities.",
    of: (rounds) => `of ${count(tested(rounds, (node) => node.q).length, "tested draft token")}`,
    says: calibrationSaid,
  }),
  time,
];
