// @ts-check
// The numbers of runs, from their rounds alone; pooled over rounds, also over several runs of one method.

import { count } from "./dom.js";
import { draftOf, isIteration, isSearch, keptOf } from "./run/canvas.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {import("./types/trace.js").RunStarted} Head
 * @typedef {ReturnType<typeof summary>} Summary
 */

export const RARE = 0.05; // share of a lane's rounds below which an axis need not show them
const TENTHS = 10; // bins of probability
const SHORT = 8; // positions of a draft that are shown always
const KEPT = new Set(["accepted", "relaxed"]);
/** @param {number} part @param {number} whole */
const ratio = (part, whole) => (whole > 0 ? part / whole : null);
/** @template T @param {readonly T[]} list @param {(item: T) => number | null | undefined} read */
const sum = (list, read) => list.reduce((total, item) => total + (read(item) ?? 0), 0);

/**
 * Runs of the same method with the same knobs as this one, and as much seen before (trajectory), itself first.
 * @param {Store} store @param {Run} run @returns {Run[]}
 */
export function siblings(store, run) {
  const name = (/** @type {Run} */ one) =>
    `${one.head?.method ?? one.card.name}${JSON.stringify([one.head?.knobs ?? {}, one.head?.extras.trajectory ?? 0])}`;
  const lanes = store.lanes.flatMap((key) => store.runs.get(key) ?? []);
  return [run, ...lanes.filter((one) => one !== run && one.head && name(one) === name(run))];
}

/** The shown rounds of some runs. @param {Store} store @param {readonly Run[]} runs @returns {Round[]} */
export function roundsOf(store, runs) {
  return runs.flatMap((run) => run.rounds.slice(0, store.visibleRounds(run)));
}

/** Whether any of these rounds has a draft. @param {readonly Round[]} rounds */
export const drafted = (rounds) => rounds.some((round) => draftOf(round) > 0);

/** The rounds that have a draft. @param {readonly Round[]} rounds */
export const drafting = (rounds) => rounds.filter((round) => draftOf(round) > 0);

/** The largest of a number over several lanes' rounds, at least 1.
 * @param {(readonly Round[])[]} all @param {(rounds: readonly Round[]) => number} read */
export const most = (all, read) => Math.max(1, ...all.map((rounds) => read(rounds)));

/** Whether a round's walk ended at a rejected draft token, and the text not before.
 * @param {Round} round @returns {boolean} */
export const rejects = (round) =>
  draftOf(round) > 0 && (round.tokens ?? []).some((token) => token.origin === "correction");

/** Acceptance by position in the draft; index 0 is position 1.
 * @param {readonly Round[]} rounds
 * @returns {{accepted: number[], tested: number[], drafting: number, marginal: number[], conditional:
 * (number|null)[]}} */
export function byPosition(rounds) {
  const drafting = rounds.filter((round) => draftOf(round) > 0);
  const deepest = drafting.reduce((most, round) => Math.max(most, round.levels), 0);
  const accepted = new Array(deepest).fill(0);
  const tested = new Array(deepest).fill(0);
  for (const round of drafting) {
    for (let depth = 0; depth < Math.min(deepest, round.accepted); depth += 1) {
      accepted[depth] += 1;
      tested[depth] += 1;
    }
    if (round.accepted < deepest && rejects(round)) tested[round.accepted] += 1;
  }
  return {
    accepted,
    tested,
    drafting: drafting.length,
    marginal: accepted.map((count) => count / drafting.length),
    conditional: accepted.map((count, i) => ratio(count, tested[i])),
  };
}

/** The last position where a draft token was tested; 0 where none was. @param {{tested: readonly number[]}} found */
const deepestOf = ({ tested }) => tested.findLastIndex((count) => count > 0) + 1;

/** Where the axis of positions in the draft ends: behind the last position that any lane accepts in at least `RARE` of
 * its rounds with a draft. A few deep rounds of one lane do not squeeze the others.
 * @param {(readonly Round[])[]} all
 * @returns {{x: number, deepest: number}} `deepest`: where the last token was tested */
export function depthsOf(all) {
  const found = all.map(byPosition);
  const deepest = Math.max(1, ...found.map(deepestOf));
  const usual = Math.max(
    0,
    ...found.map((one) => Math.min(deepestOf(one), one.marginal.findLastIndex((share) => share >= RARE) + 2)),
  );
  return { x: usual > 1 ? Math.min(deepest, Math.max(usual, SHORT)) : deepest, deepest };
}

