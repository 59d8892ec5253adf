// @ts-check
// Settings that have not run, kept over a reload: Gradio reloads the page by itself once a server that was gone is
// back.

import { readConfig, writeConfig } from "./config.js";

const PLACE = "draftscope.unrun";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").Session} Session
 */

/** Keep them in this tab when the page goes. @param {Pick<Store, "lanes">} store
 * @param {Pick<Session, "config" | "stale">} session */
export function keepUnrun(store, session) {
  addEventListener("pagehide", () => {
    const { config, stale } = session;
    const unrun = config && (stale || !store.lanes.length) ? new URLSearchParams(writeConfig(config)) : "";
    try {
      sessionStorage.setItem(PLACE, unrun.toString());
    } catch {
      // without storage
    }
  });
}

/** What the page before a reload, or before Back from another page, had set and not run; null where there is none.
 * @param {import("./types/wire.js").Catalogue} catalogue */
export function unrun({ methods, models }) {
  const [entry] = performance.getEntriesByType("navigation");
  if (entry instanceof PerformanceNavigationTiming && entry.type === "navigate") return null;
  try {
    return readConfig(new URLSearchParams(sessionStorage.getItem(PLACE) ?? ""), methods, models);
  } catch {
    return null; // without storage
  }
}
