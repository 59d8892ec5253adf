// @ts-check
// Settings that have not run, kept over a reload: Gradio reloads the page by itself once a server that was gone is
// back.

import { readConfig, writeConfig } from "./config.js";

const PLACE = "draftscope.unrun";
const NONE = { config: null, asked: false };
export const LOST =
  "The run that was asked for here had not begun, and lost its place in line when this page was loaded again: press " +
  "Run to ask for it again.";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").Session} Session
 */

/** Keep them in this tab when the page goes, and whether they were asked for.
 * @param {Pick<Store, "lanes" | "status">} store
 * @param {Pick<Session, "config" | "stale">} session */
export function keepUnrun(store, session) {
  addEventListener("pagehide", () => {
    const { config, stale } = session;
    const asked = ["queued", "loading"].includes(store.status.phase);
    const unrun = new URLSearchParams(config && (stale || asked || !store.lanes.length) ? writeConfig(config) : "");
    if (asked) unrun.set("asked", "1");
    try {
      sessionStorage.setItem(PLACE, unrun.toString());
    } catch {
      // without storage
    }
  });
}

/** What the page before a reload, or before Back from another page, had set and not run, null where there is none; and
 * whether it had asked for it.
 * @param {import("./types/wire.js").Catalogue} catalogue
 * @returns {{config: import("./types/lab.js").Config | null, asked: boolean}} */
export function unrun({ methods, models }) {
  const [entry] = performance.getEntriesByType("navigation");
  if (entry instanceof PerformanceNavigationTiming && entry.type === "navigate") return NONE;
  try {
    const kept = new URLSearchParams(sessionStorage.getItem(PLACE) ?? "");
    return { config: readConfig(kept, methods, models), asked: kept.has("asked") };
  } catch {
    return NONE; // without storage
  }
}
