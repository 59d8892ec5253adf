// @ts-check
// What if the temperature were another: which recorded draft tokens the exact rule would accept then, from the first n
// tokens of both distributions. What the tokens beyond them weigh is bounded, never assumed: every number is a range,
// and a decision counts only where its whole range lies on one side of the draw. No DOM here.

import { samples } from "./columns.js";

/**
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {import("./types/trace.js").TopN} TopN
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {readonly [low: number, high: number]} Range
 * @typedef {{temperature: number, top_k: number, top_p: number}} Sampling
 * @typedef {(id: number) => Range} Weights what a token weighs, not normalised
 * @typedef {{weigh: Weights, total: Range}} Distribution
 */

const ROUNDING = 1e-6; // of probabilities in single precision, and their sums
const CLOSE = 1e-4; // of a probability of acceptance that is computed anew

/** Whether the exact rule alone decided on draft tokens by draws. @param {Run} run */
export const temperable = (run) => samples(run) && run.head?.rule === "exact" && run.head.drafter !== "none";

/** @param {Run} run @returns {Sampling} */
export const samplingOf = ({ head }) => ({
  temperature: Number(head?.sampling.temperature ?? 0),
  top_k: Number(head?.sampling.top_k ?? 0),
  top_p: Number(head?.sampling.top_p ?? 1),
});

/** A recorded raw distribution at a temperature, top-k and top-p: softmax(logits / T) is p^(1/T) over its sum.
 * @param {TopN} top the first n, most probable first @param {number} vocab tokens in all @param {Sampling} sampling
 * @param {readonly [id: number, p: number] | null} [extra] a token beyond the first n whose probability is known
 * @returns {Distribution} */
export function distributionAt(top, vocab, { temperature, top_k, top_p }, extra = null) {
  const power = 1 / temperature;
  const weights = top.map(([, p]) => p ** power);
  const least = top.at(-1)?.[1] ?? 1;
  const beyond = extra && extra[1] <= least && !top.some(([id]) => id === extra[0]) ? extra : null;
  const rest = restOf(top, vocab, power, beyond);
  const known = sum(weights);
  /** @type {Range} */
  let total = [known + rest[0], known + rest[1]];
  let [kept, perhaps] = [top.length, top.length]; // of the list: surely, and perhaps
  let more = true; // whether tokens beyond the list may be kept
  if (top_k > 0 && top_k < vocab) {
    const kth = top[top_k - 1]?.[1] ?? least;
    more = kth <= least; // tokens tied with the k-th stay, and some beyond the list may be
    kept = perhaps = top.filter(([, p]) => p >= kth).length;
    total = [sum(weights.slice(0, kept)), more ? total[1] : sum(weights.slice(0, kept))];
  }
  if (top_p < 1) {
    const before = weights.map((_, i) => sum(weights.slice(0, i)));
    const upTo = (/** @type {number} */ all, /** @type {number} */ most) => {
      const found = before.findIndex((mass, i) => i > 0 && mass >= top_p * all);
      return found < 0 ? most : Math.min(found, most);
    };
    const [sure, possible] = [upTo(total[0], kept), upTo(total[1], perhaps)];
    more &&= possible === top.length && known < top_p * total[1];
    [kept, perhaps] = [sure, possible];
    total = [sum(weights.slice(0, kept)), more ? total[1] : sum(weights.slice(0, perhaps))];
  }
  const places = new Map(top.map(([id], i) => [id, i]));
  const cut = top_k > 0 || top_p < 1;
  /** @type {Weights} */
  const weigh = (id) => {
    const place = places.get(id);
    if (place !== undefined) return [place < kept ? weights[place] : 0, place < perhaps ? weights[place] : 0];
    if (!more) return [0, 0];
    const high = (beyond?.[0] === id ? beyond[1] : least) ** power;
    return [beyond?.[0] === id && !cut ? high : 0, high];
  };
  return { weigh, total };
}

/** What all tokens beyond the list weigh together: their mass m is known, each is at most the least of the list, so
 * that the sum of their powers lies between m^a r^(1-a), all r alike, and m c^(a-1), as few as can be.
 * @param {TopN} top @param {number} vocab @param {number} power @param {readonly [number, number] | null} beyond
 * @returns {Range} */
function restOf(top, vocab, power, beyond) {
  const others = vocab - top.length - (beyond ? 1 : 0);
  const mass = 1 - sum(top.map(([, p]) => p)) - (beyond?.[1] ?? 0);
  const least = Math.max(top.at(-1)?.[1] ?? 1, Number.MIN_VALUE);
  const own = beyond ? beyond[1] ** power : 0;
  if (others <= 0) return [own, own];
  const ends = [mass - ROUNDING, mass + ROUNDING].map((m) => {
    const left = Math.min(Math.max(0, m), others * least);
    const [even, few] = [left ** power * others ** (1 - power), left * least ** (power - 1)];
    return [Math.min(even, few), Math.max(even, few)];
  });
  return [own + ends[0][0], own + ends[1][1]];
}

/** The probability with which the exact rule accepts a tested draft token at another temperature; null where it was not
 * decided by recorded probabilities, or what was recorded does not give its own decision back.
 * @param {Run} run @param {Round} round @param {number} index of the node @param {Sampling} sampling
 * @returns {Range | null} */
