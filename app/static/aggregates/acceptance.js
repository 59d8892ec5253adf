// @ts-check
// Figures of acceptance: by position in the draft, a round, by entropy, and by the drafter's own probability.

import { nameOf } from "../columns.js";
import { count, num, s } from "../dom.js";
import { fmt, perCall, percent } from "../draw.js";
import { makeFilter } from "../filterkinds.js";
import {
  acceptedBeyond,
  acceptedIn,
  binned,
  byPosition,
  calibration,
  depthsBeyond,
  depthsOf,
  drafted,
  most,
  RARE,
  summary,
  tested,
  wilson,
} from "../numbers.js";
import { bar, DOTS, frame, goesOn, keyLine, line, marker, pickable, point } from "./charts.js";

/**
 * @typedef {import("./figures.js").Figure} Figure
 * @typedef {import("../types/trace.js").Round} Round
 */

const BIN = 0.5;
const BEYOND = 40; // pixels behind the end of an axis beyond which some lane goes on
const FEW = 5; // fewer draft tokens than this are drawn hollow and left out of the line

/** @param {import("./figures.js").Domain} domain */
const padOf = ({ x, deepest }) => (deepest > x ? BEYOND : undefined);

/** How an axis ends before some lane does, for a caption; empty where it shows all of them.
 * @param {import("./figures.js").Domain} domain */
export const endSaid = ({ x, deepest }) =>
  deepest > x
    ? ` The axis ends where no method has ${100 * RARE} % of its rounds left; “to ${deepest}” says how far one goes on.`
    : "";

/** @type {Figure} */
export const position = {
  id: "position",
  name: "By position",
  names: ["accept_by_depth"],
  caption:
    "Bars: rounds that accepted a draft token at this position / rounds with a draft. Squares: accepted / tested " +
    "there (95 % Wilson, as if rounds were independent; those of one prompt are alike).",
  needs: drafted,
  domain: depthsOf,
  draw({ rounds, width, height, small, title, domain, store, run }) {
    const { marginal, conditional, accepted, tested: seen, drafting } = byPosition(rounds);
    const chart = frame({
      width,
      height,
      small,
      title,
      whose: nameOf(store, run),
      x: [0.5, domain.x + 0.5],
      y: [0, 1],
      xName: "position in the draft",
      yName: "share accepted",
      xWhole: true,
      yFormat: percent,
      yTicks: [0, 0.25, 0.5, 0.75, 1],
      key: true,
      rightPad: padOf(domain),
    });
    marginal.slice(0, domain.x).forEach((share, i) => {
      const depth = i + 1;
      bar(chart, {
        x0: chart.x(depth - 0.36),
        x1: chart.x(depth + 0.36),
        value: share,
        colour: "--draft-2",
        store,
        lines: [
          `position ${depth}`,
          `accepted in ${accepted[i]} of ${count(drafting, "round")}: ${percent(share)}`,
          `accepted ${accepted[i]} of ${seen[i]} tested here: ${percent(conditional[i])}`,
        ],
        pick: { name: "depth", filter: makeFilter({ kind: "depth", depth }) },
      });
    });
    line(
      chart,
      conditional.slice(0, domain.x).map((share, i) => /** @type {const} */ ([i + 1, share])),
      { stroke: "var(--target)" },
    );
    conditional.slice(0, domain.x).forEach((share, i) => {
      if (share === null) return;
      const [low, high] = wilson(accepted[i], seen[i]);
      if (!small)
        chart.plot.append(
          s("line", {
            x1: chart.x(i + 1),
            x2: chart.x(i + 1),
            y1: chart.y(low),
            y2: chart.y(high),
            stroke: "var(--target)",
            "stroke-width": 1,
            "pointer-events": "none",
          }),
        );
      point(chart, i + 1, share, { shape: "square", colour: "--target", size: small ? 1.8 : 3.5 }).setAttribute(
        "pointer-events",
        "none",
      );
    });
    if (!small)
      keyLine(chart.figure, chart.left, 9, [
        { words: "of all rounds", colour: "--draft-2", shape: "bar" },
        { words: "of those tested", colour: "--target", shape: "square" },
      ]);
    goesOn(chart, depthsBeyond(rounds, domain.x));
    return chart.figure;
  },
};

