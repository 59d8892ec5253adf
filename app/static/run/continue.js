// @ts-check
// "What if it had written this": another token at a place, and the method goes on from there, as one more lane.

import { nameOf } from "../columns.js";
import { forcedOf, textOf } from "../run.js";
import { visitor } from "../visitor.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/lab.js").Lab} Lab
 * @typedef {import("../types/wire.js").ContinueMessage} Message
 * @typedef {import("../types/store.js").Continued} Continued
 * @typedef {{token: number, p: number}} Alternative
 */

const MOST = 5; // alternatives that are offered

/** The lanes that this page made: what was asked for, and whose beginning it is, in words.
 * @type {WeakMap<Run, {one: Continued, words: string}>} */
const made = new WeakMap();

/** @param {Continued} a @param {Continued} b */
const alike = (a, b) => a.lane === b.lane && a.run === b.run && a.pos === b.pos && a.token === b.token;

/** Whether a lane was made beside the others on this page, so that it can be taken away again. @param {Run} run */
export const isMade = (run) => made.has(run);

/** The lane that such a one goes on from. @param {Run} run */
export const madeFrom = (run) => made.get(run)?.one.run ?? "";

/** Take such a lane away, and those that go on from it. @param {Store} store @param {Run} run */
export function takeAway(store, { key }) {
  for (const other of [...store.runs.values()]) if (made.get(other)?.one.run === key) takeAway(store, other);
  store.remove(key);
}

/** The other tokens that the target thought likely at a place, likeliest first; with their probabilities after
 * temperature, top-k and top-p, if these are wanted and were recorded.
 * @param {Run} run @param {number | null} pos @param {"sampled" | "raw"} [distribution] @returns {Alternative[]} */
export function alternativesAt(run, pos, distribution = "raw") {
  const token = pos === null ? undefined : run.tokens[pos];
  if (!token) return [];
  const node = token.node == null ? null : run.rounds[token.round]?.nodes[token.node];
  const top = token.top_target ?? node?.top_target ?? [];
  const drawn = distribution === "sampled" && node?.law_target ? new Map(node.law_target) : null;
  return top
    .filter(([id]) => id !== token.token)
    .slice(0, MOST)
    .map(([id, p]) => ({ token: id, p: drawn ? (drawn.get(id) ?? 0) : p }));
}

/** The forced beginning: its text up to the token that was chosen, and this one. @param {Run} run */
export function forcedText(run) {
  const n = forcedOf(run);
  const pieces = n && run.head ? run.head.prompt_pieces.slice(-n) : [];
  return { before: pieces.slice(0, -1).join(""), chosen: pieces.at(-1) ?? "" };
}

/** What follows from a forced beginning. */
export const FORCED =
  "This is no run of the method alone. Positions count from what was forced; the score puts them after it.";

/** What a lane says of its forced beginning. @param {Run} run */
export function forcedWords(run) {
  const n = forcedOf(run);
  if (!n) return "";
  const tokens = n === 1 ? "Its first token was" : `Its first ${n} tokens were`;
  const whose = made.get(run)?.words ?? "";
  return `${tokens} forced${whose}.`;
}

/**
 * @param {Store} store
 * @param {Pick<Lab, "api" | "session" | "ui">} lab
 */
