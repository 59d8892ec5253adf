// @ts-check
// The keyboard. Ignored where letters have a meaning of their own, and when a view has already used the key.

import { rejectedNode } from "./columns.js";
import { makeFilter } from "./filters.js";
import { flagsAt } from "./flags.js";
import { followSource } from "./passage.js";
import { across, forcedOf, placeAcross } from "./run.js";
import { typesInto } from "./typing.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Place} Place
 * @typedef {import("./types/store.js").Selection} Selection
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/trace.js").NodeState} NodeState
 * @typedef {import("./types/lab.js").Lab} Lab
 */

const SLIDING = /^(Arrow|Home|End|Page)/;

/** @param {Store} store @param {Lab} lab */
export function bindKeys(store, lab) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey) return;
    if (document.querySelector("dialog:modal")) return; // what has the focus may be gone from it
    const target = event.target instanceof Element ? event.target : null;
    const slider = target instanceof HTMLInputElement && target.type === "range";
    if (slider && SLIDING.test(event.key) && target.closest('[data-view="whatif"]')) return; // it moves the threshold
    if (typesInto(target) && !slider) return;
    const lane = target?.closest(".flow")?.getAttribute("data-key") ?? null;
    const go = (store.options.room === "compare" ? moves(store, lab, lane) : elsewhere(lab))[nameOf(event)];
    if (!go || (event.key === " " && target?.closest("button, summary, a"))) return;
    go();
    event.preventDefault();
  });
}

/** A key as the tables have it: Shift is a part of a letter's own. @param {KeyboardEvent} event */
const nameOf = ({ key, ctrlKey, metaKey, shiftKey }) =>
  ctrlKey || metaKey ? `Ctrl ${key}` : shiftKey && key.length > 1 ? `Shift ${key}` : key;

/** Keys of the other rooms, which have no cursor. @param {Lab} lab @returns {Record<string, () => unknown>} */
const elsewhere = (lab) => ({ "?": () => lab.ui.open("help"), Escape: () => mayLeave() && lab.ui.close() });

/** Whether nothing in the room that is shown is to be left first; it hears "leave" and may prevent it. */
const mayLeave = () =>
  document.querySelector("[data-room]:not([hidden])")?.dispatchEvent(new Event("leave", { cancelable: true })) ?? true;

/** What each key does. @param {Store} store @param {Lab} lab
 * @param {string | null} own the lane whose text has the focus @returns {Record<string, () => unknown>} */
function moves(store, lab, own) {
  const here = placeIn(store, own);
  const none = (/** @type {string} */ words) => lab.ui.notify(words, { passes: true });
  return {
    ArrowLeft: () => token(store, here, -1),
    ArrowRight: () => token(store, here, 1),
    "Shift ArrowLeft": () => stretch(store, here, -1),
    "Shift ArrowRight": () => stretch(store, here, 1),
    ArrowUp: () => lane(store, here, -1),
    ArrowDown: () => lane(store, here, 1),
    Home: () => token(store, here, -Infinity),
    End: () => token(store, here, Infinity),
    "[": () => round(store, here, -1),
    "]": () => round(store, here, 1),
    " ": () => lab.ui.emit("play"),
    ".": () => lab.ui.emit("begin", "step"),
    ",": () => lab.ui.emit("step", -1),
    ">": () => lab.ui.emit("event", 1),
    "<": () => lab.ui.emit("event", -1),
    r: () => inSomeLane(store, here, ended("rejected")) || none("No draft token was rejected in any lane."),
    v: () => inSomeLane(store, here, ended("vetoed")) || none("No draft token was vetoed in any lane."),
    i: () => inSomeLane(store, here, important) || none("No token of any lane is flagged as important."),
    d: () => divergence(store) || none("No lane parts from the reference."),
    s: () => followSource(store, lab),
    n: () => lab.ui.open("notes"),
    g: () => store.setOption("ghosts", !store.options.ghosts),
    w: () => store.setOption("whitespace", !store.options.whitespace),
    "?": () => lab.ui.open("help"),
    Escape: () => mayLeave() && (store.filters.has("range") ? store.setFilter("range", null) : store.clear()),
    e: () => lab.ui.emit("edit"),
    "Ctrl Enter": () => lab.ui.emit("begin", "run"),
    h: () => store.setOption("details", store.options.details === "hidden" ? "auto" : "hidden"),
    1: () => store.setOption("stage", "text"),
    2: () => store.setOption("stage", "score"),
    3: () => store.setOption("stage", "trees"),
    4: () => store.setOption("stage", "shares"),
    ...(store.options.stage === "score" ? zooms(lab) : {}),
  };
}

/** Keys of the score, wherever the focus is. @param {Lab} lab */
const zooms = ({ ui }) => {
  const [wider, narrower] = [() => ui.emit("zoom", 1), () => ui.emit("zoom", -1)];
  return { "+": wider, "=": wider, "-": narrower };
};

/** Where keys go on from: the cursor, in a lane that has the focus the same position there; without a cursor before
 * the start of that lane, else of the run that is shown.
 * @param {Store} store @param {string | null} lane @returns {Selection} */
