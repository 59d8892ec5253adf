// @ts-check
// Repeat: the shown methods several times more on the same prompt, for the spread of their numbers. The numbers are the
// engine's (engine/analysis/repeats.py); they go to store.status.repeated. No DOM here.

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/lab.js").Lab} Lab
 * @typedef {import("../types/wire.js").RepeatMessage} Message
 */

import { visitor } from "../visitor.js";

export const LEAST = 2;
export const MOST = 20;

/** A number of runs that may be asked for. @param {unknown} wanted */
export const inRange = (wanted) => Math.max(LEAST, Math.min(MOST, Math.round(Number(wanted)) || 5));

/**
 * @param {Store} store
 * @param {Pick<Lab, "api" | "session" | "ui">} lab
 */
export function createRepeats(store, { api, session, ui }) {
  /** @type {AbortController | null} */
  let going = null;

  const repeats = {
    get busy() {
      return going !== null;
    },
    /** Why what is shown cannot run again; empty when it can. */
    hindrance() {
      const { ran } = session;
      if (!store.lanes.length) return "Nothing has run yet.";
      if (store.status.phase !== "done") return "The run has not ended yet.";
      if (store.status.opened) return "These runs come from a file. Press Run to measure them here, then repeat.";
      const shown = store.lanes.map((key) => store.runs.get(key)?.card.name);
      const same = ran?.lanes.length === shown.length && ran.lanes.every(({ method }, i) => method === shown[i]);
      return same ? "" : "These runs have no common settings to repeat.";
    },
    /** @param {number} wanted runs of each lane */
    async start(wanted) {
      const { ran } = session;
      const against = repeats.hindrance();
      if (against || !ran) return ui.notify(against);
      repeats.stop();
      ui.clearNotices();
      const mine = new AbortController();
      const n = inRange(wanted);
      going = mine;
      store.setStatus({ repeated: null, repeating: { run: -1, n } });
      try {
        for await (const message of api.lines("repeat", { ...ran, n, visitor: visitor() }, mine.signal)) {
          if (mine.signal.aborted) break;
          take(message);
        }
      } catch (error) {
        if (!mine.signal.aborted) ui.notify(error instanceof Error ? error.message : String(error));
      } finally {
        if (going === mine) {
          going = null;
          store.setStatus({ repeating: null });
        }
      }
    },
    /** What has been measured so far stays. */
    stop() {
      going?.abort();
      going = null;
      if (store.status.repeating) store.setStatus({ repeating: null, line: null });
    },
  };

  /** @param {Message} message */
  function take({ kind, run = 0, n = 0, line, lanes, error }) {
    if (kind === "error") throw new Error(error);
    if (kind === "queued" && line) store.setStatus({ line });
    if (kind === "running") store.setStatus({ repeating: { run, n }, line: null });
    if (kind === "repeated" && lanes)
      store.setStatus({ repeating: run + 1 < n ? { run: run + 1, n } : null, repeated: { runs: run + 1, lanes } });
  }

  store.on("runs", repeats.stop); // other lanes: these numbers would not be theirs
  return repeats;
}
