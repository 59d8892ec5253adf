// @ts-check
// The address bar: always a link that restores what is shown, in any browser, without this server's memory.

import { readConfig, sameConfig, writeConfig } from "./config.js";
import { embedPairs } from "./embed.js";
import { makeFilter, specOf } from "./filters.js";
import { packed } from "./packed.js";
import { noTab, pairsOf, placeOf, turned } from "./rooms/address.js";
import { noRoom, roomIn, titleOf } from "./rooms/rooms.js";
import { noStage, readStage, stagePairs, usualStage, wider } from "./stage/stagelink.js";
import { createStages } from "./stages.js";

const HUB = "https://huggingface.co";
export const MAX_URL = 8000; // servers refuse longer ones
const REFUSED = 2000; // ms until an address is written that was refused: Safari takes 100 in 10 s, or in 30 s
const LEFT_OUT = "What this link filters by cannot be read in full, and is left out.";
const GONE = {
  run:
    "The runs that were shown here are no longer on this page. Their settings are in the run bar: press Run to make " +
    "them again.",
  files: "The runs that were shown here came from files, which this page no longer has: open them again.",
  long:
    "The runs that were shown here are no longer on this page, and their prompt is too long for an address: write it " +
    "again.",
  cut: "This run was ended when others took its place; what it had written until then is shown.",
};
/** What an entry tells whose runs did not come, as others took their turn: it stays, and those are a step after it. */
const LEFT = "left";
/** @type {LinkView} */
const NOTHING = { options: {}, filters: [], time: null, cursor: null };

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").LinkView} LinkView
 * @typedef {import("./types/store.js").FilterSpec} FilterSpec
 * @typedef {Pick<import("./types/lab.js").Session, "config" | "ran" | "catalogue" | "on" | "openRecorded" | "reopen"
 *   | "stay" | "turns" | "configure" | "chooseModels">} Session
 */

/** @template T @typedef {{-readonly [K in keyof T]: T[K]}} Open the same while it is made */

/** @param {Store} store @param {Session} session @param {(text: string) => void} [notify] the visitor
 * @returns {import("./types/lab.js").Link} */
