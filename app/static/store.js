// The one client store: runs, cursor, hover, time, filters, options. Views read and write only this (docs/design/0008-page.md).
//
// Beyond the contract of 0008 (all optional for a view):
//   store.begin(lanes, status)  replace all lanes; lanes = [{key, card}]      -> emits "runs"
//   store.push(key, events)     append events to a lane                       -> emits "data" (key)
//   store.load(traces, status)  begin + push of whole traces: [{key, card, events}]
//   store.run(key?)             the run of a key, by default of the focus, else of the first lane that drafts
//   store.node(sel) store.token(sel) store.round(sel)   the objects a selection names, or null
//   store.twin(sel, key)        the same place in another lane: {pos} up to the divergence, {round} after it
//   store.divergence(a, b)      first position where two lanes differ
//   store.stats(run)            tokens, tau, perSecond, acceptRate, ... of the visible rounds
//   store.piece(run, id)        text of a token id
//   store.status                {phase: "empty" | "running" | "done", recorded: name | null, step: bool}; topic "status"

import { addEvent, divergenceOf, makeRun, pieceOf, roundsAt, statsOf } from "./run.js";

const OPTIONS = { ghosts: false, whitespace: false, flags: true, law: "raw", order: "target", topN: 8 };
const CALLS_PER_SECOND = 6;

