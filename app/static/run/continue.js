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

/** Of which runs a lane's forced beginning is, in words: the page made these. @type {Map<string, string>} */
const origins = new Map();

/** The other tokens that the target thought likely at a place, likeliest first.
 * @param {Run} run @param {number | null} pos @returns {Alternative[]} */
export function alternativesAt(run, pos) {
  const token = pos === null ? undefined : run.tokens[pos];
  if (!token) return [];
  const node = token.node == null ? null : run.rounds[token.round]?.nodes[token.node];
  const top = token.top_target ?? node?.top_target ?? [];
  return top
    .filter(([id]) => id !== token.token)
    .slice(0, MOST)
    .map(([id, p]) => ({ token: id, p }));
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
  const whose = origins.get(run.key) ?? "";
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

  const forget = (/** @type {(one: Continued) => boolean} */ gone) => {
    if (store.options.continued.some(gone)) remember(store.options.continued.filter((one) => !gone(one)));
  };
  /** Lanes that were on the stage. @type {Set<string>} */
  const made = new Set();

  /** Make what a link asks for, one after another, once the lanes that it goes on from have ended. */
  function goOn() {
    const next = store.options.continued.find(({ lane }) => !store.runs.has(lane));
    if (!next || going || store.status.phase !== "done") return;
    forget((one) => one === next); // it is asked for once, whatever comes of it
    const run = store.runs.get(next.run);
    if (run) continuing.start(run, next.pos, next.token);
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
     * @param {Run} run @param {number} pos @param {number} token */
    async start(run, pos, token) {
      const against = continuing.hindrance(run);
      const { head } = run;
      const models = modelsOf(run);
      if (against || !head || !models) return ui.notify(against);
      stop();
      const mine = new AbortController();
      going = mine;
      stage = store.runs;
      key = freshKey(store, run.card.name);
      const lane = key;
      remember([...store.options.continued, { lane, run: run.key, pos, token }]);
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
      const was = run.tokens[pos] ? textOf(run, run.tokens[pos].token) : "";
      const [whose, other] = [nameOf(store, run), `“${was.trim() || was}”`];
      origins.set(
        key,
        pos
          ? `: those of ${whose} before position ${pos}, then another for ${other}`
          : ` in place of ${other} of ${whose}`,
      );
      store.setStatus({ phase: "queued" });
      try {
        for await (const message of api.lines("continue", request, mine.signal)) {
          if (mine.signal.aborted) break;
          take(message, lane);
        }
      } catch (error) {
        if (!mine.signal.aborted) ui.notify(error instanceof Error ? error.message : String(error));
      } finally {
        if (!store.runs.has(lane)) forget((one) => one.lane === lane);
        if (going === mine) stop();
      }
    },
  };

  /** @param {Message} message @param {string} lane */
  function take({ kind, card, events = [], error }, lane) {
    if (kind === "error") throw new Error(error);
    if (kind === "begin" && card) {
      store.add({ key: lane, card });
      begun = true;
      store.setStatus({ phase: "running" });
    }
    if (kind === "events") store.push(lane, events);
  }

  ui.on("halt", stop);
  store.on("runs", () => {
    if (going && (store.runs !== stage || (begun && !store.runs.has(key)))) leave(); // other runs took the stage
    forget(({ lane }) => made.has(lane) && !store.runs.has(lane));
    for (const { lane } of store.options.continued) if (store.runs.has(lane)) made.add(lane);
  });
  store.on("status", () => queueMicrotask(goOn));
  store.on("options", (name) => name === "continued" && queueMicrotask(goOn));
  return continuing;
}

/** @param {Store} store @param {string} method */
function freshKey(store, method) {
  for (let n = 1; ; n++) if (!store.runs.has(`${method}~${n}`)) return `${method}~${n}`;
}

/** @param {import("../types/trace.js").HeadExtras} extras */
function problemOf({ task, answer }) {
  if (!task) return {};
  return answer ? { task, answer } : { task };
}
