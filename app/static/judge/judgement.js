// @ts-check
// What a threshold of a judge does to scored labels, told as the slider moves (engine.analysis.judge; tests/vectors).

/** @typedef {{score: number, important: boolean}} Scored */

/** What a threshold does. @param {readonly Scored[]} scored @param {number} threshold */
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

/** What a step of the slider stands for: the recorded threshold nearest to it, else its own number.
 * @param {number} value @param {readonly number[]} recorded @param {number} step */
export function recordedAt(value, recorded, step) {
  const near = recorded.filter((one) => Math.abs(one - value) <= step / 2);
  return near.sort((a, b) => Math.abs(a - value) - Math.abs(b - value))[0] ?? value;
}
