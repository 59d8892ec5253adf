// @ts-check
// The one client store: runs, cursor, hover, time, filters, options. Views read and write only this; the contract is
// types/store.d.ts, explained in docs/design/0008-page.md.

import { createEmitter } from "./emitter.js";
import { keepingFocus } from "./refocus.js";
import { roundInside } from "./run/phases.js";
import { across, addEvent, divergenceOf, forcedOf, makeRun, roundsAt, statsOf, textOf } from "./run.js";
import { USUAL } from "./stage/usual.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Selection} Selection
 * @typedef {import("./types/store.js").Place} Place
 * @typedef {import("./types/store.js").Inside} Inside
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {Map<string, ReturnType<typeof makeRun>>} Runs
 * @typedef {{-readonly [K in keyof Store]: Store[K]}} Open the store as it writes to itself
 */

/** The status of a stage without runs. @type {import("./types/store.js").Store["status"]} */
const NOTHING = {
  phase: "empty",
  recorded: null,
  opened: false,
  compared: null,
  repeated: null,
  repeating: null,
  line: null,
  loading: null,
  step: false,
};

/** What is over for runs that come back to the stage. */
const NOT_NOW = { repeating: null, line: null, loading: null };

/** @type {Store["options"]} */
const OPTIONS = {
  room: "compare",
  tab: "lessons",
  name: "",
  beside: "",
  judge: "mismatches",
  figure: "position",
  pool: "",
  mismatch: "",
  trajectories: "trajectories",
  method: "",
  tree: "",
  set: "",
  only: "",
  by: "",
  ghosts: false,
  whitespace: false,
  flags: true,
  distribution: "sampled", // where a run samples, the distribution that its decisions were made on; else the raw one
  order: "target",
  topN: 8,
  stage: "text",
  folded: false,
  sort: "given",
  tracks: USUAL,
  zoom: "",
  details: "auto", // the dock: auto, right, bottom or hidden
  continued: [],
  whatif: null,
};
const CALLS_PER_SECOND = 6;

