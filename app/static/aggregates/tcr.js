// @ts-check
// Figures about the rank of the last accepted draft token (TCR), the draft's cumulative entropy and its bins.

import { nameOf } from "../columns.js";
import { count, s } from "../dom.js";
import { label, nats, percent } from "../draw.js";
import { makeFilter } from "../filterkinds.js";
import { drafting, sizeOf, tcrOf } from "../numbers.js";
import { bar, frame, line, marker, point } from "./charts.js";

/**
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {import("./figures.js").Figure} Figure
 * @typedef {import("./figures.js").Given} Given
 * @typedef {{rank: number, y: number, round: Round}} Dot
 */

/** @param {readonly Round[]} rounds */
const isTree = (rounds) => drafting(rounds).some((round) => round.drafted > round.levels);

/** Rounds with a draft and their rank. @param {readonly Round[]} rounds */
const ranked = (rounds) =>
  drafting(rounds).flatMap((round) => {
    const rank = tcrOf(round);
    return rank === null ? [] : [{ rank, round }];
  });

/** Draft tokens accepted. @param {Round} round */
const acceptedOf = (round) => round.accepted;
/** The draft's cumulative entropy, nats. @param {Round} round */
const phiOf = (round) => round.extras.phi ?? null;
/** @param {Round} round */
const binOf = (round) => round.extras.bin ?? null;

/** The value below which a share of a sorted list lies. @param {number[]} sorted @param {number} share
 * @returns {number} */
export function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

/** Ranks a bar. @param {number} last rank of the axis @param {boolean} small */
const stepOf = (last, small) => Math.max(1, Math.ceil(last / (small ? 24 : 60)));

/** Rounds by rank, in bars of so many ranks; 0 stands alone. @param {readonly {rank: number}[]} found
 * @param {number} step @returns {number[]} */
