// @ts-check
// Where in the Learn room one is: a tab, and the lesson, word or page that is open in it; in the Papers room, the
// table or figure. Both are options of the store.

import { h } from "../dom.js";

export const TABS = /** @type {const} */ (["lessons", "gallery", "glossary", "methods"]);
const NAME = /^[\w-]{1,60}$/;

/** @typedef {{tab: string, name: string, beside: string}} Place */

/** What an address asks for. @param {URLSearchParams} query @returns {Place} */
export function placeIn(query) {
  const [tab, name] = [query.get("tab") ?? "", query.get("name") ?? ""];
  const beside = query.get("beside") ?? "";
  return {
    tab: TABS.some((known) => known === tab) ? tab : TABS[0],
    name: NAME.test(name) ? name : "",
    beside: /^[\w-]{1,60}(~\d{1,2})?$/.test(beside) ? beside : "",
  };
}

/** A line that says that something an address names is not here; nothing where it is, or none was asked for.
 * @param {string} kind @param {string} name @param {boolean} found */
export const notHere = (kind, name, found) =>
  name && !found ? h("p.warn", { role: "status" }, `There is no ${kind} “${name}” here.`) : "";

/** The pairs of an address. @param {{room: string, tab: string, name: string, beside: string}} options
 * @returns {[string, string][]} */
export function placePairs({ room, tab, name, beside }) {
  /** @type {[string, string][]} */
  const out = beside ? [["beside", beside]] : [];
  if (room !== "learn" && room !== "papers") return out;
  if (room === "learn") out.push(["tab", tab]);
  if (name) out.push(["name", name]);
  return out;
}

/** The address of a place in the room. @param {string} tab @param {string} [name] */
export const addressOf = (tab, name = "") => `?room=learn&tab=${tab}${name ? `&name=${encodeURIComponent(name)}` : ""}`;

/** Go to a place in the room. @param {import("../types/store.js").Store} store @param {string} tab
 * @param {string} [name] */
export function go(store, tab, name = "") {
  store.setOption("name", "");
  store.setOption("tab", tab);
  store.setOption("name", name);
  store.setOption("room", "learn");
}

/**
 * A click on a link of the room, in any text, opens there and not a new page; the rest is the browser's.
 * @param {MouseEvent} event @param {import("../types/store.js").Store} store
 */
export function follow(event, store) {
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  const href = link?.getAttribute("href") ?? "";
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (href.startsWith("#")) {
    event.preventDefault();
    document.getElementById(`text-${href.slice(1)}`)?.scrollIntoView({ block: "start" });
  }
  if (!href.startsWith("?")) return;
  const url = new URL(href, location.href);
  if (url.searchParams.get("room") !== "learn") return;
  event.preventDefault();
  const { tab, name } = placeIn(url.searchParams);
  go(store, tab, name);
  if (url.hash) anchorWhenThere(`text-${url.hash.slice(1)}`);
}

/** Show an anchor once its page has come. @param {string} id */
function anchorWhenThere(id, tries = 40) {
  const found = document.getElementById(id);
  if (found) found.scrollIntoView({ block: "start" });
  else if (tries) setTimeout(() => anchorWhenThere(id, tries - 1), 50);
}
