// A run on the page: the trace's own events plus the sums that every view needs. No DOM here.

/**
 * @typedef {{key: string, head: object|null, rounds: object[], tokens: object[], end: object|null,
 *   pieces: Map<number, string>, card: object, sums: Sums}} Run
 * @typedef {{clock: number[], tokens: number[], drafted: number[], accepted: number[], draft: number[],
 *   verify: number[], other: number[]}} Sums  prefix sums; entry n covers the first n rounds
 */

const SUMS = ["clock", "tokens", "drafted", "accepted", "draft", "verify", "other"];

/** An empty run of a method; `card` is the method's card as JSON (engine.config.Card). @returns {Run} */
export function makeRun(key, card) {
  const sums = Object.fromEntries(SUMS.map((name) => [name, [0]]));
  return { key, card: card ?? {}, head: null, rounds: [], tokens: [], end: null, pieces: new Map(), sums };
}

/** Append one event of the trace (docs/design/0003-trace.md). */
export function addEvent(run, event) {
  if (event.kind === "run") run.head = event;
  else if (event.kind === "end") run.end = event;
  else if (event.kind === "round") addRound(run, event);
}

function addRound(run, round) {
  round.nodes ??= [];
  round.tokens ??= [];
  round.pruned ??= [];
  round.path ??= [];
  for (const [id, text] of Object.entries(round.pieces ?? {})) run.pieces.set(Number(id), text);
  for (const token of round.tokens) {
    run.pieces.set(token.token, token.piece);
    run.tokens.push(token);
  }
  run.rounds.push(round);
  const { sums } = run;
  const n = run.rounds.length - 1;
  const add = (name, amount) => sums[name].push(sums[name][n] + (amount || 0));
  add("clock", round.draft_ms + round.verify_ms + round.other_ms);
  add("tokens", round.emitted ?? round.tokens.length);
  add("drafted", round.drafted);
  add("accepted", round.accepted);
  add("draft", round.draft_ms);
  add("verify", round.verify_ms);
  add("other", round.other_ms);
}

/** The text of a token id in this run, or `#id` when the trace never names it. */
export function pieceOf(run, id) {
  return run.pieces.get(id) ?? `#${id}`;
}

/** Numbers of the first n rounds; a rate whose denominator is 0 is null. Times in milliseconds. */
export function statsOf(run, n = run.rounds.length) {
  const at = Object.fromEntries(SUMS.map((name) => [name, run.sums[name][n]]));
  const ratio = (a, b) => (b > 0 ? a / b : null);
  return {
    rounds: n,
    ...at,
    tau: ratio(at.tokens, n),
    perSecond: ratio(1000 * at.tokens, at.clock),
    acceptRate: ratio(at.accepted, at.drafted),
  };
}

/** How many rounds had ended after `ms` milliseconds of decoding. */
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

/** First position where two runs emit different tokens; the shorter length when one is a prefix of the other. */
export function divergenceOf(a, b) {
  const n = Math.min(a.tokens.length, b.tokens.length);
  for (let pos = 0; pos < n; pos++) if (a.tokens[pos].token !== b.tokens[pos].token) return pos;
  return n;
}
