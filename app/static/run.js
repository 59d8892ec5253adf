// @ts-check
// A run on the page: the trace's own events plus the sums that every view needs. No DOM here.

import { draftOf, isIteration, keptOf } from "./run/canvas.js";

/**
 * @typedef {import("./types/store.js").Run} Run what views see
 * @typedef {import("./types/store.js").Stats} Stats
 * @typedef {import("./types/trace.js").Event} Event
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {keyof import("./types/store.js").Sums} Sum
 * @typedef {Record<Sum, number[]>} Sums
 * @typedef {{key: string, card: Run["card"], file: string, asked: Run["asked"], head: Run["head"],
 *   end: Run["end"], rounds: Round[], tokens: Run["tokens"][number][], pieces: Map<number, string>,
 *   sums: Sums}} Growing the same while events come
 */

/** @type {readonly Sum[]} */
const SUMS = ["clock", "calls", "iterations", "tokens", "drafted", "accepted", "draft", "verify", "other"];

/** An empty run of a method. @param {string} key @param {Run["card"]} card
 * @param {Partial<import("./types/store.js").LaneStart>} [start] @returns {Growing} */
export function makeRun(key, card, { file = "", knobs = {}, extras = {} } = {}) {
  const asked = { knobs, extras };
  const sums = /** @type {Sums} */ (Object.fromEntries(SUMS.map((name) => [name, [0]])));
  return { key, card, file, asked, head: null, rounds: [], tokens: [], end: null, pieces: new Map(), sums };
}

/** Append one event of the trace (docs/design/0003-trace.md). @param {Growing} run @param {Event} event */
export function addEvent(run, event) {
  if (event.kind === "run") run.head = event;
  else if (event.kind === "end") run.end = event;
  else addRound(run, { ...event, nodes: event.nodes.map(finite) });
}

/** JSON has no infinity: the trace writes the word. @param {Node} node @returns {Node} */
function finite(node) {
  const { score, margin } = node;
  if (typeof score !== "string" && typeof margin !== "string") return node;
  return {
    ...node,
    ...(score === undefined ? {} : { score: Number(score) }),
    ...(margin === undefined ? {} : { margin: Number(margin) }),
  };
}

/** @param {Growing} run @param {Round} round */
function addRound(run, round) {
  for (const [id, text] of Object.entries(round.pieces)) run.pieces.set(Number(id), text);
  for (const token of round.tokens) {
    run.pieces.set(token.token, token.piece);
    run.tokens.push(token);
  }
  run.rounds.push(round);
  const { draft_ms, verify_ms, other_ms, emitted, fed } = round;
  /** @type {Record<Sum, number>} */
  const amounts = {
    clock: draft_ms + verify_ms + other_ms,
    calls: fed > 0 ? 1 : 0,
    iterations: isIteration(round) ? 1 : 0,
    tokens: emitted,
    drafted: draftOf(round),
    accepted: keptOf(round),
    draft: draft_ms,
    verify: verify_ms,
    other: other_ms,
  };
  for (const name of SUMS) run.sums[name].push(run.sums[name][run.rounds.length - 1] + amounts[name]);
}

/** The text of a token id in this run, or `#id` when the trace never names it. @param {Run} run @param {number} id */
export function textOf(run, id) {
  return run.pieces.get(id) ?? `#${id}`;
}

/** The numbers of the first n rounds. @param {Run} run @param {number} [n] @returns {Stats} */
export function statsOf(run, n = run.rounds.length) {
  const at = /** @type {Record<Sum, number>} */ (Object.fromEntries(SUMS.map((name) => [name, run.sums[name][n]])));
  /** @param {number} a @param {number} b */
  const ratio = (a, b) => (b > 0 ? a / b : null);
  return {
    rounds: n,
    ...at,
    tau: ratio(at.tokens, at.calls),
    perSecond: ratio(1000 * at.tokens, at.clock),
    acceptRate: ratio(at.accepted, at.drafted),
  };
}

/** How many rounds had ended after `ms` milliseconds of decoding. @param {Run} run @param {number} ms */
export function roundsAt(run, ms) {
  const ends = run.sums.clock;
  let low = 0;
  let high = run.rounds.length;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (ends[mid] <= ms) low = mid;
    else high = mid - 1;
  }
  return low;
}

/** How a run is told that came to no end of its own. @type {Readonly<Record<string, string>>} */
export const CUT = { stopped: "stopped", error: "failed" };

/** Whether a run came to an end of its own: of its text, or at a limit. @param {Pick<Run, "end">} run */
export const endedWhole = ({ end }) => end !== null && !(end.reason in CUT);

/** Whether a lane ended before it began: it cannot run, or was stopped first. @param {Pick<Run, "head" | "end">} run */
export const neverRan = ({ head, end }) => !head && end !== null;

/** Whether it was stopped before its first round. @param {Pick<Run, "end" | "rounds">} run */
export const cutFirst = ({ end, rounds }) => end?.reason === "stopped" && !rounds.length;

/** How a lane is told that never ran. @param {Pick<Run, "end" | "rounds">} run */
export const unrunSaid = (run) => (cutFirst(run) ? "was stopped before its first round" : "did not run");

/** How many tokens at the beginning of a run's text were forced: they are the end of its prompt.
 * @param {Pick<Run, "head">} run */
export const forcedOf = ({ head }) => {
  const forced = head?.extras.forced;
  return typeof forced === "number" && head && forced > 0 && forced <= head.prompt_ids.length ? forced : 0;
};

/** The position in another run of what stands at a position of this one: texts are laid over each other from where
 * both responses begin, a forced beginning counted. @param {Run} from @param {Run} to @param {number} pos */
export const across = (from, to, pos) => pos + forcedOf(from) - forcedOf(to);

/** The position of a run's text that stands where a selection of any run is, its last where that is beyond; -1 before
 * its first. @param {{readonly runs: ReadonlyMap<string, Run>}} store
 * @param {import("./types/store.js").Selection} at @param {Run} to */
export function placeAcross({ runs }, at, to) {
  const from = runs.get(at.run);
  if (!from || at.pos === null) return -1;
  return Math.max(-1, Math.min(to.tokens.length - 1, across(from, to, at.pos)));
}

/**
 * First place where the texts of two runs differ, a forced beginning counted; the shorter length when one is a prefix
 * of the other.
 * @param {Run} a
 * @param {Run} b
 */
export function divergenceOf(a, b) {
  const [one, other] = [writer(a), writer(b)];
  const n = Math.min(a.tokens.length + forcedOf(a), b.tokens.length + forcedOf(b));
  for (let at = 0; at < n; at++) if (one(at) !== other(at)) return at;
  return n;
}

/** The token at a place of a run's text. @param {Run} run @returns {(at: number) => number | undefined} */
function writer({ head, tokens }) {
  const forced = forcedOf({ head });
  const before = (head?.prompt_ids.length ?? 0) - forced;
  return (at) => (at < forced ? head?.prompt_ids[before + at] : tokens[at - forced]?.token);
}
