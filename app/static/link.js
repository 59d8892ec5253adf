// @ts-check
// The address bar: always a link that restores what is shown, in any browser, without this server's memory.

import { readConfig, sameConfig, writeConfig } from "./config.js";
import { embedPairs } from "./embed.js";
import { makeFilter, specOf } from "./filters.js";
import { packed } from "./packed.js";
import { pairsOf, placeOf, turned } from "./rooms/address.js";
import { roomIn } from "./rooms/rooms.js";
import { readStage, stagePairs } from "./stage/stagelink.js";

const HUB = "https://huggingface.co";
export const MAX_URL = 8000; // servers refuse longer ones
const LEFT_OUT = "What this link filters by cannot be read in full, and is left out.";
/** @type {LinkView} */
const NOTHING = { options: {}, filters: [], time: null, cursor: null };

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").LinkView} LinkView
 * @typedef {import("./types/store.js").FilterSpec} FilterSpec
 * @typedef {Pick<import("./types/lab.js").Session, "config" | "ran" | "catalogue" | "on">} Session
 */

/** @template T @typedef {{-readonly [K in keyof T]: T[K]}} Open the same while it is made */

/** @param {Store} store @param {Session} session @param {(text: string) => void} [notify] the visitor
 * @returns {import("./types/lab.js").Link} */
export function createLink(store, session, notify = () => {}) {
  let pending = false;
  let ready = false;
  const choose = (/** @type {LinkView} */ { options }) => {
    for (const [name, value] of Object.entries(options))
      store.setOption(/** @type {keyof typeof options} */ (name), value);
  };
  /** @type {import("./types/lab.js").Link} */
  const link = {
    /** What the address asks for. */
    read() {
      const query = new URLSearchParams(location.search);
      return {
        trace: query.get("trace"),
        config: readConfig(query, session.catalogue?.methods ?? [], session.catalogue?.models),
        view: readView(query),
      };
    },
    /** Put cursor, time, filters and options of a link into the store, as soon as the place exists. */
    restore(view) {
      choose(view);
      const left = view.filters.filter((spec) => {
        const filter = makeFilter(spec);
        if (spec && filter) store.setFilter(typeof spec.name === "string" ? spec.name : spec.kind, filter);
        return !filter;
      });
      if (left.length) notify(LEFT_OUT);
      if (view.time) store.setTime(view.time);
      if (view.cursor) whenThere(store, view.cursor);
      ready = true;
      link.update();
    },
    /** Options now, the rest once the run that the address asks for is on the stage, which begins without. Until then
     * the address stays as it is, unless no run comes. */
    restoreInRun(view, config) {
      choose(view);
      const wait = () => store.status.phase === "empty" && link.restore(NOTHING);
      const offs = [
        store.on("status", wait),
        session.on("ran", () => {
          for (const off of offs) off();
          link.restore(session.ran && sameConfig(session.ran, config) ? view : NOTHING);
        }),
      ];
      wait();
    },
    url() {
      const url = new URL(location.href);
      url.search = new URLSearchParams(pairs(store, session)).toString();
      url.hash = "";
      return url.href;
    },
    update() {
      if (!ready || pending) return;
      pending = true;
      setTimeout(() => {
        pending = false;
        const url = link.url();
        if (url === location.href || url.length > MAX_URL) return;
        const was = new URLSearchParams(location.search);
        const step = roomIn(was) !== store.options.room || turned(placeOf(was), store.options);
        // another room, or page of one, is a step that Back undoes
        if (location.protocol !== "about:") history[step ? "pushState" : "replaceState"](null, "", url);
        if (parent !== window && !packed())
          parent.postMessage({ queryString: new URL(url).search.slice(1), hash: "" }, HUB);
      }, 150);
    },
  };
  const later = () => {
    if (!store.time.playing) link.update();
  };
  const topics = /** @type {const} */ (["cursor", "time", "filters", "options", "status"]);
  for (const topic of topics) store.on(topic, later);
  session.on("ran", later);
  globalThis.addEventListener?.("popstate", () => {
    const query = new URLSearchParams(location.search);
    for (const [option, value] of Object.entries(placeOf(query)))
      store.setOption(/** @type {keyof ReturnType<typeof placeOf>} */ (option), value);
    store.setOption("room", roomIn(query));
  });
  return link;
}