/** @returns {Store} */
export function createStore() {
  const { frame, seldom } = createFrames();
  /** @type {Runs} */
  let runs = new Map();
  /** @type {Store["filters"] & Map<string, import("./types/store.js").Filter>} */
  const filters = new Map();
  /** @type {Map<string, number>} */
  const divergences = new Map();
  /** @type {WeakMap<Round, {inside: Inside, half: Round}>} */
  const halves = new WeakMap();
  /** @type {import("./types/store.js").Emitter<import("./types/store.js").Topics>} */
  const { on, emit } = createEmitter();

  /** @param {"cursor" | "hover"} which @param {Selection | null} now */
  const move = (which, now) => {
    const old = store[which];
    if (same(now, old)) return;
    store[which] = now;
    emit(which, { old, now });
  };

  /** Other runs take the stage. @param {Runs} others @param {readonly string[]} lanes
   * @param {Store["status"]} status */
  function replace(others, lanes, status) {
    const { cursor, hover } = store;
    store.runs = runs = others;
    store.lanes = lanes;
    store.cursor = null;
    store.hover = null;
    filters.clear();
    store.time = { ...store.time, at: Infinity, inside: null, playing: false };
    divergences.clear();
    store.status = status;
    emit("runs");
    emit("cursor", { old: cursor, now: null });
    emit("hover", { old: hover, now: null });
    emit("filters");
    emit("time");
    emit("status");
  }

  /** @type {Open} */
  const store = {
    on,
    emit,
    frame,
    seldom,
    runs,
    lanes: [],
    cursor: null,
    hover: null,
    time: { mode: "calls", at: Infinity, inside: null, playing: false, speed: 1 },
    filters,
    options: { ...OPTIONS },
    status: { ...NOTHING },
    CALLS_PER_SECOND,

    begin(lanes, status = {}) {
      const fresh = new Map(lanes.map((lane) => [lane.key, makeRun(lane.key, lane.card, lane)]));
      replace(fresh, [...fresh.keys()], { ...NOTHING, phase: "running", ...status });
    },
    bring({ runs: known, lanes, status }) {
      replace(/** @type {Runs} */ (known), lanes, { ...status, phase: "done", step: false, ...NOT_NOW });
      for (const key of lanes) emit("data", key);
    },
    add({ key, card }) {
      runs.set(key, makeRun(key, card));
      if (!store.lanes.includes(key)) store.lanes = [...store.lanes, key];
      emit("runs");
    },
    put(run) {
      runs.set(run.key, /** @type {ReturnType<typeof makeRun>} */ (run));
      store.lanes = [...store.lanes.filter((lane) => lane !== run.key), run.key];
      divergences.clear();
      emit("runs");
      emit("data", run.key);
    },
    remove(key) {
      const run = runs.get(key);
      if (!run) return null;
      runs.delete(key);
      store.lanes = store.lanes.filter((lane) => lane !== key);
      divergences.clear();
      if (store.hover?.run === key) move("hover", null);
      if (store.cursor?.run === key) move("cursor", null);
      if (store.options.whatif?.run === key) store.setOption("whatif", null);
      emit("runs");
      return run;
    },
    push(key, events) {
      const run = runs.get(key);
      if (!run) return;
      for (const event of events) addEvent(run, event);
      divergences.clear();
      emit("data", key);
    },
    load(traces, status = {}) {
      store.begin(traces, { phase: "done", ...status });
      for (const { key, events } of traces) store.push(key, events);
    },
    setStatus(partial) {
      store.status = { ...store.status, ...partial };
      emit("status");
    },

    run(key = store.focus()?.run) {
      const named = key === undefined ? undefined : runs.get(key);
      if (named) return named;
      const shown = store.lanes.flatMap((lane) => runs.get(lane) ?? []);
      return shown.find((run) => run.card.guarantee !== "reference") ?? shown[0] ?? null;
    },
    round(sel = store.focus()) {
      return sel?.run == null || sel.round == null ? null : (runs.get(sel.run)?.rounds[sel.round] ?? null);
    },
    node(sel = store.focus()) {
      return sel?.node == null ? null : (store.round(sel)?.nodes[sel.node] ?? null);
    },
    token(sel = store.focus()) {
      const token = sel?.run == null || sel.pos == null ? null : runs.get(sel.run)?.tokens[sel.pos];
      return token && (sel?.node == null || token.node === sel.node) ? token : null;
    },
    piece: textOf,
    stats: (run) => statsOf(run, store.visibleRounds(run)),

    focus: () => store.hover ?? store.cursor,
    setCursor: (place) => move("cursor", filledIn(store, place, store.cursor)),
    setHover: (place) => move("hover", place ? filledIn(store, place, null) : null),
    clear() {
      move("hover", null);
      move("cursor", null);
    },

    setTime(partial) {
      store.time = { ...store.time, inside: null, ...partial };
      emit("time");
    },
    visibleRounds(run) {
      const { mode, at } = store.time;
      if (at === Infinity) return run.rounds.length;
      return mode === "clock" ? roundsAt(run, at) : Math.max(0, Math.min(run.rounds.length, Math.floor(at)));
    },
    halfRound(run) {
      const { mode, inside } = store.time;
      const round = mode === "calls" && inside ? run.rounds[store.visibleRounds(run)] : undefined;
      if (!round || !inside) return null;
      const known = halves.get(round);
      const half = known?.inside === inside ? known.half : roundInside(round, inside);
      halves.set(round, { inside, half });
      return half;
    },
    span(mode = store.time.mode) {
      const length = (/** @type {ReturnType<typeof makeRun>} */ run) =>
        mode === "clock" ? run.sums.clock[run.rounds.length] : run.rounds.length;
      return Math.max(0, ...[...runs.values()].map(length));
    },

    setFilter(name, filter) {
      if (filter) filters.set(name, filter);
      else if (!filters.delete(name)) return;
      emit("filters");
    },
    passes(run, round, node, token) {
      for (const filter of filters.values()) if (!filter.test(run, round, node, token)) return false;
      return true;
    },
    setOption(name, value) {
      if (store.options[name] === value) return;
      store.options = { ...store.options, [name]: value };
      emit("options", name);
    },

    divergence(a, b) {
      const id = JSON.stringify([a, b]);
      const [left, right] = [runs.get(a), runs.get(b)];
      const pos = divergences.get(id) ?? (left && right ? divergenceOf(left, right) : 0);
      divergences.set(id, pos);
      return pos;
    },
    twin(sel, key) {
      const other = runs.get(key);
      if (!sel || !other || sel.run === key) return null;
      const own = runs.get(sel.run);
      if (own && sel.pos != null && sel.pos + forcedOf(own) < store.divergence(sel.run, key)) {
        const pos = across(own, other, sel.pos);
        return pos < 0 ? null : { run: key, pos };
      }
      return (sel.round ?? 0) < other.rounds.length ? { run: key, round: sel.round } : null;
    },
  };
  watchTheme(() => emit("theme"));
  return store;
}

