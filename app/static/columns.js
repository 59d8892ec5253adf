// @ts-check
// Reading a run by position, round and node; every view resolves selections here.

import { count } from "./dom.js";
import { valueWord } from "./lanes/text.js";
import { drafted } from "./numbers.js";
import { whose } from "./run/whose.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/store.js").Place} Place
 * @typedef {import("./types/store.js").Selection} Selection
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {import("./types/trace.js").Token} Token
 * @typedef {{pos: number, token: Token, round: number, index: number | null, node: Node | null, ghost: boolean}} Column
 * @typedef {{run: Run, round: Round | null, roundIndex: number, index: number | null, node: Node | null,
 *   token: Token | null, pos: number | null}} Found what a selection points at
 */

/** @type {WeakMap<Run, {rounds: Run["rounds"], seen: number, list: Column[]}>} */
const cache = new WeakMap();

/** The draft token whose rejection ended a round: of those rejected at the end of the accepted path the leading one, by
 * rank. @param {Round} round @returns {number|null} index in round.nodes */
export function rejectedNode(round) {
  const last = round.path.at(-1) ?? -1;
  let found = null;
  for (const [index, { parent, state, rank }] of round.nodes.entries()) {
    if (parent !== last || (state !== "rejected" && state !== "vetoed")) continue;
    if (found === null || (rank ?? Infinity) < (round.nodes[found].rank ?? Infinity)) found = index;
  }
  return found;
}

/** One entry a response position: its token, its round and the draft token judged there (`ghost`: it was rejected).
 * Grows with the run; only new rounds are read.
 * @param {Run} run @returns {Column[]} */
export function columns(run) {
  let known = cache.get(run);
  if (!known || known.rounds !== run.rounds || known.seen > run.rounds.length) {
    known = { rounds: run.rounds, seen: 0, list: [] };
    cache.set(run, known);
  }
  for (; known.seen < run.rounds.length; known.seen += 1) {
    const round = run.rounds[known.seen];
    const rejected = rejectedNode(round);
    for (const token of round.tokens ?? []) {
      const owned = token.node !== null && token.node !== undefined;
      const index = owned ? token.node : token.origin === "correction" ? rejected : null;
      const node = index === null ? null : (round.nodes?.[index] ?? null);
      known.list.push({ pos: token.pos, token, round: known.seen, index, node, ghost: !owned && node !== null });
    }
  }
  return known.list;
}

/** The columns inside the rounds that the time cursor shows. @param {Store} store @param {Run} run
 * @returns {Column[]} */
export function visibleColumns(store, run) {
  const all = columns(run);
  const shown = store.visibleRounds(run);
  if (shown >= run.rounds.length) return all;
  const written = run.rounds[shown - 1];
  if (written?.canvas) return canvasColumns(run, written, shown - 1);
  const end = run.rounds[shown]?.start ?? all.length;
  return all.slice(0, end);
}

/** What stands at each place after an iteration, as if it were the text. @param {Run} run @param {Round} round
 * @param {number} index @returns {Column[]} */
function canvasColumns(run, round, index) {
  return (round.canvas ?? []).map(({ token: id }, i) => {
    const pos = round.start + i;
    const piece = run.pieces.get(id) ?? "";
    const token = /** @type {Token} */ ({ pos, token: id, piece, origin: "placed", round: index });
    return { pos, token, round: index, index: null, node: null, ghost: false };
  });
}

/** The run under the cursor, or the first lane that drafts, or the first lane.
 * @param {Store} store @returns {Run | null} */
export function selectedRun(store) {
  const key = store.focus()?.run ?? store.cursor?.run;
  return (key && store.runs.get(key)) || drafting(store);
}

/** The first lane that drafts, or the first. @param {Store} store @returns {Run | null} */
function drafting(store) {
  const runs = store.lanes.flatMap((lane) => store.runs.get(lane) ?? []);
  return runs.find((run) => drafted(run.rounds)) ?? runs[0] ?? null;
}

