// @ts-check
/** Agreement of two reviewers: observed, and over chance (Cohen 1960). */

/**
 * @typedef {object} Agreement
 * @property {number} n
 * @property {number | null} observed
 * @property {number | null} kappa null when there is nothing to agree on, or chance explains all
 * @property {Map<string, number>} counts by "first|second"
 */

/** @param {string[]} first @param {string[]} second verdicts on the same items @returns {Agreement} */
export function agreement(first, second) {
  if (first.length !== second.length)
    throw new Error(`${first.length} and ${second.length} verdicts; both reviewers must judge the same items.`);
  const n = first.length;
  /** @type {Map<string, number>} */
  const counts = new Map();
  first.forEach((verdict, i) =>
    counts.set(`${verdict}|${second[i]}`, (counts.get(`${verdict}|${second[i]}`) ?? 0) + 1),
  );
  if (!n) return { n, observed: null, kappa: null, counts };
  const share = (/** @type {string[]} */ list, /** @type {string} */ verdict) =>
    list.filter((one) => one === verdict).length / n;
  const observed = first.filter((verdict, i) => verdict === second[i]).length / n;
  const chance = [...new Set([...first, ...second])].reduce(
    (sum, verdict) => sum + share(first, verdict) * share(second, verdict),
    0,
  );
  return { n, observed, kappa: chance >= 1 - 1e-12 ? null : (observed - chance) / (1 - chance), counts };
}