/** The same for the axis of draft tokens that a round accepts. @param {(readonly Round[])[]} all */
export function acceptedIn(all) {
  const deepest = most(all, (rounds) => summary(rounds).histogram.length - 1);
  return { x: Math.min(deepest, depthsOf(all).x), deepest };
}

/** How far a lane goes on beyond the end of an axis, and its numbers there; null where it does not.
 * @typedef {{to: number, of: string, said: string[]} | null} Beyond */

/** Positions in the draft, equal neighbours together: "18 to 27 accepted in 2".
 * @param {readonly Round[]} rounds @param {number} end @returns {Beyond} */
export function depthsBeyond(rounds, end) {
  const found = byPosition(rounds);
  const to = deepestOf(found);
  /** @type {string[]} */
  const said = [];
  for (let from = end + 1; from <= to; ) {
    let last = from;
    while (last < to && found.accepted[last] === found.accepted[from - 1]) last += 1;
    said.push(`${from === last ? from : `${from} to ${last}`} accepted in ${found.accepted[from - 1]}`);
    from = last + 1;
  }
  return said.length ? { to, of: `of ${count(found.drafting, "round")} with a draft`, said } : null;
}

/** Numbers of accepted draft tokens: "28 accepted in 1". @param {readonly Round[]} rounds @param {number} end
 * @returns {Beyond} */
export function acceptedBeyond(rounds, end) {
  const { histogram, rounds: n } = summary(rounds);
  const said = histogram.flatMap((found, kept) => (kept > end && found ? [`${kept} accepted in ${found}`] : []));
  return said.length ? { to: histogram.length - 1, of: `of ${count(n, "round")}`, said } : null;
}

/** Counts and times. @param {readonly Round[]} rounds */
export function summary(rounds) {
  const drafting = rounds.filter((round) => draftOf(round) > 0);
  const tokens = sum(rounds, (round) => round.emitted);
  const draft = sum(rounds, (round) => round.draft_ms);
  const verify = sum(rounds, (round) => round.verify_ms);
  const other = sum(rounds, (round) => round.other_ms);
  const reward = sum(rounds, rewardMs);
  const network = sum(rounds, networkMs);
  const step = ratio(
    sum(drafting, (round) => round.draft_ms),
    sum(drafting, stepsOf),
  );
  const calls = rounds.filter((round) => round.fed > 0).length;
  const call = ratio(verify, calls);
  /** @type {number[]} */
  const histogram = [];
  for (const kept of rounds.map(keptOf)) histogram[kept] = (histogram[kept] ?? 0) + 1;
  return {
    rounds: rounds.length,
    calls,
    iterations: rounds.filter(isIteration).length,
    drafting: drafting.length,
    tokens,
    draft,
    verify,
    other,
    reward,
    network,
    rest: other - reward - network,
    step,
    call,
    drafted: sum(rounds, draftOf),
    accepted: sum(rounds, keptOf),
    fed: sum(rounds, (round) => round.fed),
    tau: ratio(tokens, calls),
    costRatio: step === null || call === null ? null : ratio(step, call),
    perSecond: ratio(1000 * tokens, draft + verify + other),
    histogram: Array.from(histogram, (count) => count ?? 0),
  };
}

/** Draft steps of a round: passes of a drafter that writes several levels in one, tokens of a model with a tokenizer of
 * its own, else the levels that were written, verified or not (`_steps` of engine/trace/sums.py).
 * @param {Round} round @returns {number} */
const stepsOf = ({ extras, levels }) => extras.passes ?? extras.draft_tokens ?? extras.made ?? extras.levels ?? levels;

/** Of a round's other time, what its reward model took. @param {Round} round */
const rewardMs = (round) => ("reward" in round.extras ? (round.extras.early_ms ?? 0) : 0);

/** And what a network took that writes the text in place. @param {Round} round */
const networkMs = (round) => round.extras.network_ms ?? 0;

/** Where a round's time goes, and the field of a summary that adds it up.
 * @type {readonly {part: "draft" | "verify" | "reward" | "network" | "rest", ms: (round: Round) => number,
 *   words: string, colour: string}[]} */
