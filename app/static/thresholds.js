// @ts-check
/** A run's threshold, as its rule declares it (rules.js): lines in charts, and what other knobs would have decided. */

import { holds, matters, settings, takenAt, terms } from "./rules.js";

/** @typedef {import("./types/threshold.js").Threshold} Threshold */
/** @typedef {import("./types/trace.js").Node} Node */
/** @typedef {import("./types/trace.js").RunStarted} RunStarted */
/** @typedef {import("./types/trace.js").Round} Round */
/** @typedef {import("./types/trace.js").JsonObject} JsonObject */
/** @typedef {import("./types/card.js").Knob} Knob */
/** @typedef {Readonly<Record<string, unknown>>} Knobs */
/** @typedef {{readonly head?: RunStarted | null, readonly rounds: readonly Round[],
 *   readonly card?: {readonly threshold?: Threshold | null, readonly knobs?: readonly Knob[]} | null}} Run
 * What is read of a run of the store. */

/** In place of how many tokens were looked at. */
export const NOT_YET = -1;
/** The n of the recorded overlap@n where the rule compares none. */
const OVERLAP_N = 5;

/** The threshold that a run's rule declares; null where it has none. @param {Run | null | undefined} run
 * @returns {Threshold | null} */
export function thresholdOf(run) {
  const threshold = run?.card?.threshold ?? null;
  return threshold?.sampled_only && run && isGreedy(run) ? null : threshold;
}

/** @param {Run} run @returns {boolean} */
const isGreedy = (run) => !(Number(run.head?.sampling?.temperature ?? 0) > 0);

/** The n of a run's overlap@n: as the rule declares it, and no more than were kept of both distributions, as
 * `Stats.overlap` of engine/view.py caps it. @param {Run | null | undefined} run
 * @param {Node | null | undefined} [node] whose it is; else the run's first that has one @returns {number} */
export function overlapN(run, node) {
  const declared = takenAt(run?.card?.threshold ?? null, "overlap", run?.head?.knobs ?? {}, OVERLAP_N);
  const one = node ?? compared(run);
  return Math.min(declared, one?.top_draft?.length ?? declared, one?.top_target?.length ?? declared);
}

/** An overlap in tokens: "4 of 5". @param {number} share @param {number} n @returns {string} */
export const overlapWords = (share, n) => `${Math.round(share * n)} of ${n}`;

/** The first draft token of which overlap was recorded. @param {Run | null | undefined} run @returns {Node | null} */
function compared(run) {
  for (const { nodes } of run?.rounds ?? []) {
    const found = nodes?.find(({ overlap }) => overlap != null);
    if (found) return found;
  }
  return null;
}

/** The knobs as they acted: a negative one that stands for another number is replaced by what the decisions recorded.
 * @param {Run | null | undefined} run @returns {Record<string, unknown>} */
export function knobsOf(run) {
  const knobs = { ...(run?.head?.knobs ?? {}) };
  for (const name of thresholdOf(run) ? settings(/** @type {Threshold} */ (thresholdOf(run))) : []) {
    const told = Number(knobs[name]) < 0 ? noted(run, name) : null;
    if (told != null) knobs[name] = told;
  }
  return knobs;
}

/** What the first round says that notes it. @param {Run | null | undefined} run @param {string} name */
const noted = (run, name) =>
  (run?.rounds ?? [])
    .map(({ extras }) => /** @type {JsonObject} */ (/** @type {unknown} */ (extras))[name])
    .find((value) => value != null);

/** The knobs that a visitor may move: numbers of the condition that the card does not fold away.
 * @param {Run} run @returns {string[]} */
export function movable(run) {
  const threshold = thresholdOf(run);
  const folded = new Set((run.card?.knobs ?? []).filter((knob) => knob.advanced).map((knob) => knob.name));
  const knobs = run.head?.knobs ?? {};
  return threshold ? settings(threshold).filter((name) => typeof knobs[name] === "number" && !folded.has(name)) : [];
}

/** The recorded numbers that a row of numbers shows, where they are not called as the row is.
 * @type {Readonly<Record<string, readonly string[]>>} */
const SHOWN = { entropy: ["h_target", "h_draft"] };

/** The lines of a row of numbers: limits that are the same for every node. @param {Run} run @param {string} row
 * @param {Knobs=} knobs @returns {{knob: string, value: number}[]} */
export function linesOf(run, row, knobs = knobsOf(run)) {
  const threshold = thresholdOf(run);
  const fields = SHOWN[row] ?? [row];
  /** @type {Map<number, string>} */
  const found = new Map();
  for (const term of threshold ? terms(threshold.condition, knobs, {}) : [])
    if (term.limit !== null && (fields.includes(term.name) || fields.includes(term.field))) {
      if (!found.has(term.limit)) found.set(term.limit, term.knob);
    }
  return [...found].map(([value, knob]) => ({ knob, value }));
}

/** @param {Node} node @returns {import("./rules.js").Numbers} */
export const numbersOf = (node) => /** @type {import("./rules.js").Numbers} */ (/** @type {unknown} */ (node));

/** @typedef {{pos: number, round: number, node: number}} Change */
/** @typedef {{marks: number[], was: number[], settled: Set<number>, known: number, tested: number,
 *   changed: Change | null}} Replayed
 * Positions where the condition holds under the moved knobs, and where it holds as run; positions that the exact rule
 * decides whatever the condition says; how many draft tokens were tested, and of how many the numbers
 * were recorded that the condition compares; the first decision that changes. */

/** What a run's tested nodes would have met under other knobs, up to the first decision that changes.
 * @param {Run} run @param {Knobs} knobs the moved knobs @param {number=} upto rounds to look at
 * @returns {Replayed} */
export function replay(run, knobs, upto = run.rounds.length) {
  const threshold = thresholdOf(run);
  const first = knobsOf(run);
  /** @type {Replayed} */
  const result = { marks: [], was: [], settled: new Set(), known: 0, tested: 0, changed: null };
  if (!threshold) return result;
  const greedy = isGreedy(run);
  for (let r = 0; r < upto; r += 1) {
    const round = run.rounds[r];
    (round.nodes ?? []).forEach((node, i) => {
      if (node.state === "discarded") return;
      result.tested += 1;
      const numbers = numbersOf(node);
      const now = holds(threshold.condition, knobs, numbers);
      const before = holds(threshold.condition, first, numbers);
      if (now === null || before === null) return;
      const pos = round.start + node.depth - 1;
      result.known += 1;
      if (before) result.was.push(pos);
      if (now) result.marks.push(pos);
      if (!matters(threshold, first, greedy, node.state)) result.settled.add(pos);
      else if (!result.changed && now !== before) result.changed = { pos, round: r, node: i };
    });
  }
  return result;
}

/** Whether a what-if can be certain: where the longest of several branches wins, an untested one may come to win.
 * @param {Run} run @returns {boolean} */
export const blind = (run) =>
  Boolean(thresholdOf(run)?.longest) &&
  run.rounds.some((round) => (round.nodes ?? []).some((node, i) => node.parent !== i - 1));