/** @type {Figure} */
export const histogram = {
  id: "accepted",
  name: "Accepted a round",
  names: ["accepted_histogram", "tau", "accepted"],
  caption:
    "Rounds by the number of draft tokens accepted. Tokens a call = accepted + the target's own token, averaged.",
  needs: drafted,
  domain: (all) => ({
    ...acceptedIn(all),
    y: Math.max(...all.map((rounds) => Math.max(...summary(rounds).histogram) / Math.max(1, rounds.length))),
  }),
  draw({ rounds, width, height, small, title, domain, store, run }) {
    const numbers = summary(rounds);
    const n = Math.max(1, numbers.rounds);
    const chart = frame({
      width,
      height,
      small,
      title,
      whose: nameOf(store, run),
      x: [-0.5, domain.x + 0.5],
      y: [0, domain.y * 1.12],
      xName: "draft tokens accepted in a round",
      yName: "share of rounds",
      xWhole: true,
      key: true,
      yFormat: percent,
      rightPad: padOf(domain),
    });
    numbers.histogram.slice(0, domain.x + 1).forEach((found, kept) =>
      bar(chart, {
        x0: chart.x(kept - 0.4),
        x1: chart.x(kept + 0.4),
        value: found / n,
        colour: "--draft-2",
        store,
        lines: [`${kept} accepted`, `${found} of ${count(n, "round")} (${percent(found / n)})`],
        pick: { name: "kept", filter: makeFilter({ kind: "kept", kept }) },
      }),
    );
    const mean = numbers.accepted / n;
    goesOn(chart, acceptedBeyond(rounds, domain.x));
    marker(chart, mean, "", { colour: "--target" });
    if (!small)
      keyLine(chart.figure, chart.left, 9, [
        { words: `mean ${num(mean)}; ${perCall(numbers.tau)} tokens a call`, colour: "--target", shape: "dash" },
      ]);
    return chart.figure;
  },
};

const FLOOR = -0.28; // of the axis of shares, below which nothing is but the counts
const TALLEST = 0.24; // of a count, in shares

/** How many draft tokens each bin holds, in grey below the axis.
 * @param {import("./charts.js").Frame} chart @param {readonly {low: number, high: number, n: number}[]} bins */
function counts(chart, bins) {
  const most = Math.max(1, ...bins.map(({ n }) => n));
  for (const { low, high, n } of bins) {
    const top = chart.y(FLOOR + (TALLEST * n) / most);
    chart.plot.append(
      s("rect", {
        x: chart.x(low) + 1,
        width: Math.max(0, chart.x(high) - chart.x(low) - 2),
        y: top,
        height: Math.max(0, chart.y(FLOOR) - top),
        fill: "var(--neutral-soft)",
      }),
    );
  }
}

/** The share accepted of each bin with its interval; a line through those that hold enough.
 * @template {{n: number, kept: number, share: number|null, interval: [number, number]}} B
 * @param {import("./charts.js").Frame} chart @param {readonly B[]} bins
 * @param {{at: (bin: B) => number, shape: "disc" | "square", colour: string, lines: (bin: B) => string[],
 *   store: import("../types/store.js").Store, pick: (bin: B) => import("./charts.js").Pick}} how */
function shares(chart, bins, { at, shape, colour, lines, store, pick }) {
  line(
    chart,
    bins.filter((bin) => bin.n >= FEW).map((bin) => /** @type {const} */ ([at(bin), bin.share])),
    { stroke: `var(${colour})` },
  );
  for (const bin of bins) {
    if (bin.share === null) continue;
    const [low, high] = bin.interval.map(chart.y);
    const x = chart.x(at(bin));
    if (!chart.small)
      chart.plot.append(s("line", { x1: x, x2: x, y1: low, y2: high, stroke: `var(${colour})`, opacity: 0.6 }));
    const mark = point(chart, at(bin), bin.share, {
      shape,
      colour,
      hollow: bin.n < FEW,
      size: chart.small ? 1.8 : 3.6,
      lines: [...lines(bin), `accepted ${bin.kept} of ${bin.n}: ${percent(bin.share)}`],
    });
    if (!chart.small) pickable(chart, mark, store, pick(bin));
  }
}