/** What is shown as pairs of a query string. @param {Store} store @param {Session} session */
function pairs(store, session) {
  const { cursor, time, options, status, filters } = store;
  /** @type {string[][]} */
  const out = options.room === "compare" ? [] : [["room", options.room]];
  out.push(...pairsOf(options));
  out.push(...(status.recorded ? [["trace", status.recorded]] : ranOrSet(store, session)));
  if (cursor) out.push(["at", [cursor.run, cursor.round, cursor.pos, cursor.node].map((part) => part ?? "").join("~")]);
  if (time.at !== Infinity || time.mode !== "calls")
    out.push(["view", `${time.mode}~${time.at === Infinity ? "" : Math.round(time.at)}`]);
  for (const [name, filter] of filters) {
    const spec = specOf(filter);
    if (spec) out.push(["f", JSON.stringify({ ...spec, name })]);
  }
  const shown = /** @type {const} */ (["ghosts", "whitespace"]).filter((name) => options[name]);
  if (shown.length) out.push(["show", shown.join("~")]);
  if (options.distribution !== "sampled") out.push(["distribution", options.distribution]);
  if (options.order !== "target") out.push(["order", options.order]);
  out.push(...stagePairs(store), ...embedPairs(new URLSearchParams(location.search)));
  return out;
}

/** The request behind what is shown; while nothing is, what is set. @param {Store} store @param {Session} session */
function ranOrSet(store, session) {
  const config = store.lanes.length ? session.ran : session.config;
  return config ? writeConfig(config) : [];
}

/** A number, or null. @param {string | undefined} text */
const whole = (text) => (text === "" || text === undefined || Number.isNaN(Number(text)) ? null : Number(text));

/** What a query says of the view; damaged parts are left out. @param {URLSearchParams} query @returns {LinkView} */
function readView(query) {
  /** @typedef {Open<Pick<LinkView, "time" | "cursor">>} Places */
  /** @type {Places & {options: Open<LinkView["options"]>, filters: (FilterSpec | null)[]}} */
  const view = { options: {}, filters: [], time: null, cursor: null };
  const at = query.get("at")?.split("~") ?? [];
  const [round, pos, node] = at.slice(-3).map(whole); // the key of a lane that goes on from another has a ~ of its own
  if (at.length >= 4) view.cursor = { run: at.slice(0, -3).join("~"), round, pos, node };
  const [mode, place] = query.get("view")?.split("~") ?? [];
  if (mode === "calls" || mode === "clock") view.time = { mode, at: whole(place) ?? Infinity };
  for (const name of query.get("show")?.split("~") ?? [])
    if (name === "ghosts" || name === "whitespace") view.options[name] = true;
  const [distribution, order] = [query.get("distribution"), query.get("order")];
  if (distribution === "raw" || distribution === "sampled") view.options.distribution = distribution;
  if (order === "target" || order === "draft") view.options.order = order;
  Object.assign(view.options, readStage(query));
  for (const text of query.getAll("f").slice(0, 20)) {
    try {
      view.filters.push(JSON.parse(text));
    } catch {
      view.filters.push(null);
    }
  }
  return view;
}

/** Select a place once it exists. @param {Store} store @param {import("./types/store.js").Place} cursor */
function whenThere(store, cursor) {
  const there = () => store.runs.get(cursor.run ?? "")?.rounds[cursor.round ?? 0] !== undefined;
  if (there()) return store.setCursor(cursor);
  const off = store.on("data", () => {
    if (store.cursor) return off();
    if (!there()) return;
    off();
    store.setCursor(cursor);
  });
}