export function createStore() {
  const listeners = new Map();
  const frames = new Map();
  const drawn = new Map(); // key -> when it was last asked for, by data that kept coming
  const waiting = new Set();
  let frameAsked = false;
  const caches = { divergence: new Map() };

  const store = {
    runs: new Map(),
    lanes: [],
    cursor: null,
    hover: null,
    time: { mode: "calls", at: Infinity, playing: false, speed: 1 },
    filters: new Map(),
    options: { ...OPTIONS },
    status: { phase: "empty", recorded: null, step: false },
    CALLS_PER_SECOND,

    on(topic, fn) {
      if (!listeners.has(topic)) listeners.set(topic, new Set());
      listeners.get(topic).add(fn);
      return () => listeners.get(topic).delete(fn);
    },
    emit(topic, detail) {
      for (const fn of listeners.get(topic) ?? []) {
        try {
          fn(detail);
        } catch (error) {
          console.error(`view failed on ${topic}`, error);
        }
      }
    },
    frame(key, fn) {
      frames.set(key, fn);
      if (frameAsked) return;
      frameAsked = true;
      requestAnimationFrame(() => {
        frameAsked = false;
        const due = [...frames.values()];
        frames.clear();
        for (const draw of due) {
          try {
            draw();
          } catch (error) {
            console.error("view failed to draw", error);
          }
        }
      });
    },
    /** As `frame`, but at most once in so many milliseconds: for what sums a run up while it streams. */
    seldom(key, fn, every = 300) {
      const wait = (drawn.get(key) ?? -Infinity) + every - performance.now();
      if (waiting.has(key)) return;
      waiting.add(key);
      const go = () => (waiting.delete(key), drawn.set(key, performance.now()), store.frame(key, fn));
      wait <= 0 ? go() : setTimeout(go, wait);
    },

    begin(lanes, status = {}) {
      store.runs = new Map(lanes.map(({ key, card }) => [key, makeRun(key, card)]));
      store.lanes = lanes.map(({ key }) => key);
      store.cursor = null;
      store.hover = null;
      store.filters.clear();
      store.time = { ...store.time, at: Infinity, playing: false };
      caches.divergence.clear();
      store.status = { phase: "running", recorded: null, step: false, ...status };
      for (const topic of ["runs", "cursor", "hover", "filters", "time", "status"]) store.emit(topic);
    },
    push(key, events) {
      const run = store.runs.get(key);
      if (!run) return;
      for (const event of events) addEvent(run, event);
      caches.divergence.clear();
      store.emit("data", key);
    },
    load(traces, status = {}) {
      store.begin(traces, { phase: "done", ...status });
      for (const { key, events } of traces) store.push(key, events);
    },
    setStatus(partial) {
      store.status = { ...store.status, ...partial };
      store.emit("status");
    },

    run(key = store.focus()?.run) {
      if (key !== undefined && store.runs.has(key)) return store.runs.get(key);
      const drafting = store.lanes.find((lane) => store.runs.get(lane).card.guarantee !== "reference");
      return store.runs.get(drafting ?? store.lanes[0]) ?? null;
    },
    round(sel = store.focus()) {
      return (sel && store.runs.get(sel.run)?.rounds[sel.round]) ?? null;
    },
    node(sel = store.focus()) {
      return sel?.node == null ? null : (store.round(sel)?.nodes[sel.node] ?? null);
    },
    token(sel = store.focus()) {
      const token = sel?.pos == null ? null : store.runs.get(sel.run)?.tokens[sel.pos];
      return token && (sel.node == null || token.node === sel.node) ? token : null;
    },
    piece: (run, id) => pieceOf(run, id),
    stats: (run) => statsOf(run, store.visibleRounds(run)),

    focus: () => store.hover ?? store.cursor,
    setCursor(partial) {
      const next = resolve(store, partial, store.cursor);
      if (same(next, store.cursor)) return;
      const old = store.cursor;
      store.cursor = next;
      store.emit("cursor", { old, now: next });
    },
    setHover(sel) {
      const next = sel ? resolve(store, sel, null) : null;
      if (same(next, store.hover)) return;
      const old = store.hover;
      store.hover = next;
      store.emit("hover", { old, now: next });
    },
    clear() {
      store.setHover(null);
      if (!store.cursor) return;
      const old = store.cursor;
      store.cursor = null;
      store.emit("cursor", { old, now: null });
    },

    setTime(partial) {
      store.time = { ...store.time, ...partial };
      store.emit("time");
    },
    visibleRounds(run) {
      const { mode, at } = store.time;
      if (at === Infinity) return run.rounds.length;
      return mode === "clock" ? roundsAt(run, at) : Math.max(0, Math.min(run.rounds.length, Math.floor(at)));
    },
    /** The far end of the time axis: the most calls, or milliseconds, of any lane. */
    span(mode = store.time.mode) {
      const lengths = [...store.runs.values()].map((run) =>
        mode === "clock" ? run.sums.clock.at(-1) : run.rounds.length,
      );
      return Math.max(0, ...lengths);
    },

    setFilter(name, filter) {
      if (filter) store.filters.set(name, filter);
      else if (!store.filters.delete(name)) return;
      store.emit("filters");
    },
    passes(run, round, node, token) {
      for (const { test } of store.filters.values()) if (!test(run, round, node, token)) return false;
      return true;
    },
    setOption(name, value) {
      if (store.options[name] === value) return;
      store.options = { ...store.options, [name]: value };
      store.emit("options", name);
    },

    divergence(a, b) {
      const id = `${a}\n${b}`;
      if (!caches.divergence.has(id)) {
        const [left, right] = [store.runs.get(a), store.runs.get(b)];
        caches.divergence.set(id, left && right ? divergenceOf(left, right) : 0);
      }
      return caches.divergence.get(id);
    },
    twin(sel, key) {
      const other = store.runs.get(key);
      if (!sel || !other || sel.run === key) return null;
      if (sel.pos != null && sel.pos < store.divergence(sel.run, key)) return { run: key, pos: sel.pos };
      return sel.round < other.rounds.length ? { run: key, round: sel.round } : null;
    },
  };
  watchTheme(store);
  return store;
}

/** Fill in what a partial selection implies: a position names its round and node, a node its position. */
function resolve(store, partial, current) {
  const key = partial.run ?? current?.run ?? store.lanes[0];
  const run = store.runs.get(key);
  if (!run) return null;
  let { round = null, pos = null, node = null } = partial;
  if (pos != null && round == null && run.tokens[pos]) round = run.tokens[pos].round;
  const event = run.rounds[round];
  if (event && node != null && pos == null) pos = event.start + (event.nodes[node]?.depth ?? 1) - 1;
  if (event && pos == null) pos = event.start;
  if (node == null && partial.node !== null && run.tokens[pos]?.round === round) node = run.tokens[pos].node ?? null;
  return { run: key, round, pos, node };
}

function same(a, b) {
  return a === b || (a && b && a.run === b.run && a.round === b.round && a.pos === b.pos && a.node === b.node);
}

function watchTheme(store) {
  if (typeof MutationObserver === "undefined" || typeof document === "undefined") return;
  const watch = () =>
    new MutationObserver(() => store.emit("theme")).observe(document.body, {
      attributes: true,
      attributeFilter: ["class"],
    });
  if (document.body) watch();
  else addEventListener("DOMContentLoaded", watch);
}