function countsOf(found, step) {
  /** @type {number[]} */
  const counts = [];
  for (const { rank } of found) {
    const place = Math.ceil(rank / step);
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return Array.from(counts, (count) => count ?? 0);
}

/** @type {Figure} */
const ranks = {
  id: "tcr",
  name: "Last rank",
  names: ["tcr_histogram"],
  caption:
    "Terminal confidence rank (TCR): the rank, by cumulative draft log-probability, of the last accepted draft " +
    "token; 0: none accepted. Of a draft without probabilities it is the place in the draft, breadth first. Dashed: " +
    "a quarter of the largest draft, N = draft tokens and root.",
  needs: (rounds) => isTree(rounds) && ranked(rounds).length > 0,
  domain: (all) => {
    const x = Math.max(4, ...all.flatMap((rounds) => rounds.map(sizeOf)));
    const high = (/** @type {boolean} */ small) =>
      Math.max(...all.map(ranked).map((found) => Math.max(...countsOf(found, stepOf(x, small))) / found.length));
    return { x, y: high(false), ySmall: high(true) };
  },
  draw({ rounds, width, height, small, title, domain, store, run }) {
    const found = ranked(rounds);
    const step = stepOf(domain.x, small);
    const counts = countsOf(found, step);
    const chart = frame({
      width,
      height,
      small,
      title,
      whose: nameOf(store, run),
      x: [-0.5, domain.x + 0.5],
      y: [0, (small ? domain.ySmall : domain.y) * 1.25],
      xName: "rank of the last accepted draft token",
      yName: "share of rounds",
      xWhole: true,
      yFormat: percent,
    });
    counts.forEach((many, i) => {
      const low = i ? (i - 1) * step + 1 : 0;
      const top = i * step;
      const words = low === top ? `rank ${low}` : `ranks ${low} to ${top}`;
      bar(chart, {
        x0: chart.x(low - 0.5) + 0.5,
        x1: chart.x(top + 0.5) - 0.5,
        value: many / found.length,
        colour: i ? "--draft-2" : "--neutral",
        store,
        lines: [i ? words : "none accepted", `${many} of ${count(found.length, "round")}`],
        pick: { name: "tcr", filter: makeFilter({ kind: "tcr", low, high: top }) },
      });
    });
    const quarter = found.filter(({ rank, round }) => rank <= sizeOf(round) / 4).length / found.length;
    const sorted = found.map(({ rank }) => rank).sort((a, b) => a - b);
    const sizes = found.map(({ round }) => sizeOf(round));
    const whose = new Set(sizes).size > 1 ? "the first quarter of its own draft" : "the first quarter";
    marker(chart, Math.max(...sizes) / 4, `${percent(quarter)} within ${whose}`, { dy: 9 });
    if (!small)
      for (const share of [0.5, 0.9])
        marker(chart, quantile(sorted, share), `${percent(share)}: ${quantile(sorted, share)}`, {
          colour: "--target",
          dy: share === 0.5 ? 24 : 38,
        });
    return chart.figure;
  },
};

/** Lets a dot lead to its round.
 * @param {import("../types/store.js").Store} store @param {SVGElement} mark @param {Round} round */
function leads(store, mark, round) {
  mark.setAttribute("style", "cursor:pointer");
  mark.addEventListener("click", () => {
    const run = [...store.runs.values()].find((one) => one.rounds[round.index] === round);
    if (run) store.setCursor({ run: run.key, round: round.index, pos: round.start });
  });
}

/** @param {Round} round @param {number | null} rank */
export const roundWords = (round, rank) => [
  `round ${round.index}`,
  round.accepted
    ? `${round.accepted} of ${round.drafted} accepted, the last of rank ${rank ?? "unknown"}`
    : `none of ${round.drafted} accepted`,
  phiOf(round) === null ? "" : `cumulative entropy ${nats(phiOf(round))} nats`,
  binOf(round) === null ? "" : `bin ${binOf(round)}`,
];

/** @param {readonly Round[]} rounds @param {(round: Round) => number | null} read @returns {Dot[]} */
const dots = (rounds, read) =>
  ranked(rounds).flatMap(({ rank, round }) => {
    const y = read(round);
    return y === null ? [] : [{ rank, y, round }];
  });

/** @param {(readonly Round[])[]} all @param {(round: Round) => number | null} read */
function dotted(all, read) {
  const found = all.flatMap((rounds) => dots(rounds, read));
  return { x: Math.max(4, ...found.map(({ rank }) => rank)), y: Math.max(1, ...found.map(({ y }) => y)) };
}

/** Dots of rounds by TCR, spread a little where they coincide, with the median of each column.
 * @param {Given} given @param {(round: Round) => number | null} read @param {{whole: boolean, yName: string}} axis */
function scatter({ rounds, width, height, small, title, domain, store }, read, axis) {
  const found = dots(rounds, read);
  const chart = frame({
    width,
    height,
    small,
    title,
    x: [-0.5, domain.x + 0.5],
    y: [0, domain.y * 1.08],
    xName: "rank of the last accepted draft token (TCR)",
    yName: axis.yName,
    xWhole: true,
    yWhole: axis.whole,
  });
  /** @type {Map<string, number>} */
  const seen = new Map();
  for (const { rank, y, round } of found) {
    const place = `${rank}/${y}`;
    const count = seen.get(place) ?? 0;
    seen.set(place, count + 1);
    const spread = Math.min(0.4, Math.ceil(count / 2) * 0.08) * (count % 2 ? 1 : -1);
    const lost = round.accepted === 0;
    const mark = point(chart, rank + spread, y, {
      shape: lost ? "square" : "disc",
      hollow: lost,
      colour: lost ? "--neutral" : "--draft",
      size: small ? 1.4 : 2.8,
      opacity: 0.7,
      lines: roundWords(round, rank),
    });
    if (!small) leads(store, mark, round);
  }
  line(chart, medians(found, Math.max(1, Math.round(domain.x / 8))), { stroke: "var(--target)" });
  return chart.figure;
}

/** Median of y in columns of ranks that hold three rounds or more.
 * @param {Dot[]} found @param {number} width @returns {[number, number][]} */
function medians(found, width) {
  /** @type {Map<number, number[]>} */
  const columns = new Map();
  for (const { rank, y } of found) {
    const at = Math.round(rank / width);
    columns.set(at, [...(columns.get(at) ?? []), y]);
  }
  return [...columns]
    .filter(([, list]) => list.length > 2)
    .sort((a, b) => a[0] - b[0])
    .map(([at, list]) => [
      at * width,
      quantile(
        list.sort((a, b) => a - b),
        0.5,
      ),
    ]);
}

/** @type {Figure} */
const depth = {
  id: "tcr-length",
  name: "Length × rank",
  names: [],
  caption:
    "Each dot is a round: draft tokens accepted, by the rank of the last one (terminal confidence rank, TCR), which " +
    "is never below their number. Squares: none accepted. Line: median of three or more.",
  needs: ranks.needs,
  domain: (all) => dotted(all, acceptedOf),
  draw: (given) => scatter(given, acceptedOf, { whole: true, yName: "draft tokens accepted" }),
};

/** @type {Figure} */
const phi = {
  id: "tcr-entropy",
  name: "Σ entropy × rank",
  names: [],
  caption:
    "Each dot is a round: cumulative entropy of the draft's surest path, by the rank of the last accepted draft " +
    "token (terminal confidence rank, TCR). Line: median of three or more.",
  needs: (rounds) => rounds.some((round) => phiOf(round) !== null),
  domain: (all) => dotted(all, phiOf),
  draw: (given) => scatter(given, phiOf, { whole: false, yName: "cumulative entropy, nats" }),
};

/** Where one bin ends and the next begins, as far as these rounds tell: half-way between their nearest entropies.
 * @param {readonly Round[]} rounds with a bin @returns {{bin: number, low: number, high: number, n: number}[]} */
export function bandsOf(rounds) {
  /** @type {Map<number, {bin: number, low: number, high: number, n: number}>} */
  const seen = new Map();
  for (const round of rounds) {
    const [bin, value] = [binOf(round), phiOf(round)];
    if (bin === null || value === null) continue;
    const band = seen.get(bin) ?? { bin, low: Infinity, high: -Infinity, n: 0 };
    seen.set(bin, { bin, low: Math.min(band.low, value), high: Math.max(band.high, value), n: band.n + 1 });
  }
  const bands = [...seen.values()].sort((a, b) => a.bin - b.bin);
  for (let i = 1; i < bands.length; i += 1) {
    const border = (bands[i - 1].high + bands[i].low) / 2;
    bands[i - 1].high = bands[i].low = border;
  }
  return bands;
}

/** @type {Figure} */
const bins = {
  id: "bins",
  name: "Bins",
  names: [],
  caption:
    "Each dot is a round: cumulative entropy over the run, in the bins it fell into (right: rounds in each; borders " +
    "as far as these rounds tell). Diamonds: drafted deeper than usual. Hollow: none accepted.",
  needs: (rounds) => rounds.some((round) => binOf(round) !== null && phiOf(round) !== null),
  domain: (all) => ({
    x: Math.max(...all.flatMap((rounds) => rounds.map((round) => round.start + round.emitted))),
    y: Math.max(1, ...all.flatMap((rounds) => rounds.map((round) => phiOf(round) ?? 0))),
  }),
  draw({ rounds, width, height, small, title, domain, store }) {
    const found = rounds.filter((round) => binOf(round) !== null && phiOf(round) !== null);
    const chart = frame({
      width,
      height,
      small,
      title,
      rightPad: 84,
      x: [0, domain.x],
      y: [0, domain.y * 1.06],
      xName: "position in the response",
      yName: "cumulative entropy, nats",
      xWhole: true,
    });
    const bands = bandsOf(found);
    bands.forEach((band, i) => {
      const low = i ? chart.y(band.low) : chart.bottom;
      const high = i < bands.length - 1 ? chart.y(band.high) : chart.top;
      chart.plot.append(
        s("rect", {
          x: chart.left,
          y: high,
          width: chart.right - chart.left,
          height: Math.max(0, low - high),
          fill: "var(--draft)",
          opacity: Math.max(0, 0.2 - 0.06 * band.bin),
        }),
      );
      if (i)
        chart.plot.append(
          s("line", {
            x1: chart.left,
            x2: chart.right,
            y1: low,
            y2: low,
            stroke: "var(--judge)",
            "stroke-dasharray": "5 3",
          }),
        );
      if (!small)
        chart.figure.append(
          label(chart.right + 6, (low + high) / 2 + 4, `bin ${band.bin}: ${band.n}`, { "font-size": 10.5 }),
        );
    });
    for (const round of found) {
      const lost = round.accepted === 0;
      const more = (round.extras.d_extra ?? 0) > 0;
      const mark = point(chart, round.start, phiOf(round) ?? 0, {
        shape: more ? "diamond" : "disc",
        hollow: lost,
        colour: lost ? "--neutral" : "--draft",
        size: (small ? 1.4 : 2.8) * (more ? 1.3 : 1),
        lines: [
          ...roundWords(round, tcrOf(round)),
          `${count(round.levels, "level")}, ${count(round.fed, "token")} checked`,
        ],
      });
      if (!small) leads(store, mark, round);
    }
    return chart.figure;
  },
};

/** @type {readonly Figure[]} */
export const TCR_FIGURES = [ranks, depth, phi, bins];