export const TIMES = [
  { part: "draft", ms: (round) => round.draft_ms, words: "draft", colour: "--draft-2" },
  { part: "verify", ms: (round) => round.verify_ms, words: "target", colour: "--target-2" },
  { part: "reward", ms: rewardMs, words: "reward model", colour: "--judge" },
  { part: "network", ms: networkMs, words: "network", colour: "--overlap" },
  {
    part: "rest",
    ms: (round) => round.other_ms - rewardMs(round) - networkMs(round),
    words: "other",
    colour: "--neutral",
  },
];

/** The parts that summaries have time in: other time always, the target's where it is called, the rest where there is
 * any. @param {readonly Summary[]} all */
export const timesOf = (all) =>
  TIMES.filter(
    ({ part }) => part === "rest" || all.some((one) => one[part] > 0 || (part === "verify" && one.calls > 0)),
  );

/** A round's time in the drafter: in a target call of a run without a draft, the moment before it is overhead and no
 * draft's time. @param {Pick<Run, "head">} run @param {Round} round @returns {number} */
export const draftMs = (run, round) =>
  (run.head?.drafter === "none" || isSearch(round)) && round.fed ? 0 : round.draft_ms;

/** Rounds as their time is told. @param {Pick<Run, "head">} run @param {readonly Round[]} rounds
 * @returns {readonly Round[]} */
export const billed = (run, rounds) =>
  rounds.map((round) => {
    const draft = draftMs(run, round);
    return draft === round.draft_ms
      ? round
      : { ...round, draft_ms: draft, other_ms: round.other_ms + round.draft_ms - draft };
  });

/** Tested draft tokens as [number, accepted] pairs. @param {readonly Round[]} rounds
 * @param {(node: Node) => number|null|undefined} read @returns {[number, boolean][]} */
export function tested(rounds, read) {
  /** @type {[number, boolean][]} */
  const pairs = [];
  for (const round of rounds.filter((one) => !isSearch(one))) {
    for (const node of round.nodes ?? []) {
      const value = read(node);
      if (node.state !== "discarded" && value !== null && value !== undefined)
        pairs.push([value, KEPT.has(node.state)]);
    }
  }
  return pairs;
}

/** Bins of equal width. @param {[number, boolean][]} pairs @param {number} width
 * @returns {{low: number, high: number, n: number, kept: number, share: number|null, interval: [number, number]}[]} */
export function binned(pairs, width) {
  /** @type {{low: number, high: number, n: number, kept: number}[]} */
  const bins = [];
  for (const [value, kept] of pairs) {
    const at = Math.max(0, Math.floor(value / width));
    bins[at] ??= { low: at * width, high: (at + 1) * width, n: 0, kept: 0 };
    bins[at].n += 1;
    bins[at].kept += kept ? 1 : 0;
  }
  return Array.from(bins, (bin, at) => bin ?? { low: at * width, high: (at + 1) * width, n: 0, kept: 0 }).map(
    (bin) => ({ ...bin, share: ratio(bin.kept, bin.n), interval: wilson(bin.kept, bin.n) }),
  );
}

/** Tested draft tokens by the probability that their drafter gave them, in ten bins (engine/analysis/calibration.py).
 * @param {readonly Round[]} rounds
 * @returns {{n: number, said: number|null, share: number|null, error: number|null, bins: {low: number, high: number,
 * n: number, kept: number, said: number|null, share: number|null, interval: [number, number]}[]}} `said`: the mean
 * probability; `error`: how far it is from the share accepted within a bin, on average over draft tokens */
export function calibration(rounds) {
  const sums = Array.from({ length: TENTHS }, () => ({ n: 0, kept: 0, q: 0 }));
  const pairs = tested(rounds, (node) => node.q);
  for (const [q, kept] of pairs) {
    const bin = sums[Math.min(TENTHS - 1, Math.floor(TENTHS * q))];
    bin.n += 1;
    bin.kept += kept ? 1 : 0;
    bin.q += q;
  }
  const bins = sums.map(({ n, kept, q }, at) => ({
    low: at / TENTHS,
    high: (at + 1) / TENTHS,
    n,
    kept,
    said: ratio(q, n),
    share: ratio(kept, n),
    interval: wilson(kept, n),
  }));
  return {
    n: pairs.length,
    said: ratio(
      sum(sums, ({ q }) => q),
      pairs.length,
    ),
    share: ratio(
      sum(sums, ({ kept }) => kept),
      pairs.length,
    ),
    error: ratio(
      sum(bins, ({ n, said, share }) => n * Math.abs((share ?? 0) - (said ?? 0))),
      pairs.length,
    ),
    bins,
  };
}

