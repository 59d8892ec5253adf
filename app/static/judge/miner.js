// @ts-check
// Mining live: one job at a time, its events as they come, stop and resume. The server keeps finished prompts under
// this browser's key.

import { posted } from "../api.js";
import { said } from "../dom.js";
import { addPrompt, emptySet, readMined } from "../mined.js";
import { waitingWords } from "../run/waiting.js";
import { visitor } from "../visitor.js";

/**
 * @typedef {import("../types/workshop.js").MinedHead} MinedHead
 * @typedef {import("../types/workshop.js").MinedSet} MinedSet
 * @typedef {import("../types/workshop.js").Miner} Miner
 * @typedef {import("../types/workshop.js").MinerState} MinerState
 * @typedef {import("../types/workshop.js").Trying} Trying
 * @typedef {Parameters<Miner["start"]>[0]} Job
 * @typedef {import("../types/workshop.js").MiningMessage} Message
 */

export const MINE = "mined here";

/** @param {import("../types/lab.js").Lab} lab @returns {Miner} */
export function createMiner(lab) {
  const own = visitor();
  /** @type {Set<() => void>} */
  const listeners = new Set();
  /** @type {AbortController | null} */
  let aborter = null;
  /** @type {MinerState} */
  const state = { running: false, phase: "", progress: null, text: "", error: "", feed: [] };
  const tell = (/** @type {Partial<MinerState>} */ partial) => {
    Object.assign(state, partial);
    for (const hear of listeners) hear();
  };

  /** @param {Job} job */
  async function kept(job) {
    const text = await (await lab.api.answer("mine/kept", posted({ ...job, key: own }))).text();
    const whole = text.slice(0, text.lastIndexOf("\n") + 1); // a line may be under way
    return whole.trim() ? readMined(whole, MINE) : null;
  }

  /** @param {Job} job */
  async function start(job) {
    if (state.running) return;
    aborter = new AbortController();
    tell({ running: true, phase: "waiting for the models", progress: null, error: "", feed: [], text: "" });
    try {
      const before = await kept(job);
      if (before) lab.mined.put(before);
      for await (const message of lab.api.lines("mine", { ...job, key: own }, aborter.signal)) take(message, before);
      if (state.phase !== "done" && !state.error)
        throw new Error("The connection ended early. Finished prompts are kept: mine again to go on.");
    } catch (error) {
      const stopped = error instanceof Error && error.name === "AbortError";
      tell(stopped ? { phase: "stopped" } : { phase: "failed", error: said(error) });
    } finally {
      aborter = null;
      tell({ running: false });
    }
  }

  /** Labels of the whole set, those of earlier sessions included. */
  function counts() {
    const items = lab.mined.sets.get(MINE)?.items ?? [];
    return { labels: items.length, important: items.filter((item) => item.label.important).length };
  }

  /** @param {Message} event @param {MinedSet | null} before */
  function take(event, before) {
    if (event.kind === "queued" && event.line) tell({ phase: waitingWords(event.line) });
    if (event.kind === "error") tell({ error: event.error, phase: "failed" });
    else if (event.kind === "started") {
      lab.mined.put(before ?? emptySet(MINE, /** @type {MinedHead} */ (/** @type {unknown} */ (event.head))));
      tell({
        phase: "mining",
        progress: { done: event.done, total: event.total, ...counts(), seconds: 0, left_s: null },
      });
    } else if (event.kind === "prompt_started") tell({ text: event.text, left: event.mismatches.length, feed: [] });
    else if (event.kind === "mismatch") tell({ feed: [{ ...event }, ...state.feed].slice(0, 6) });
    else if (event.kind === "fork")
      tell({ feed: state.feed.map((one, i) => (i ? one : { ...one, draft_answer: event.answer })) });
    else if (event.kind === "labelled")
      tell({
        left: event.mismatches.length,
        feed: state.feed.map((one, i) =>
          i
            ? one
            : {
                ...one,
                important: event.label.important,
                target_answer: event.label.target_answer,
                draft_answer: event.label.draft_answer,
              },
        ),
      });
    else if (event.kind === "prompt") {
      const set = lab.mined.sets.get(MINE);
      if (set) addPrompt(set, event);
      lab.mined.emit();
    } else if (event.kind === "progress") tell({ progress: { ...event, ...counts() } });
    else if (event.kind === "ended") {
      const progress = state.progress ?? { ...counts(), seconds: 0 };
      tell({ phase: "done", progress: { ...progress, done: event.done, total: event.total, left_s: 0 } });
    }
  }

  return {
    state,
    start,
    kept,
    stop: () => aborter?.abort(),
    on: (hear) => {
      listeners.add(hear);
      return () => {
        listeners.delete(hear);
      };
    },
  };
}