/** The lane that is shown while nothing is hovered. @param {Store} store @returns {Run | null} */
export function lockedRun(store) {
  return (store.cursor && store.runs.get(store.cursor.run)) ?? drafting(store);
}

/** The title of a lane's method. @param {Store} store @param {string} key */
export const titleOf = (store, key) => store.runs.get(key)?.card.title ?? key;

/** What a lane's text was made to begin with. @param {number} forced tokens @param {string} last of them */
const givenWords = (forced, last) => `given ${forced > 1 ? `${count(forced, "token")} to ` : ""}“${last.trim()}”`;

/** What a run was asked for, by name and in words; what `whose` tells aside. @param {Run} run
 * @returns {Map<string, string>} */
function settingsOf({ head }) {
  const { knobs = {}, extras = {}, max_new_tokens: limit } = head ?? {};
  const { trajectory, forced } = /** @type {import("./types/trace.js").HeadExtras} */ (extras);
  /** @type {[string, string | false][]} */
  const told = [
    ["trajectory", typeof trajectory === "number" && `trajectory ${trajectory + 1}`],
    ["forced", typeof forced === "number" && givenWords(forced, head?.prompt_pieces?.at(-1) ?? "")],
    .../** @type {[string, string][]} */ (
      Object.entries(knobs).map(([name, given]) => [name, `${name} ${valueWord(given)}`])
    ),
    ["limit", `at most ${(limit ?? 0) + (typeof forced === "number" ? forced : 0)} tokens`], // with the forced ones
  ];
  return new Map(told.flatMap(([name, words]) => (words ? [[name, words]] : [])));
}

const FEW = 2; // settings that a name tells where fewer would do as well

/** The parts of a lane's name: its title, its settings where several lanes have the same title, what tells lanes of
 * several prompts and the like apart, and a number where nothing does. @param {Store} store @param {Run} run */
function nameParts(store, run) {
  const title = (/** @type {Run} */ one) => one.card.title ?? one.head?.title ?? one.key;
  const runs = [...store.runs.values()];
  const same = runs.filter((one) => one.head && title(one) === title(run));
  const none = { title: title(run), settings: /** @type {string[]} */ ([]), number: /** @type {string[]} */ ([]) };
  if (same.length < 2 || !run.head) return { ...none, other: whose(runs, run) };
  const known = new Map(same.map((one) => [one, { settings: settingsOf(one), other: whose(runs, one) }]));
  const of = (/** @type {Run} */ one) => known.get(one) ?? { settings: new Map(), other: [] };
  const names = new Set(same.flatMap((one) => [...of(one).settings.keys()]));
  const telling = [...names].filter((name) => new Set(same.map((one) => of(one).settings.get(name))).size > 1);
  /** @param {Run} one @param {number} n of the telling settings @returns {string[]} */
  const told = (one, n) => telling.slice(0, n).flatMap((name) => of(one).settings.get(name) ?? []);
  const whole = (/** @type {Run} */ one, /** @type {number} */ n) => [...told(one, n), ...of(one).other].join(", ");
  const kinds = (/** @type {number} */ n) => new Set(same.map((one) => whole(one, n))).size;
  let n = FEW;
  while (n < telling.length && kinds(n) < kinds(telling.length)) n += 1;
  const twins = same.filter((one) => whole(one, n) === whole(run, n));
  const number = twins.length > 1 ? [String(twins.indexOf(run) + 1)] : [];
  return { title: title(run), settings: told(run, n), other: of(run).other, number };
}

/** @param {string} title @param {string[]} words */
const named = (title, words) => (words.length ? `${title} (${words.join(", ")})` : title);

/** A lane's title with all that tells it from the other lanes, as engine/analysis/labels.py has it.
 * @param {Store} store @param {Run} run @returns {string} */
export function nameOf(store, run) {
  const { title, settings, other, number } = nameParts(store, run);
  return named(title, [...settings, ...other, ...number]);
}

