/** Figures about the rank of the last kept guess (TCR) and the draft's cumulative entropy. */

import { bar, frame, line, marker, point } from "./charts.js";
import { fmt, percent } from "./draw.js";
import { makeFilter } from "./filterkinds.js";
import { tcrOf } from "./numbers.js";

const sizeOf = (round) => round.extras?.n_verify ?? round.drafted + 1;
const isTree = (rounds) => rounds.some((round) => round.drafted > round.levels);
const pairs = (rounds) => rounds.filter((round) => round.drafted > 0).map((round) => [tcrOf(round), round]).filter(([rank]) => rank !== null);
const phiOf = (round) => round.extras?.phi ?? null;

/** The value below which a share of a sorted list lies. @param {number[]} sorted @param {number} share @returns {number} */
export function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

const ranks = {
  id: "tcr", name: "TCR", names: ["tcr_histogram"],
  caption: "Rank, by cumulative draft log-probability, of the last kept guess; 0: none kept. Dashed: a quarter of the draft, N = guesses and root.",
  needs: (rounds) => isTree(rounds) && pairs(rounds).length > 0,
  domain: (all) => ({ x: Math.max(4, ...all.flatMap((rounds) => rounds.map(sizeOf))) }),
  draw({ rounds, width, height, small, title, domain, store }) {
    const found = pairs(rounds);
    const step = Math.max(1, Math.ceil(domain.x / (small ? 24 : 60)));
    const counts = [];
    for (const [rank] of found) counts[Math.floor(rank / step)] = (counts[Math.floor(rank / step)] ?? 0) + 1;
    const high = Math.max(...Array.from(counts, (count) => count ?? 0)) / found.length;
    const chart = frame({ width, height, small, title, x: [-0.5, domain.x + 0.5], y: [0, high * 1.25], xName: "rank of the last kept guess", yName: "share of rounds", xWhole: true, yFormat: percent });
    Array.from(counts, (count) => count ?? 0).forEach((count, i) => {
      const low = i * step;
      const top = low + step - 1;
      const words = low === top ? `rank ${low}` : `ranks ${low} to ${top}`;
      bar(chart, { x0: chart.x(low - 0.5) + 0.5, x1: chart.x(top + 0.5) - 0.5, value: count / found.length, colour: low === 0 && step === 1 ? "--neutral" : "--draft-2", store,
        lines: [low === 0 && step === 1 ? "none kept" : words, `${count} of ${found.length} rounds`],
        pick: { name: "tcr", filter: makeFilter({ kind: "tcr", low, high: top }) } });
    });
    const quarter = found.filter(([rank, round]) => rank <= sizeOf(round) / 4).length / found.length;
    const sorted = found.map(([rank]) => rank).sort((a, b) => a - b);
    const size = Math.max(...found.map(([, round]) => sizeOf(round)));
    marker(chart, size / 4, `${percent(quarter)} within the first quarter`, { dy: 9 });
    if (!small) for (const share of [0.5, 0.9]) marker(chart, quantile(sorted, share), `${percent(share)}: ${quantile(sorted, share)}`, { colour: "--target", dy: share === 0.5 ? 24 : 38 });
    return chart.figure;
  },
};

/** Dots of rounds, spread a little where they coincide, with the median of each column. */
function scatter({ rounds, width, height, small, title, store }, read, given) {
  const found = pairs(rounds).map(([rank, round]) => [read(round), rank, round]).filter(([x]) => x !== null && x !== undefined);
  const top = Math.max(4, ...found.map(([, rank]) => rank));
  const right = Math.max(1, ...found.map(([x]) => x));
  const chart = frame({ width, height, small, title, x: [given.whole ? -0.5 : 0, right + (given.whole ? 0.5 : right * 0.04)], y: [0, top * 1.06], xName: given.xName, yName: "TCR (rank)", xWhole: given.whole, yWhole: true });
  const seen = new Map();
  for (const [x, rank, round] of found) {
    const place = `${x}/${rank}`;
    const count = seen.get(place) ?? 0;
    seen.set(place, count + 1);
    const spread = given.whole ? Math.min(0.4, Math.ceil(count / 2) * 0.06) * (count % 2 ? 1 : -1) : 0;
    const lost = round.accepted === 0;
    const mark = point(chart, x + spread, rank, { shape: lost ? "square" : "disc", hollow: lost, colour: lost ? "--neutral" : "--draft", size: small ? 1.4 : 2.8, opacity: 0.7, lines: [`round ${round.index}`, `${round.accepted} kept, TCR ${rank} of ${round.drafted}`, phiOf(round) === null ? "" : `cumulative entropy ${fmt(phiOf(round))} nats`, round.extras?.bin === undefined ? "" : `bin ${round.extras.bin}`] });
    if (!small) mark.addEventListener("click", () => {
      const run = [...store.runs.values()].find((one) => one.rounds[round.index] === round);
      if (run) store.setCursor({ run: run.key, round: round.index, pos: round.start });
    });
  }
  line(chart, medians(found, given.whole ? 1 : right / 8), { stroke: "var(--target)" });
  return chart.figure;
}

function medians(found, width) {
  const columns = new Map();
  for (const [x, rank] of found) {
    const at = Math.round(x / width);
    if (!columns.has(at)) columns.set(at, []);
    columns.get(at).push(rank);
  }
  return [...columns].filter(([, list]) => list.length > 2).sort((a, b) => a[0] - b[0]).map(([at, list]) => [at * width, quantile(list.sort((a, b) => a - b), 0.5)]);
}

const depth = {
  id: "tcr-length", name: "Length × TCR", names: [],
  caption: "Each dot is a round: guesses kept against the rank of the last one. A rank is never below the depth. Line: median of three or more.",
  needs: ranks.needs, domain: () => ({}),
  draw: (given) => scatter(given, (round) => round.accepted, { whole: true, xName: "guesses kept in the round" }),
};

const phi = {
  id: "tcr-entropy", name: "Σ entropy × TCR", names: [],
  caption: "Each dot is a round: cumulative entropy of the draft's most probable path against TCR. Line: median of eighths.",
  needs: (rounds) => rounds.some((round) => phiOf(round) !== null), domain: () => ({}),
  draw: (given) => scatter(given, phiOf, { whole: false, xName: "cumulative entropy, nats" }),
};

/** @type {any[]} */
export const TCR_FIGURES = [ranks, depth, phi];
