/** How well scores tell important swaps from others, as engine.analysis.judge has it: a swap is refused when its score reaches the threshold. */
import { wilson } from "./numbers.js";

/** @typedef {{score: number, important: boolean}} Scored */

/** The curve from (0, 0) to (1, 1), ties together, and the area under it (null with one class only).
 * @param {Scored[]} scored @returns {{points: [number, number, number][], auc: number|null}} points are [false positives, recall, threshold] */
export function roc(scored) {
  const order = [...scored].sort((a, b) => b.score - a.score);
  const positives = order.filter((one) => one.important).length;
  const negatives = order.length - positives;
  const points = [[0, 0, Infinity]];
  let [hits, alarms, area] = [0, 0, 0];
  order.forEach((one, i) => {
    if (one.important) hits += 1;
    else alarms += 1;
    if (order[i + 1]?.score === one.score) return;
    const [x, y] = points.at(-1);
    const next = [alarms / Math.max(1, negatives), hits / Math.max(1, positives), one.score];
    area += (next[0] - x) * ((next[1] + y) / 2);
    points.push(next);
  });
  return { points, auc: positives && negatives ? area : null };
}

/** What a threshold does. @param {Scored[]} scored @param {number} threshold
 * @returns {{n: number, kept: number, keptImportant: number, important: number, recall: number|null, keptUnimportant: number|null}} */
export function atThreshold(scored, threshold) {
  const important = scored.filter((one) => one.important);
  const kept = scored.filter((one) => one.score < threshold);
  const keptImportant = kept.filter((one) => one.important).length;
  const others = scored.length - important.length;
  return {
    n: scored.length,
    kept: kept.length,
    keptImportant,
    important: important.length,
    recall: important.length ? 1 - keptImportant / important.length : null,
    keptUnimportant: others ? (kept.length - keptImportant) / others : null,
  };
}

/** Recall, and share of unimportant swaps kept, at each distinct score. @param {Scored[]} scored @returns {{threshold: number, recall: number|null, keptUnimportant: number|null}[]} */
export function recallCurve(scored) {
  const scores = [...new Set(scored.map((one) => one.score))].sort((a, b) => a - b);
  const some = scores.length > 60 ? scores.filter((_, i) => i % Math.ceil(scores.length / 60) === 0) : scores;
  return [0, ...some, 1.000001].map((threshold) => ({
    threshold: Math.min(1, threshold),
    ...pick(atThreshold(scored, threshold)),
  }));
}

const pick = ({ recall, keptUnimportant }) => ({ recall, keptUnimportant });

/** Counts in even bins on [0, 1]. @param {Scored[]} scored @param {number=} bins @returns {{low: number, high: number, important: number, unimportant: number}[]} */
export function histogram(scored, bins = 20) {
  const out = Array.from({ length: bins }, (_, i) => ({
    low: i / bins,
    high: (i + 1) / bins,
    important: 0,
    unimportant: 0,
  }));
  for (const { score, important } of scored)
    out[Math.min(bins - 1, Math.floor(score * bins))][important ? "important" : "unimportant"] += 1;
  return out;
}

/** How often swaps of like scores were really important, in even bins on [0, 1], with Wilson's 95 % interval; empty bins have a null share.
 * @param {Scored[]} scored @param {number=} bins @returns {{low: number, high: number, n: number, mean: number|null, share: number|null, interval: [number, number]}[]} */
export function reliability(scored, bins = 10) {
  const out = Array.from({ length: bins }, (_, i) => ({ low: i / bins, high: (i + 1) / bins, n: 0, sum: 0, hits: 0 }));
  for (const { score, important } of scored) {
    const bin = out[Math.min(bins - 1, Math.floor(score * bins))];
    bin.n += 1;
    bin.sum += score;
    bin.hits += important ? 1 : 0;
  }
  return out.map(({ low, high, n, sum, hits }) => ({
    low,
    high,
    n,
    mean: n ? sum / n : null,
    share: n ? hits / n : null,
    interval: wilson(hits, n),
  }));
}