/** The same where prompts and the like are beside it. @param {Store} store @param {Run} run @returns {string} */
export function ownNameOf(store, run) {
  const { title, settings, number } = nameParts(store, run);
  return named(title, [...settings, ...number]);
}

/** Everything a selection points at. Without a selection: the first rejection of a finished run, else the end of what
 * is shown. @param {Store} store @param {Place | null} [given] @returns {Found | null} */
export function resolve(store, given) {
  const found = resolved(store, given);
  const half = found && found.roundIndex === store.visibleRounds(found.run) ? store.halfRound(found.run) : null;
  if (!found || !half) return found;
  const { index, pos } = found;
  const at = index ?? half.nodes.findIndex((node) => half.start + node.depth - 1 === pos);
  return { ...found, round: half, index: at < 0 ? null : at, node: half.nodes[at] ?? null, token: null };
}

/** The place that the details show while nothing is hovered. @param {Store} store @returns {Selection | null} */
export function shownPlace(store) {
  if (store.cursor) return store.cursor;
  const run = lockedRun(store);
  const found = run && resolve(store, { run: run.key });
  if (!run || !found || found.pos === null) return null;
  return { run: run.key, round: found.roundIndex, pos: found.pos, node: found.index };
}

/** The same as if every round were decided.
 * @param {Store} store @param {Place | null} [given] @returns {Found | null} */
function resolved(store, given) {
  const selection = given ?? store.focus() ?? {};
  const run = selection.run ? store.runs.get(selection.run) : selectedRun(store);
  if (!run) return null;
  const list = columns(run);
  let { pos = null, round = null, node = null } = selection;
  if (round === null && pos === null) {
    const seen = store.visibleRounds(run);
    const telling = run.end && seen === run.rounds.length ? list.find((column) => column.ghost) : null;
    if (telling)
      return {
        run,
        round: run.rounds[telling.round],
        roundIndex: telling.round,
        index: telling.index,
        node: telling.node,
        token: null,
        pos: telling.pos,
      };
    if (run.end && seen === run.rounds.length && list.length) return resolved(store, { run: run.key, pos: 0 });
    round = Math.min(seen, run.rounds.length) - 1;
    if (round >= 0) pos = run.rounds[round].tokens?.at(-1)?.pos ?? null;
  }
  if (round === null && pos !== null) round = list[pos]?.round ?? null;
  const event = round === null ? null : run.rounds[round];
  if (!event || round === null)
    return { run, round: null, roundIndex: -1, index: null, node: null, token: null, pos: null };
  if (node === null && pos === null) pos = event.start;
  const column = pos !== null && list[pos]?.round === round ? list[pos] : null;
  if (node === null) {
    return {
      run,
      round: event,
      roundIndex: round,
      index: column?.index ?? null,
      node: column?.node ?? null,
      token: column?.token ?? null,
      pos,
    };
  }
  const candidate = event.nodes?.[node] ?? null;
  const token = (event.tokens ?? []).find((candidate) => candidate.node === node) ?? null;
  return {
    run,
    round: event,
    roundIndex: round,
    index: node,
    node: candidate,
    token,
    pos: candidate ? event.start + candidate.depth - 1 : pos,
  };
}

/** The selection of a node. @param {Run} run @param {number} roundIndex @param {number} index @returns {Selection} */
export function nodeSelection(run, roundIndex, index) {
  const round = run.rounds[roundIndex];
  const node = round.nodes[index];
  return { run: run.key, round: roundIndex, pos: round.start + node.depth - 1, node: index };
}

/** The selection of a response position. @param {Run} run @param {Column} column @returns {Selection} */
export function columnSelection(run, column) {
  return { run: run.key, round: column.round, pos: column.pos, node: column.token.node ?? null };
}

/** True when the run samples. @param {Run} run @returns {boolean} */
export function samples(run) {
  return Number(run.head?.sampling.temperature ?? 0) > 0;
}