export function acceptanceAt(run, round, index, sampling) {
  const node = round.nodes[index];
  const { accept_prob: was, reason } = node;
  if (was == null || node.u == null || !reason || reason.fired) return null;
  const recorded = chance(run, round, index, samplingOf(run));
  if (!recorded || was < recorded[0] - CLOSE || was > recorded[1] + CLOSE) return null;
  return chance(run, round, index, sampling);
}

/** @param {Run} run @param {Round} round @param {number} index @param {Sampling} sampling @returns {Range | null} */
function chance(run, round, index, sampling) {
  const node = round.nodes[index];
  const vocab = run.head?.vocab ?? 0;
  const { top_target: target, top_draft: draft, reason } = node;
  if (!target?.length) return null;
  const elder = round.nodes.filter((one, i) => i < index && one.parent === node.parent).map(({ token }) => token);
  const own = node.margin == null ? null : /** @type {const} */ ([node.token, target[0][1] * Math.exp(-node.margin)]);
  const p = distributionAt(target, vocab, sampling, own);
  if (reason?.p_left !== undefined) return quotient(p.weigh(node.token), without(p, elder)); // chosen, not drawn
  if (reason?.q === undefined || elder.length || !draft?.length) return null;
  const q = distributionAt(draft, vocab, sampling, shareOf(round, node));
  const [over, under] = [quotient(p.weigh(node.token), p.total), quotient(q.weigh(node.token), q.total)];
  if (under[1] === 0) return null; // it could not have been drawn
  return [Math.min(1, over[0] / under[1]), under[0] > 0 ? Math.min(1, over[1] / under[0]) : 1];
}

/** What is left of a distribution without some tokens. @param {Distribution} distribution @param {number[]} tokens
 * @returns {Range} */
function without({ weigh, total }, tokens) {
  const gone = tokens.map(weigh);
  return [
    Math.max(0, total[0] - sum(gone.map(([, high]) => high))),
    Math.max(0, total[1] - sum(gone.map(([low]) => low))),
  ];
}

/** The draft's raw probability of a token, from the cumulative score. @param {Round} round @param {Node} node
 * @returns {readonly [number, number] | null} */
function shareOf(round, node) {
  const before = node.parent < 0 ? 0 : round.nodes[node.parent]?.score;
  return node.score == null || before == null ? null : [node.token, Math.exp(node.score - before)];
}

/** @param {Range} part @param {Range} whole @returns {Range} */
const quotient = ([low, high], whole) => [
  whole[1] > 0 ? Math.min(1, low / whole[1]) : 0,
  whole[0] > 0 ? Math.min(1, high / whole[0]) : Math.min(1, high > 0 ? 1 : 0),
];

/** @param {readonly number[]} list */
const sum = (list) => list.reduce((all, one) => all + one, 0);

/** What the exact rule would do with the recorded draft tokens and draws at another temperature.
 * `known`: tested tokens that the recorded lists decide, of `tested`; `marks` and `was`: positions of those accepted
 * then and as run; `changed`: the first known decision that falls the other way.
 * @param {Run} run @param {number} temperature @param {number} [upto] rounds to look at */
export function reheated(run, temperature, upto = run.rounds.length) {
  const sampling = { ...samplingOf(run), temperature };
  /** @type {import("./thresholds.js").Replayed} */
  const result = { marks: [], was: [], settled: new Set(), known: 0, tested: 0, changed: null };
  run.rounds.slice(0, upto).forEach((round, r) => {
    round.nodes.forEach((node, i) => {
      if (node.state === "discarded") return;
      result.tested += 1;
      const range = acceptanceAt(run, round, i, sampling);
      const u = node.u ?? 0;
      if (!range || (u >= range[0] - CLOSE && u < range[1] + CLOSE && range[0] < 1)) return;
      const pos = round.start + node.depth - 1;
      const [now, before] = [u < range[0], node.state === "accepted"];
      result.known += 1;
      if (now) result.marks.push(pos);
      if (before) result.was.push(pos);
      if (now !== before) result.changed ??= { pos, round: r, node: i };
    });
  });
  return result;
}

/** What follows, in words. @param {Run} run @param {ReturnType<typeof reheated>} result @param {number} temperature */
export function temperatureWords(run, { marks, was, known, tested, changed }, temperature) {
  const n = run.head?.top_n ?? 0;
  const recorded = samplingOf(run).temperature;
  const told = Number(temperature.toFixed(2));
  if (!known)
    return tested
      ? `This trace does not hold the probabilities that would decide on its ${tested} tested draft tokens at ` +
          "another temperature."
      : "This trace does not hold the probabilities that the decisions compare " +
          "(it was recorded lightly, or nothing was tested).";
  const enough = `The recorded first ${n} of each distribution decide ${known} of ${tested} tested draft tokens`;
  if (temperature === recorded)
    return `${enough}, ${was.length} accepted. Move the temperature to see which would change.`;
  const then = `${enough}: at temperature ${told} ${marks.length} would be accepted, ${was.length} as run`;
  const other = tested > known ? ` For the other ${tested - known} the ${n} are not enough, and nothing is said.` : "";
  const first = changed
    ? ` The first decision to change is at position ${changed.pos}; beyond it the text would differ.`
    : " No decision that is known changes.";
  const same = "Draft tokens and draws are those of the run: at another temperature others would be drafted.";
  return `${then}.${other}${first} ${same}`;
}