function placeIn(store, lane) {
  const { cursor } = store;
  const run = lane === null || lane === cursor?.run ? undefined : store.runs.get(lane);
  if (!run) return cursor ?? { run: store.run()?.key ?? "", pos: -1, round: -1, node: null };
  const pos = cursor ? placeAcross(store, cursor, run) : -1;
  return { run: run.key, pos, round: run.tokens[pos]?.round ?? -1, node: null };
}

/** Select, and let time run on to the place if it is not shown yet. @param {Store} store
 * @param {Place & {run: string}} place @returns {true} */
function select(store, place) {
  store.setHover(null);
  store.setCursor(place);
  const run = store.runs.get(place.run);
  const last = store.cursor?.round ?? -1;
  if (run && last >= store.visibleRounds(run))
    store.setTime({ at: store.time.mode === "clock" ? run.sums.clock[last + 1] : last + 1, playing: false });
  return true;
}

/** @param {Store} store @param {Selection} at @param {number} by */
function token(store, at, by) {
  const { run: key, pos } = at;
  const run = store.runs.get(key);
  if (run?.tokens.length)
    select(store, { run: key, pos: Math.max(0, Math.min(run.tokens.length - 1, (pos ?? 0) + by)) });
}

/** Go to the token beside, and have the range of positions end there; it begins where the cursor was, unless that was
 * one of its ends already. @param {Store} store @param {Selection} at @param {number} by */
function stretch(store, at, by) {
  const place = () => {
    const run = store.runs.get(store.cursor?.run ?? "");
    return run && store.cursor?.pos != null ? store.cursor.pos + forcedOf(run) : null; // on the axis of all lanes
  };
  const from = place();
  token(store, at, by);
  const to = place();
  if (to === null) return;
  const [low, high] = store.filters.get("range")?.range ?? [];
  const other = from === low ? high : from === high ? low : from;
  const range = [other ?? to, to].sort((a, b) => a - b);
  store.setFilter("range", makeFilter({ kind: "range", range }));
}

/** @param {Store} store @param {Selection} at @param {number} by */
function lane(store, at, by) {
  const from = store.runs.get(at.run);
  const run = store.runs.get(store.lanes[store.lanes.indexOf(at.run) + by]);
  if (!run?.tokens.length) return;
  const pos = from ? across(from, run, at.pos ?? 0) : 0;
  select(store, { run: run.key, pos: Math.max(0, Math.min(run.tokens.length - 1, pos)) });
}

/** @param {Store} store @param {Selection} at @param {number} by */
function round(store, at, by) {
  const run = store.runs.get(at.run);
  const to = (at.round ?? -1) + by;
  if (run?.rounds[to]) select(store, { run: at.run, round: to });
}

/** Select the next such place of this lane, or of the first other lane that has one.
 * @param {Store} store @param {Selection} at @param {(run: Run, at: Place) => Place | null} find after a place, and
 * from the start on @returns {boolean} whether there is one */
function inSomeLane(store, at, find) {
  if (!at.run) return true;
  for (const key of [at.run, ...store.lanes.filter((key) => key !== at.run)]) {
    const run = store.runs.get(key);
    const found = run && find(run, key === at.run ? at : {});
    if (found) return select(store, { ...found, run: key });
  }
  return false;
}

/** The next round that ended so; the cursor goes to the candidate itself. @param {NodeState} state
 * @returns {(run: Run, at: Place) => Place | null} */
const ended = (state) => (run, at) => {
  const from = (at.round ?? -1) + 1;
  for (const item of [...run.rounds.slice(from), ...run.rounds.slice(0, from)]) {
    const node = rejectedNode(item);
    if (node !== null && item.nodes[node].state === state) return { round: item.index, node };
  }
  return null;
};

/** The next position with a flag that says important. @param {Run} run @param {Place} at @returns {Place | null} */
function important(run, at) {
  const count = run.tokens.length;
  for (let step = 1; step <= count; step++) {
    const pos = ((at.pos ?? -1) + step + count) % count;
    if (flagsAt(run, pos).some((/** @type {{important: boolean}} */ flag) => flag.important)) return { pos };
  }
  return null;
}

/** The place where this lane first differs from the reference; from there on, to the next lane that differs.
 * @param {Store} store @returns {boolean} whether there is one */
function divergence(store) {
  if (!store.lanes.length) return true;
  let found = false;
  const reference = store.lanes.find((key) => store.runs.get(key)?.card.guarantee === "reference") ?? store.lanes[0];
  const length = (/** @type {string} */ key) => store.runs.get(key)?.tokens.length ?? 0;
  const others = store.lanes.filter((key) => key !== reference);
  const first = Math.max(0, others.indexOf(store.cursor?.run ?? ""));
  for (const key of [...others.slice(first), ...others.slice(0, first)]) {
    const run = store.runs.get(key);
    const forced = run ? forcedOf(run) : 0;
    const at = store.divergence(reference, key);
    const pos = Math.max(0, at - forced);
    const stands = store.cursor?.run === key && store.cursor.pos === pos;
    if (at >= Math.min(length(key) + forced, length(reference))) continue;
    if (!stands) return select(store, { run: key, pos });
    found = true;
  }
  return found;
}
