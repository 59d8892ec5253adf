// @ts-check
// Parts of the page that an address leaves out, so that a website or slides can show one view:
// ?views=score&chrome=none, or ?chrome=verdict~time to keep some parts.

import { viewName } from "./stage/views.js";

/** The parts by the names that an address uses, and where they are. @type {Readonly<Record<string, string>>} */
export const PARTS = {
  top: "header.top",
  run: ".runbar",
  verdict: ".verdict",
  views: ".stagebar",
  legend: ".strip",
  source: ".sourceline",
  details: ".details",
  below: ".pair",
  foot: ".foot",
  time: ".dock",
};

/**
 * What an address asks for.
 * @param {URLSearchParams} query
 * @returns {{gone: string[], views: string[]}} parts to leave out, and views to offer (none named: all of them)
 */
export function embedIn(query) {
  const kept = query.get("chrome")?.split("~");
  const views = (query.get("views") ?? "").split("~").filter(viewName);
  return { gone: kept ? Object.keys(PARTS).filter((name) => !kept.includes(name)) : [], views };
}

/** The query of a page; one in a frame without an address brings its own. */
export const pageQuery = () =>
  new URLSearchParams(/** @type {{draftscopeQuery?: string}} */ (globalThis).draftscopeQuery ?? location.search);

/** The same as pairs of a query string, so that links keep it.
 * @param {URLSearchParams} query @returns {[string, string][]} */
export const embedPairs = (query) =>
  ["views", "chrome"].flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [/** @type {[string, string]} */ ([name, value])];
  });

/**
 * Leave out what the address does not want; with one view its tabs go too.
 * @param {HTMLElement} element the page
 * @param {import("./types/store.js").Store} store
 * @param {URLSearchParams} query
 */
export function embed(element, store, query) {
  const { gone, views } = embedIn(query);
  for (const name of gone) for (const part of element.querySelectorAll(PARTS[name])) part.classList.add("leftout");
  element.querySelector("[data-lab]")?.classList.toggle("embedded", gone.length > 0);
  if (gone.includes("details")) store.setOption("details", "hidden"); // its column goes too
  if (!views.length) return;
  for (const tab of element.querySelectorAll("[id^='stage-tab-']"))
    tab.classList.toggle("leftout", !views.includes(tab.id.slice("stage-tab-".length)));
  let shown = /** @type {import("./types/store.js").Options["stage"]} */ (views[0]);
  /** Keys, Back and other runs may ask for a view that is not offered. */
  const stay = () => {
    if (views.includes(store.options.stage)) shown = store.options.stage;
    else store.setOption("stage", shown);
  };
  store.on("options", (name) => name === "stage" && stay());
  stay();
}