/** Wilson's 95 % interval of a share. @param {number} kept @param {number} n @returns {[number, number]} */
export function wilson(kept, n) {
  if (!n) return [0, 1];
  const z = 1.959963984540054; // the normal quantile at 0.975
  const share = kept / n;
  const centre = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n))) / (1 + (z * z) / n);
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}

/** Rank of the last accepted draft token; of a chain its length. @param {Round} round @returns {number|null} */
export function tcrOf(round) {
  if (round.tcr !== null && round.tcr !== undefined) return round.tcr;
  if (!round.accepted || round.levels === round.drafted) return round.accepted;
  return round.nodes[round.path.at(-1) ?? -1]?.rank ?? null;
}

/** N of a round: its draft tokens and the root, or what its shape says was verified.
 * @param {Round} round @returns {number} */
export const sizeOf = ({ extras, drafted }) => (typeof extras?.n_verify === "number" ? extras.n_verify : drafted + 1);

/** Why a quotient of two speeds would mean nothing; an empty string when it means something.
 * @param {Run} run @param {Run | null | undefined} baseline @returns {string} */
export function incomparable(run, baseline) {
  if (!run.head || !baseline?.head || drafted(baseline.rounds)) return "a draft";
  if (baseline.head.guarantee === "lossy") return "another distribution";
  const [ours, theirs] = [run.head, baseline.head];
  const target = (/** @type {Head} */ { models }) =>
    JSON.stringify([models.target?.id, models.target?.sha256, models.target?.revision]);
  if (target(ours) !== target(theirs)) return "another target";
  if (ours.device !== theirs.device || ours.dtype !== theirs.dtype) return "another device or number type";
  if (JSON.stringify(ours.prompt_ids) !== JSON.stringify(theirs.prompt_ids)) return "another prompt";
  const sampling = (/** @type {Head} */ { sampling: { temperature = 0, top_k = 0, top_p = 1 } }) =>
    JSON.stringify([temperature, top_k, top_p]);
  if (sampling(ours) !== sampling(theirs)) return "another sampling";
  if (ours.max_new_tokens !== theirs.max_new_tokens) return "another limit";
  if (JSON.stringify(ours.stop) !== JSON.stringify(theirs.stop)) return "another stop string";
  if (ours.record !== theirs.record) return "another record"; // a full one takes time
  const { process } = ours.extras; // a token that each process draws for its runs
  if (!process || process !== theirs.extras.process) return "been measured in another process";
  return "";
}

/** Predicted speed against one token a call when k levels are drafted: E(k) / (v(k) + k c + o), in plain calls; one
 * c where one pass writes them all. v(k) goes straight from one plain call to the measured call at the measured length.
 * @param {readonly Round[]} rounds
 * @param {Summary | null} [plain] summary of a lane without a draft, if one can be compared
 * @returns {{k: number, calls: number, speed: number|null}[]} */
export function lengthCurve(rounds, plain = null) {
  const { marginal } = byPosition(rounds);
  const numbers = summary(rounds);
  const mean = ratio(
    sum(rounds, (round) => round.levels),
    numbers.drafting,
  );
  const call = numbers.call ?? 0;
  const unit = plain?.call ?? call;
  const other = numbers.other / Math.max(1, numbers.rounds);
  const whole = plain ? unit + plain.other / Math.max(1, plain.rounds) : unit + other;
  const once = rounds.some((round) => "passes" in round.extras);
  const steps = (/** @type {number} */ k) => (once ? Math.min(k, 1) : k);
  let expected = 1;
  const at = (/** @type {number} */ k) =>
    numbers.step === null || !unit
      ? null
      : (expected * whole) / (unit + (call - unit) * (k / (mean || 1)) + steps(k) * numbers.step + other);
  const curve = [{ k: 0, calls: 1, speed: at(0) }];
  marginal.forEach((share, i) => {
    expected += share;
    curve.push({ k: i + 1, calls: expected, speed: at(i + 1) });
  });
  return curve;
}

/** The lane without a draft that a run may be compared with. @param {Store} store @param {Run} run
 * @returns {Run | null} */
export function plainOf(store, run) {
  const others = store.lanes
    .map((key) => store.runs.get(key))
    .filter((one) => one && one !== run && store.visibleRounds(one) > 0 && !drafted(one.rounds));
  return others.find((one) => !incomparable(run, one)) ?? null;
}