/** Drawing: each key once an animation frame, or once in a while. What is drawn once in a while has a frame of its own,
 * behind one in which something else is due: together they might take longer than a frame. */
function createFrames() {
  /** @type {Map<string, {draw: () => void, patient: boolean}>} */
  const due = new Map();
  /** @type {Map<string, number>} when a key was drawn last, by data that kept coming */
  const drawn = new Map();
  /** @type {Set<string>} */
  const waiting = new Set();

  function drawAll() {
    const draws = [...due];
    due.clear();
    const hurried = draws.some(([, { patient }]) => !patient);
    for (const [key, { draw, patient }] of draws) {
      if (patient && hurried) {
        frame(key, draw);
        continue;
      }
      try {
        draw();
      } catch (error) {
        console.error("view failed to draw", error);
      }
    }
  }
  /** @param {string} key @param {() => void} draw @param {boolean} patient */
  const add = (key, draw, patient) => {
    if (!due.size) requestAnimationFrame(() => keepingFocus(drawAll));
    due.set(key, { draw, patient: patient && due.get(key)?.patient !== false });
  };
  /** @type {Store["frame"]} */
  const frame = (key, draw) => add(key, draw, false);
  /** @type {Store["seldom"]} */
  const seldom = (key, draw, every = 300) => {
    if (waiting.has(key)) return;
    const wait = (drawn.get(key) ?? -Infinity) + every - performance.now();
    waiting.add(key);
    const go = () => {
      waiting.delete(key);
      drawn.set(key, performance.now());
      add(key, draw, true);
    };
    if (wait <= 0) go();
    else setTimeout(go, wait);
  };
  return { frame, seldom };
}

/**
 * What a partial selection implies: a position names its round and node, a node its position.
 * @param {Open} store
 * @param {Place} place
 * @param {Selection | null} current
 * @returns {Selection | null}
 */
function filledIn(store, place, current) {
  const key = place.run ?? current?.run ?? store.lanes[0];
  const run = store.runs.get(key);
  if (!run) return null;
  let { round = null, pos = null, node = null } = place;
  if (pos !== null && round === null) round = run.tokens[pos]?.round ?? null;
  const event = round === null ? undefined : run.rounds[round];
  if (event && node !== null && pos === null) pos = event.start + (event.nodes[node]?.depth ?? 1) - 1;
  if (event && pos === null) pos = event.start;
  const token = pos === null ? undefined : run.tokens[pos];
  if (node === null && place.node !== null && token?.round === round) node = token?.node ?? null;
  return { run: key, round, pos, node };
}

/** Whether two selections name the same place. @param {Selection | null} a @param {Selection | null} b */
function same(a, b) {
  if (a === null || b === null) return a === b;
  return a.run === b.run && a.round === b.round && a.pos === b.pos && a.node === b.node;
}

/** Light or dark is a class of the body. @param {() => void} changed */
function watchTheme(changed) {
  if (typeof document === "undefined") return;
  const watch = () =>
    new MutationObserver(changed).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  if (document.body) watch();
  else addEventListener("DOMContentLoaded", watch);
}