export function createLink(store, session, notify = () => {}) {
  let pending = false;
  let ready = false;
  let missed = false; // Back was pressed before the page was ready
  let backs = 0;
  let restoring = false;
  const stages = createStages(store, session);
  /** Whose runs the entry of the history is for; null before it is written. @type {string | null} */
  let told = null;
  const choose = (/** @type {Partial<import("./types/store.js").Options>} */ options) => {
    for (const [name, value] of Object.entries(options))
      store.setOption(/** @type {keyof typeof options} */ (name), value);
  };
  const filter = (/** @type {LinkView} */ { filters }) => {
    const left = filters.filter((spec) => {
      const filter = makeFilter(spec);
      if (spec && filter) store.setFilter(typeof spec.name === "string" ? spec.name : spec.kind, filter);
      return !filter;
    });
    if (left.length) notify(LEFT_OUT);
  };
  /** @param {boolean} whole whether it asks for the runs that are shown */
  const addressOf = (whole) => {
    const url = new URL(location.href);
    url.search = new URLSearchParams(pairs(store, session, whole)).toString();
    url.hash = "";
    return url.href;
  };
  /** What an entry of the history holds: whose runs, and why its address names none. @param {boolean} long */
  const state = (long) => {
    const named = !store.lanes.length || store.status.recorded || (session.ran && !long);
    return { stage: stages.now.id, unnamed: named ? "" : session.ran ? "long" : "files" };
  };
  /** @type {import("./types/lab.js").Link} */
  const link = {
    /** What the address asks for. */
    read() {
      const query = new URLSearchParams(location.search);
      const none = ready ? "" : noRoom(query) || noStage(query);
      if (none) notify(none);
      const { unnamed } = globalThis.history?.state ?? {};
      if (!ready && unnamed) notify(GONE[/** @type {"long" | "files"} */ (unnamed)]);
      return {
        trace: query.get("trace"),
        config: readConfig(query, session.catalogue?.methods ?? [], session.catalogue?.models),
        view: readView(query),
      };
    },
    /** Put cursor, time, filters and options of a link into the store, as soon as the place exists. */
    restore(view) {
      choose(view.options);
      filter(view);
      if (view.time) store.setTime(view.time);
      if (view.cursor) whenThere(store, view.cursor, notify);
      ready = true;
      if (missed) void back();
      else link.update();
    },
    /** Options now, the rest once the run that the address asks for is on the stage, which begins without. Until then
     * the address stays as it is, unless no run comes. */
    restoreInRun(view, config) {
      choose(view.options);
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
    url: () => addressOf(true),
    update() {
      if (!ready || restoring) return entitle();
      if (pending) return;
      pending = true;
      setTimeout(() => {
        pending = false;
        if (!restoring) write();
        entitle();
      }, 150);
    },
  };
  /** The page's title, which the browser keeps for the entry of the history that it stands at: a room that one goes to
   * has its entry first, lest the one that is left takes its name. */
  function entitle() {
    if (globalThis.document) document.title = titleOf(store.options.room);
  }
  /** Put what is shown into the address. */
  function write() {
    const long = link.url().length > MAX_URL; // then it asks for no runs: others would be untrue
    const url = addressOf(!long);
    const was = new URLSearchParams(location.search);
    // another room, page of one, other runs or one more lane are a step that Back undoes
    const other = Boolean(told) && told !== stages.told();
    const moved = roomIn(was) !== store.options.room || turned(placeOf(was), store.options);
    const step = other || moved || (told !== null && wider(was, store.options));
    if ((told !== null && url === location.href && !other) || url.length > MAX_URL) return; // too long as it is
    const before = told;
    told = stages.told();
    try {
      if (location.protocol !== "about:") history[step ? "pushState" : "replaceState"](state(long), "", url);
    } catch {
      told = before;
      setTimeout(link.update, REFUSED);
      return;
    }
    if (parent !== window && !packed())
      parent.postMessage({ queryString: new URL(url).search.slice(1), hash: "" }, HUB);
  }
  const later = () => {
    if (!store.time.playing) link.update();
  };
  const topics = /** @type {const} */ (["cursor", "time", "filters", "status"]);
  for (const topic of topics) store.on(topic, later);
  store.on("options", (name) => (name === "room" ? link.update() : later()));
  session.on("ran", later);
  /** What the entry of the history says, as Back and Forward leave the page there. */
  async function back() {
    const mine = ++backs;
    missed = !ready;
    const query = new URLSearchParams(location.search);
    choose(placeOf(query));
    store.setOption("room", roomIn(query));
    entitle();
    if (!ready) return;
    if (restoring) session.stay(); // pressed again before other runs came
    restoring = true;
    const coming = runsOf(link.read());
    const { turns } = session;
    const found = await coming;
    if (mine !== backs) return;
    restoring = false;
    told = session.turns === turns ? stages.told() : LEFT; // else others were asked for meanwhile
    if (found) anew(readView(query));
    link.update();
  }

  /** Put the runs of an address on the stage; tells whether they are there.
   * @param {ReturnType<typeof link.read>} asked */
  async function runsOf({ trace, config }) {
    const id = history.state?.stage;
    if (id === stages.now.id) return true;
    if (config && !store.status.recorded && session.ran && sameConfig(session.ran, config)) return true;
    const stage = stages.find(id);
    if (stage) {
      await session.reopen(stage);
      if ([...stage.runs.values()].some(({ end }) => !end)) notify(GONE.cut);
      return store.runs === stage.runs;
    }
    if (trace) {
      if (trace === store.status.recorded) return true;
      await session.openRecorded(trace);
      return store.status.recorded === trace;
    }
    if (config) {
      const others = config.models !== session.config?.models;
      session.configure(config, "link");
      if (others) void session.chooseModels(config.models, "link");
    }
    if (config || id) notify(config ? GONE.run : GONE[history.state.unnamed === "long" ? "long" : "files"]);
    return false;
  }

  /** The stage as an address says, and as usual where it says nothing. @param {LinkView} view */
  function anew(view) {
    const shown = { ghosts: false, whitespace: false, flags: true };
    const plain = /** @type {const} */ ({ ...shown, distribution: "sampled", order: "target" });
    choose({ ...plain, ...usualStage(store.lanes), ...view.options });
    for (const name of [...store.filters.keys()]) store.setFilter(name, null);
    filter(view);
    store.setHover(null);
    store.setTime({ mode: "calls", at: Infinity, playing: false, ...view.time });
    if (view.cursor) whenThere(store, view.cursor, notify);
    else store.clear();
  }
  globalThis.addEventListener?.("popstate", () => void back());
  return link;
}

/** What is shown as pairs of a query string. @param {Store} store @param {Session} session
 * @param {boolean} whole whether they ask for its runs */
function pairs(store, session, whole) {
  const { cursor, time, options, status, filters } = store;
  /** @type {string[][]} */
  const out = options.room === "compare" ? [] : [["room", options.room]];
  out.push(...pairsOf(options));
  if (status.recorded) out.push(["trace", status.recorded]);
  else if (whole) out.push(...ranOrSet(store, session));
  if (cursor) out.push(["at", [cursor.run, cursor.round, cursor.pos, cursor.node].map((part) => part ?? "").join("~")]);
  if (time.at !== Infinity || time.mode !== "calls")
    out.push(["view", [time.mode, placeIn(time), ...(time.inside ? [time.inside] : [])].join("~")]);
  for (const [name, filter] of filters) {
    const spec = specOf(filter);
    if (spec) out.push(["f", JSON.stringify({ ...spec, name })]);
  }
  const shown = /** @type {const} */ (["ghosts", "whitespace"]).filter((name) => options[name]);
  if (shown.length) out.push(["show", shown.join("~")]);
  if (!options.flags) out.push(["flags", "0"]);
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

/** A time at which the same rounds are shown: a call that is being played has not ended, and of the clock what a
 * thousandth cuts off could be a round's end. @param {Store["time"]} time */
const placeIn = ({ mode, at }) =>
  at === Infinity ? "" : mode === "calls" ? Math.floor(at) : Math.ceil(1000 * at) / 1000;

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
  else if (at.join("")) view.cursor = { run: at.join("~") };
  const [mode, place, event] = query.get("view")?.split("~") ?? [];
  const inside = mode === "calls" && (event === "drafted" || event === "verified") ? event : null;
  if (mode === "calls" || mode === "clock") view.time = { mode, at: Math.max(0, whole(place) ?? Infinity), inside };
  for (const name of query.get("show")?.split("~") ?? [])
    if (name === "ghosts" || name === "whitespace") view.options[name] = true;
  if (query.get("flags") === "0") view.options.flags = false;
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

/** Select a place once it exists; `notify` hears why it never will.
 * @param {Store} store @param {import("./types/store.js").Place} cursor @param {(text: string) => void} notify */
function whenThere(store, cursor, notify) {
  /** Whether there is nothing more to wait for. */
  const settled = () => {
    if (isThere(store, cursor)) store.setCursor(cursor);
    else if (noPlace(store, cursor)) notify(noPlace(store, cursor));
    else return false;
    return true;
  };
  let runs = store.runs.size ? store.runs : null; // null: those that come next
  if (runs && settled()) return;
  const off = store.on("data", () => {
    runs ??= store.runs;
    if (store.cursor || store.runs !== runs || settled()) off();
  });
}

/** @param {Store} store @param {import("./types/store.js").Place} cursor */
function isThere(store, { run: key = "", round, pos }) {
  const run = store.runs.get(key);
  const found = round == null && pos != null ? run?.tokens[pos] : run?.rounds[round ?? 0];
  return found !== undefined;
}

/** Why a place is not in the runs and will not be; nothing while it may come.
 * @param {Store} store @param {import("./types/store.js").Place} cursor */
function noPlace({ runs, lanes, options }, { run: key = "" }) {
  if (runs.get(key)?.end) return `"${key}" ends before the place that this link's at asks for.`;
  const known = lanes.concat(options.continued.map(({ lane }) => lane)); // the latter come once the others are there
  return noTab("lane in at", key.slice(0, 40), known);
}