export function createContinuing(store, { api, session, ui }) {
  /** @type {AbortController | null} */
  let going = null;
  let key = "";

  let begun = false;
  /** What was on the stage when it was asked for. @type {unknown} */
  let stage = null;
  const leave = () => {
    going?.abort();
    going = null;
    begun = false;
  };
  const stop = () => {
    if (!going) return;
    leave();
    store.setStatus({ phase: store.lanes.length ? "done" : "empty" });
  };

  /** Which of the server's models the run was made with; null where it does not say, or they are not here.
   * @param {Run} run */
  function modelsOf(run) {
    const known = session.catalogue?.models ?? [];
    const preset = run.head?.preset;
    if (preset && known.includes(preset)) return preset;
    return store.status.opened || !session.ran ? null : session.ran.models;
  }

  const remember = (/** @type {readonly Continued[]} */ list) => store.setOption("continued", list);

  const forget = (/** @type {Continued} */ gone) => {
    const { continued } = store.options;
    if (continued.some((one) => alike(one, gone))) remember(continued.filter((one) => !alike(one, gone)));
  };
  /** What was made of the lanes that are on the stage. @type {Continued[]} */
  let here = [];
  /** Lanes that were taken away, by the runs that they stood beside. @type {WeakMap<Store["runs"], Run[]>} */
  const removed = new WeakMap();

  /** A lane for everything that is asked for, and none that is not: what Back and Forward ask for stands there at
   * once, what a link asks for is made, one after another, once the lanes that it goes on from have ended. */
  function agree() {
    const { continued } = store.options;
    for (const run of [...store.runs.values()]) {
      const one = made.get(run)?.one;
      if (!one || continued.some((other) => alike(one, other))) continue;
      if (run.end) removed.set(store.runs, [...(removed.get(store.runs) ?? []), run]);
      store.remove(run.key);
    }
    for (const one of continued) {
      const known = removed.get(store.runs)?.find((run) => alike(made.get(run)?.one ?? one, one));
      if (known && !store.runs.has(one.lane)) store.put(known);
    }
    const next = continued.find(({ lane }) => !store.runs.has(lane));
    if (!next || going || store.status.phase !== "done") return;
    const run = store.runs.get(next.run);
    if (run) void continuing.start(run, next.pos, next.token, next);
    else forget(next); // it is asked for once, whatever comes of it
  }

  const continuing = {
    stop,
    /** Why nothing can go on from a run; empty when it can. @param {Run} run */
    hindrance(run) {
      if (!run.head) return "The run has not begun yet.";
      if (store.status.phase !== "done") return "The run has not ended yet.";
      return modelsOf(run) === null ? "Its models are not loaded here." : "";
    },
    /** A new lane: the run's text before a position, another token there, and what the method makes of it.
     * @param {Run} run @param {number} pos @param {number} token
     * @param {Continued} [asked] by a link, which names the lane */
    async start(run, pos, token, asked) {
      const there = run.tokens[pos] !== undefined;
      const nothing = `${nameOf(store, run)} wrote no token at position ${pos}, so nothing goes on from there.`;
      const against = continuing.hindrance(run) || (there ? "" : nothing);
      const { head } = run;
      const models = modelsOf(run);
      if (against || !head || !models) {
        if (asked) forget(asked);
        return ui.notify(against);
      }
      stop();
      const mine = new AbortController();
      going = mine;
      const from = store.runs;
      stage = from;
      const lane = asked && isKey(asked.lane, run.card.name) ? asked.lane : freshKey(store, run.card.name);
      const one = { lane, run: run.key, pos, token };
      key = lane;
      if (asked) remember(store.options.continued.map((other) => (other === asked ? one : other)));
      const own = [...run.tokens.slice(0, pos).map((one) => one.token), token];
      const before = head.prompt_ids.length - forcedOf(run); // a beginning that was forced already stays one
      const request = {
        models,
        prompt: head.prompt || "…",
        prompt_ids: head.prompt_ids.slice(0, before),
        forced: [...head.prompt_ids.slice(before), ...own],
        lanes: [{ method: head.method, knobs: head.knobs }],
        max_new_tokens: Math.max(1, head.max_new_tokens - own.length),
        temperature: Number(head.sampling.temperature ?? 0),
        top_p: Number(head.sampling.top_p ?? 1),
        top_k: Number(head.sampling.top_k ?? 0),
        seed: head.seed,
        stop: head.stop ?? [],
        ...problemOf(head.extras),
        visitor: visitor(),
      };
      const was = textOf(run, run.tokens[pos].token);
      const [whose, other] = [nameOf(store, run), `“${was.trim() || was}”`];
      const words = pos
        ? `: those of ${whose} before position ${pos}, then another for ${other}`
        : ` in place of ${other} of ${whose}`;
      store.setStatus({ phase: "queued" });
      try {
        for await (const message of api.lines("continue", request, mine.signal)) {
          if (mine.signal.aborted) break;
          take(message, one, words);
        }
      } catch (error) {
        if (!mine.signal.aborted) ui.notify(error instanceof Error ? error.message : String(error));
      } finally {
        const found = store.runs === from ? store.runs.get(lane) : null;
        if (found && !found.head) store.remove(lane); // it was refused, or stopped, before it began
        if (!store.runs.has(lane)) forget(one);
        if (going === mine) stop();
      }
    },
  };

  /** @param {Message} message @param {Continued} one @param {string} words */
  function take({ kind, card, events = [], error }, one, words) {
    if (kind === "error") throw new Error(error);
    if (kind === "begin" && card) {
      store.add({ key: one.lane, card });
      const run = store.runs.get(one.lane);
      if (run) made.set(run, { one, words });
      here = [...here, one];
      begun = true;
      if (!store.options.continued.some((other) => alike(one, other))) remember([...store.options.continued, one]);
      store.setStatus({ phase: "running" });
    }
    if (kind === "events") store.push(one.lane, events);
  }

  ui.on("halt", stop);
  store.on("runs", () => {
    if (going && store.runs !== stage)
      leave(); // other runs took the stage
    else if (going && begun && !store.runs.has(key)) stop(); // the lane was taken away
    const was = here;
    here = [...store.runs.values()].flatMap((run) => made.get(run)?.one ?? []);
    const { continued } = store.options;
    const among = (/** @type {readonly Continued[]} */ list) => (/** @type {Continued} */ one) =>
      list.some((other) => alike(one, other));
    const left = continued.filter((one) => among(here)(one) || !among(was)(one));
    const more = here.filter((one) => !among(left)(one));
    if (more.length || left.length < continued.length) remember([...left, ...more]);
  });
  store.on("status", () => queueMicrotask(agree));
  store.on("options", (name) => name === "continued" && queueMicrotask(agree));
  return continuing;
}

/** @param {Store} store @param {string} method */
function freshKey(store, method) {
  for (let n = 1; ; n++) if (!store.runs.has(`${method}~${n}`)) return `${method}~${n}`;
}

/** Whether a link names a lane as this page would. @param {string} lane @param {string} method */
const isKey = (lane, method) => lane.startsWith(`${method}~`) && /^[1-9]\d{0,2}$/.test(lane.slice(method.length + 1));

/** @param {import("../types/trace.js").HeadExtras} extras */
function problemOf({ task, answer }) {
  if (!task) return {};
  return answer ? { task, answer } : { task };
}
