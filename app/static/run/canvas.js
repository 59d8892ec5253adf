// @ts-check
// Texts that are written in place: rounds are iterations, each leaves a canvas. Plain data, no DOM.

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {import("../types/trace.js").Cell} Cell
 */

export const STEPS = 5; // colours of the scale, --placed-1 to --placed-5

/** Whether a round is an iteration: nothing was drafted, and no target asked. @param {Round} round */
export const isIteration = ({ drafted, fed, extras }) => !drafted && !fed && extras?.iteration !== undefined;

/** Whether a round is a step of a search: its nodes are what the beams hold, and no draft.
 * @param {Pick<Round, "extras">} round */
export const isSearch = ({ extras }) => extras?.beams !== undefined;

/** Draft tokens of a round; what beams hold is none. @param {Pick<Round, "drafted" | "extras">} round */
export const draftOf = (round) => (isSearch(round) ? 0 : round.drafted);

/** Draft tokens accepted in a round; what all beams hold has settled, and nobody tested it.
 * @param {Pick<Round, "accepted" | "extras">} round */
export const keptOf = (round) => (isSearch(round) ? 0 : round.accepted);

/** Whether a run writes its text in place; its card says so before a round has come.
 * @param {Pick<Run, "card" | "rounds">} run */
export const inPlace = ({ card, rounds }) => card.writer === "nat" || (rounds.length > 0 && rounds.every(isIteration));

/** Iterations of a run, so far. @param {Pick<Run, "rounds">} run */
export const iterations = ({ rounds }) => rounds.at(-1)?.extras.iteration ?? 0;

/** The step of the scale that an iteration has among so many: each its own while there are enough.
 * @param {number} iteration from 1 @param {number} total */
export const stepOf = (iteration, total) =>
  total <= STEPS ? iteration : Math.max(1, Math.ceil((iteration * STEPS) / total));

/** The steps in use with the iterations that each stands for, in words. @param {number} total
 * @returns {{step: number, words: string}[]} */
export function scaleOf(total) {
  /** @type {number[][]} */
  const found = [];
  for (let iteration = 1; iteration <= total; iteration += 1) {
    const step = stepOf(iteration, total);
    found[step] = [found[step]?.[0] ?? iteration, iteration];
  }
  return found.flatMap(([from, to], step) => [{ step, words: from === to ? `${from}` : `${from}–${to}` }]);
}

/** The iteration that a lane shows, as the index of its round: the one under the cursor, else the last that the time
 * shows; -1 before the first. @param {Store} store @param {Run} run */
export function shownRound(store, run) {
  const last = store.visibleRounds(run) - 1;
  const { cursor } = store;
  return cursor?.run === run.key && cursor.round !== null ? Math.min(cursor.round, last) : last;
}

/** What stands at a position after a round. @param {Round | null | undefined} round @param {number | null} pos
 * @returns {Cell | null} */
export const cellAt = (round, pos) => (pos === null ? null : (round?.canvas?.[pos - (round.start ?? 0)] ?? null));

/** Whether a place was written by this very iteration. @param {Round} round @param {Cell} cell */
export const isFresh = ({ extras }, { iteration }) => iteration === extras.iteration;

/** "iteration 2 of 4: 3 of 12 places written, 1 open". @param {Round} round @param {number} total */
export function iterationWords({ extras }, total) {
  const { iteration, written, places, open } = extras;
  return `iteration ${iteration} of ${total}: ${written} of ${places} places written${open ? `, ${open} open` : ""}`;
}

/** A place in words: "written in iteration 2, probability 0.93". @param {Round} round @param {Cell} cell */
export function cellWords(round, cell) {
  if (!cell.iteration) return "open: nothing stands here yet";
  const what = isFresh(round, cell) ? (cell.before === undefined ? "written" : "rewritten") : "as left";
  return `${what} in iteration ${cell.iteration}`;
}
