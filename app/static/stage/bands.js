// @ts-check
// What a band of the score shows of a run: spans, overhangs and rounds on the axis of positions. No DOM here.

import { titleOf } from "../columns.js";
import { sizeOf, tcrOf } from "../numbers.js";
import { draftOf } from "../run/canvas.js";
import { shownFigures } from "../run/spread.js";
import { stepOf } from "../run/steps.js";
import { across, forcedOf } from "../run.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {{from: number, to: number, kind: string, round: number}} Span  positions [from, to) of one sign
 * @typedef {{from: number, to: number, deep: number, accepted: number, breadth: number[], rank: number|null,
 *   size: number}} Draft  a round on the axis: its tokens [from, to), its draft down to position `deep`, nodes at each
 *   depth (index 0 is depth 1), terminal-confidence-rank and N (draft tokens and the root)
 * @typedef {{spans: Span[], overhangs: Span[], drafts: Draft[], widest: number, reach: number,
 *   steps: import("../run/steps.js").Step[], seen: number, rounds: readonly Round[]}} Band
 *   `reach`: positions that the longest draft covers; `steps`: drafts that a reward model scored as a whole
 */

/** @type {WeakMap<Run, Band>} */
const cache = new WeakMap();

/** The band of a run; only rounds that came since the last call are read. @param {Run} run @returns {Band} */
export function bandOf(run) {
  let band = cache.get(run);
  if (!band || band.rounds !== run.rounds || band.seen > run.rounds.length) {
    band = { spans: [], overhangs: [], drafts: [], steps: [], widest: 1, reach: 0, seen: 0, rounds: run.rounds };
    cache.set(run, band);
  }
  for (; band.seen < run.rounds.length; band.seen += 1) addRound(band, run.rounds[band.seen]);
  return band;
}

/** @param {Band} band @param {Round} round */
function addRound(band, round) {
  const index = band.seen;
  const vetoed = vetoedAt(round);
  for (const token of round.tokens ?? []) {
    const kind = kindOf(token, token.pos === vetoed);
    const last = band.spans.at(-1);
    const joins = last && last.kind === kind && last.to === token.pos;
    if (joins && kind === "accepted" && last.round === index) last.to = token.pos + 1;
    else band.spans.push({ from: token.pos, to: token.pos + 1, kind, round: index });
  }
  const from = round.start;
  const deep = from + (round.levels ?? 0);
  const step = stepOf(round);
  if (step) band.steps.push(step);
  else if (deep > from + round.accepted)
    band.overhangs.push({ from: from + round.accepted, to: deep, kind: "rejected", round: index });
  const breadth = breadthOf(round);
  band.widest = Math.max(band.widest, ...breadth);
  band.reach = Math.max(band.reach, deep - from);
  band.drafts.push({
    from,
    to: from + (round.tokens?.length ?? round.emitted),
    deep,
    accepted: round.accepted,
    breadth,
    rank: draftOf(round) > 0 ? tcrOf(round) : null,
    size: sizeOf(round),
  });
}

/** The sign of an emitted token. @param {import("../types/trace.js").Token} token
 * @param {boolean} vetoed a veto led to it @returns {string} */
function kindOf(token, vetoed) {
  if (vetoed && token.origin === "correction") return "vetoed";
  if (token.origin !== "draft") return token.origin;
  return token.node == null ? "alone" : "accepted"; // no draft: the draft model writes by itself
}

/** The position where a veto ended the round, -1 when none did. @param {Round} round @returns {number} */
function vetoedAt(round) {
  const tip = round.path?.at(-1) ?? -1;
  const node = (round.nodes ?? []).find((one) => one.parent === tip && one.state === "vetoed");
  return node ? round.start + node.depth - 1 : -1;
}

/** Nodes at each depth of the draft; where the nodes were not recorded, one a level of a chain.
 * @param {Round} round @returns {number[]} */
export function breadthOf(round) {
  /** @type {number[]} */
  const counts = new Array(round.levels ?? 0).fill(0);
  for (const node of round.nodes ?? []) counts[node.depth - 1] = (counts[node.depth - 1] ?? 0) + 1;
  if (!round.nodes?.length && round.drafted === round.levels) counts.fill(1);
  return counts;
}

/** The first entry of a list in order of `to` that reaches beyond a position.
 * @param {{to: number}[]} list @param {number} pos @returns {number} */
export function firstFrom(list, pos) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (list[mid].to <= pos) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** The first entry of a list in order of `from` that begins at a position or behind it.
 * @param {{from: number}[]} list @param {number} pos @returns {number} */
export function fromOn(list, pos) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (list[mid].from < pos) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** The lane that the others are compared with, or null. @param {Store} store @returns {Run | null} */
export function referenceOf(store) {
  const runs = store.lanes.flatMap((key) => store.runs.get(key) ?? []);
  return runs.find((run) => run.card.guarantee === "reference") ?? null;
}

/** Where a run's text leaves the reference's, as a position of the run (below 0 in a beginning that was forced); null
 * when it does not, or when they answer different prompts.
 * @param {Store} store @param {Run} run @param {Run | null} reference @returns {number|null} */
export function partsAt(store, run, reference) {
  if (!reference || reference === run || !run.head || !reference.head) return null;
  if (run.head.prompt !== reference.head.prompt) return null;
  const at = across(reference, run, store.divergence(reference.key, run.key) - forcedOf(reference));
  return at < Math.min(run.tokens.length, across(reference, run, reference.tokens.length)) ? at : null;
}

/** Share of the reference's text that a run follows before it parts; null without a reference.
 * @param {Store} store @param {Run} run @param {Run | null} reference @returns {number|null} */
export function agreement(store, run, reference) {
  if (!reference?.tokens.length || run.head?.prompt !== reference.head?.prompt) return null;
  if (run === reference) return 1;
  return store.divergence(reference.key, run.key) / reference.tokens.length;
}

/** The orders in which bands may come. @type {{id: string, name: string}[]} */
export const SORTS = [
  { id: "given", name: "as chosen" },
  { id: "calls", name: "target calls" },
  { id: "tau", name: "tokens a call" },
  { id: "speed", name: "speed" },
  { id: "agreement", name: "agreement" },
  { id: "name", name: "name" },
];

/** Lane keys in an order; what is unknown comes last, and equal lanes stay as chosen.
 * @param {Store} store @param {string} by @returns {string[]} */
export function sorted(store, by) {
  const reference = referenceOf(store);
  /** @type {Partial<Record<string, (run: Run) => number|null>>} */
  const values = {
    calls: (run) => store.stats(run).calls || null,
    tau: (run) => negative(shownFigures(store, run, reference).tau),
    speed: (run) => negative(shownFigures(store, run, reference).perSecond),
    agreement: (run) => negative(agreement(store, run, reference)),
  };
  const lanes = [...store.lanes];
  if (by === "name") return lanes.sort((a, b) => titleOf(store, a).localeCompare(titleOf(store, b)));
  const value = values[by];
  if (!value) return lanes;
  const read = (/** @type {Run | undefined} */ run) => (run && value(run)) ?? Infinity;
  const known = new Map(lanes.map((key) => [key, read(store.runs.get(key))]));
  return lanes.sort((a, b) => {
    const [left, right] = [known.get(a) ?? Infinity, known.get(b) ?? Infinity];
    return left === right ? 0 : left - right;
  });
}

/** @param {number|null} value */
const negative = (value) => (value === null ? null : -value);