/** @type {Figure} */
export const entropy = {
  id: "entropy",
  name: "Entropy",
  names: ["accept_rate_tested"],
  caption:
    "Share of tested draft tokens accepted, by entropy of the distribution at their place (bins of 0.5 nats; 95 % " +
    "Wilson, as if draft tokens were independent; those of one round and prompt are alike; hollow: fewer than 5). " +
    "Grey: number of draft tokens.",
  needs: (rounds) => rounds.some((round) => round.nodes?.some((node) => node.h_target != null)),
  domain: (all) => ({
    x: most(all, (rounds) =>
      Math.max(0, ...tested(rounds, (node) => Math.max(node.h_draft ?? 0, node.h_target ?? 0)).map((pair) => pair[0])),
    ),
  }),
  draw({ rounds, width, height, small, title, domain, store, run }) {
    const high = Math.ceil(domain.x / BIN) * BIN;
    const chart = frame({
      width,
      height,
      small,
      title,
      whose: nameOf(store, run),
      x: [0, high],
      y: [FLOOR, 1],
      xName: "entropy, nats",
      yName: "share accepted",
      yFormat: percent,
      yTicks: [0, 0.25, 0.5, 0.75, 1],
      key: true,
    });
    /** @type {["h_draft" | "h_target", string, string, "disc" | "square", number][]} */
    const kinds = [
      ["h_draft", "draft", "--draft", "disc", -0.045],
      ["h_target", "target", "--target", "square", 0.045],
    ];
    for (const [field, who, colour, shape, shift] of kinds) {
      const bins = binned(
        tested(rounds, (node) => node[field]),
        BIN,
      );
      if (field === "h_target") counts(chart, bins);
      shares(chart, bins, {
        at: (bin) => (bin.low + bin.high) / 2 + shift,
        shape,
        colour,
        store,
        lines: (bin) => [`H(${who}) ${fmt(bin.low)} to ${fmt(bin.high)} nats`],
        pick: ({ low, high }) => ({ name: field, filter: makeFilter({ kind: "entropy", field, low, high }) }),
      });
    }
    if (!small)
      keyLine(chart.figure, chart.left, 9, [
        { words: "by H(draft)", colour: "--draft", shape: "disc" },
        { words: "by H(target)", colour: "--target", shape: "square" },
        ...(width > 420 ? [{ words: "draft tokens by H(target)", colour: "--neutral-soft", shape: "bar" }] : []),
      ]);
    return chart.figure;
  },
};

/** What a drafter's probabilities are worth as forecasts, in a sentence; empty where there are none.
 * @param {readonly Round[]} rounds @returns {string} */
export function calibrationSaid(rounds) {
  const { said, share, error, n } = calibration(rounds);
  if (said === null) return "";
  return (
    `The drafter gave ${percent(said)} on average and ${percent(share)} of ${n} were accepted; expected calibration ` +
    `error ${percent(error)}.`
  );
}

/** @type {Figure} */
export const probability = {
  id: "probability",
  name: "Draft probability",
  names: ["accept_rate_tested"],
  caption:
    "Share of tested draft tokens accepted, by the probability that the drafter gave them (ten bins, each drawn at " +
    "its mean; 95 % Wilson, as if draft tokens were independent; those of one round and prompt are alike; hollow: " +
    "fewer than 5). On the dashed line tokens are accepted as often as the drafter " +
    "says, above it oftener. Dotted steps: the measured forecast that a length left to the device began with (of a " +
    "draft's first tokens), where there was one. Grey: number of draft tokens.",
  needs: (rounds) => tested(rounds, (node) => node.q).length > 0,
  domain: () => ({}),
  draw({ rounds, width, height, small, title, store, run }) {
    const { bins } = calibration(rounds);
    const forecast = run.head?.extras.forecast ?? [];
    const chart = frame({
      width,
      height,
      small,
      title,
      whose: nameOf(store, run),
      x: [0, 1],
      y: [FLOOR, 1],
      xName: "probability in the draft's distribution",
      yName: "share accepted",
      xFormat: percent,
      yFormat: percent,
      xTicks: [0, 0.25, 0.5, 0.75, 1],
      yTicks: [0, 0.25, 0.5, 0.75, 1],
      key: true,
      rightPad: 20,
    });
    counts(chart, bins);
    line(
      chart,
      [
        [0, 0],
        [1, 1],
      ],
      { stroke: "var(--ink-2)", "stroke-dasharray": "4 4" },
    );
    const steps = forecast.flatMap(([low, held], i) => [
      /** @type {const} */ ([low, held]),
      /** @type {const} */ ([forecast[i + 1]?.[0] ?? 1, held]),
    ]);
    if (steps.length) line(chart, steps, { class: "v-forecast", stroke: "var(--ink)", "stroke-dasharray": DOTS });
    shares(chart, bins, {
      at: ({ said }) => said ?? 0,
      shape: "disc",
      colour: "--draft",
      store,
      lines: ({ low, high, said }) => [
        `draft probability ${percent(low)} to ${percent(high)}, ${percent(said)} on average`,
      ],
      pick: ({ low, high }) => ({ name: "probability", filter: makeFilter({ kind: "probability", low, high }) }),
    });
    if (!small)
      keyLine(chart.figure, chart.left, 9, [
        { words: "accepted", colour: "--draft", shape: "disc" },
        { words: "as claimed", colour: "--ink-2", shape: "dash" },
        ...(forecast.length ? [/** @type {const} */ ({ words: "forecast", colour: "--ink", shape: "dots" })] : []),
        ...(width > 420
          ? [/** @type {const} */ ({ words: "draft tokens", colour: "--neutral-soft", shape: "bar" })]
          : []),
      ]);
    return chart.figure;
  },
};
