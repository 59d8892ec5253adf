// The address bar: always a link that restores what is shown, in any browser, without this server's memory.

import { readConfig, writeConfig } from "./config.js";
import { makeFilter, specOf } from "./filters.js";
import { readStage, stagePairs } from "./stage/stagelink.js";

const HUB = "https://huggingface.co";
export const MAX_URL = 8000; // servers refuse longer ones

/** @param {import("./types/store.js").Store} store @param {import("./types/lab.js").Session} session */
export function createLink(store, session) {
  let pending = 0;
  let ready = false;
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
      for (const [name, value] of Object.entries(view.options)) store.setOption(name, value);
      for (const spec of view.filters) {
        const filter = makeFilter(spec);
        if (filter) store.setFilter(spec.name ?? spec.kind, filter);
      }
      if (view.time) store.setTime(view.time);
      if (view.cursor) whenThere(store, view.cursor);
      ready = true;
      link.update();
    },
    url() {
      const url = new URL(location.href);
      url.search = new URLSearchParams(pairs(store, session)).toString();
      url.hash = "";
      return url.href;
    },
    update() {
      if (!ready || pending) return;
      pending = setTimeout(() => {
        pending = 0;
        const url = link.url();
        if (url === location.href || url.length > MAX_URL) return;
        history.replaceState(null, "", url);
        if (parent !== window) parent.postMessage({ queryString: new URL(url).search.slice(1), hash: "" }, HUB);
      }, 150);
    },
  };
  const later = () => {
    if (!store.time.playing) link.update();
  };
  for (const topic of ["cursor", "time", "filters", "options", "status"]) store.on(topic, later);
  session.on("config", later);
  return link;
}

function pairs(store, session) {
  const { cursor, time, options, status, filters } = store;
  const out = status.recorded ? [["trace", status.recorded]] : session.config ? writeConfig(session.config) : [];
  if (cursor) out.push(["at", [cursor.run, cursor.round, cursor.pos, cursor.node].map((part) => part ?? "").join("~")]);
  if (time.at !== Infinity || time.mode !== "calls")
    out.push(["view", `${time.mode}~${time.at === Infinity ? "" : Math.round(time.at)}`]);
  for (const [name, filter] of filters) {
    const spec = specOf(name, filter);
    if (spec) out.push(["f", JSON.stringify({ ...spec, name })]);
  }
  const shown = ["ghosts", "whitespace"].filter((name) => options[name]);
  if (shown.length) out.push(["show", shown.join("~")]);
  if (options.law !== "sampled") out.push(["law", options.law]);
  if (options.order !== "target") out.push(["order", options.order]);
  out.push(...stagePairs(store));
  return out;
}

function readView(query) {
  const view = { options: {}, filters: [], time: null, cursor: null };
  const at = query.get("at")?.split("~");
  const whole = (text) => (text === "" || text === undefined || Number.isNaN(Number(text)) ? null : Number(text));
  if (at?.length === 4) view.cursor = { run: at[0], round: whole(at[1]), pos: whole(at[2]), node: whole(at[3]) };
  const [mode, place] = query.get("view")?.split("~") ?? [];
  if (mode === "calls" || mode === "clock") view.time = { mode, at: whole(place) ?? Infinity };
  for (const name of query.get("show")?.split("~") ?? [])
    if (name === "ghosts" || name === "whitespace") view.options[name] = true;
  if (["raw", "sampled"].includes(query.get("law"))) view.options.law = query.get("law");
  if (["target", "draft"].includes(query.get("order"))) view.options.order = query.get("order");
  Object.assign(view.options, readStage(query));
  for (const text of query.getAll("f").slice(0, 20)) {
    try {
      view.filters.push(JSON.parse(text));
    } catch {
      // a damaged filter is left out
    }
  }
  return view;
}

function whenThere(store, cursor) {
  const there = () => store.runs.get(cursor.run)?.rounds[cursor.round ?? 0] !== undefined;
  if (there()) return store.setCursor(cursor);
  const off = store.on("data", () => {
    if (store.cursor) return off();
    if (!there()) return;
    off();
    store.setCursor(cursor);
  });
}
