// @ts-check
// The axis of positions: pixels a position, zoom about a point, ticks. No DOM here.

/** Pixels a position that the keys and buttons step through. */
export const STEPS = [0.25, 0.5, 1, 2, 3, 5, 8, 12, 18, 28, 44, 64];
const LIVE = [28, 18, 12, 8, 5, 3];
const MOST = 28; // a finished run is not stretched beyond this by itself

/** The width of a position that nobody chose: a finished run fits; a growing one keeps a step, so that it does not
 * breathe.
 * @param {number} room pixels @param {number} positions @param {boolean} growing @returns {number} */
export function autoWidth(room, positions, growing) {
  const exact = room / Math.max(1, positions);
  if (growing) return LIVE.find((width) => width <= exact) ?? /** @type {number} */ (LIVE.at(-1));
  return Math.max(STEPS[0], Math.min(MOST, exact));
}

/** The next step. @param {number} width now @param {number} by 1 wider, -1 narrower @returns {number} */
export function stepWidth(width, by) {
  const next = by > 0 ? STEPS.find((step) => step > width * 1.01) : STEPS.findLast((step) => step < width * 0.99);
  return next ?? (by > 0 ? /** @type {number} */ (STEPS.at(-1)) : STEPS[0]);
}

/** The scroll offset that keeps what lies at `anchor` pixels in place when the width changes.
 * @param {number} scroll @param {number} anchor @param {number} before @param {number} after @returns {number} */
export const keepAnchor = (scroll, anchor, before, after) => ((scroll + anchor) / before) * after - anchor;

/** The positions between two labels. @param {number} width pixels a position @returns {number} */
export const tickStep = (width) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => n * width >= 56) ?? 2000;

/** Columns, or where a column is narrower than a pixel the columns of one pixel, as [x0, x1, first, end) in whole
 * pixels. A visitor, since zooming visits tens of thousands of them in a frame.
 * @param {number} first @param {number} end @param {number} width @param {number} scroll
 * @param {(x0: number, x1: number, from: number, to: number) => void} visit */
export function cells(first, end, width, scroll, visit) {
  const step = Math.max(1, Math.ceil(1 / width));
  for (let i = first - (first % step); i < end; i += step) {
    const from = Math.max(first, i);
    const to = Math.min(end, i + step);
    const x0 = Math.round(from * width - scroll);
    visit(x0, Math.max(x0 + 1, Math.round(to * width - scroll)), from, to);
  }
}
