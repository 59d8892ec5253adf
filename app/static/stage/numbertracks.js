// @ts-check
// Any recorded number as a track: fields of a draft token, what its rule looked at, and what a round noted.

import { columns } from "../columns.js";
import { fmt } from "../draw.js";
import { bars, base } from "./trackpaint.js";

/** @typedef {import("../types/store.js").Run} Run */
/** @typedef {import("../columns.js").Column} Column */
/** @typedef {Readonly<Record<string, unknown>>} Fields */

const FIELDS = ["confidence", "margin", "q", "p", "rank"];
const UNITS = /** @type {Partial<Record<string, string>>} */ ({
  margin: "nats",
  gap: "nats",
  tau: "nats",
  phi: "nats",
  lambda: "",
});
/** @type {Partial<Record<string, import("../words.js").Anchor>>} */
const WORDS = {
  confidence: "confidence",
  margin: "margin",
  rank: "rank",
  bin: "bin",
  phi: "meta-path",
  reward: "drafted-step",
  reward_tokens: "reward-model",
  threshold: "threshold",
};
const HAVE_TRACKS = new Set([
  "h_draft",
  "h_target",
  "overlap",
  "score",
  "tau_h",
  "tau_h_draft",
  "tau_o",
  "n",
  "reward",
]);
const HIDDEN = new Set(["remove", "choice", "strict", "after", "fired"]); // token ids and node numbers, not measures

/** @type {WeakMap<Run, {seen: number, names: Set<string>}>} */
const found = new WeakMap();

/** The ids of the numbers that a run recorded: "node.confidence", "reason.gap", "round.bin".
 * @param {Run} run @returns {Set<string>} */
export function numbersIn(run) {
  const state = found.get(run) ?? { seen: 0, names: new Set() };
  found.set(run, state);
  /** @param {string} where @param {Fields | null | undefined} item @param {string[]} names */
  const note = (where, item, names) => {
    for (const name of names) if (typeof item?.[name] === "number") state.names.add(`${where}.${name}`);
  };
  const list = columns(run);
  for (; state.seen < list.length; state.seen += 1) {
    const { node, round } = list[state.seen];
    note("node", node && fieldsOf(node), FIELDS);
    const reason = node?.reason && fieldsOf(node.reason);
    note("reason", reason, fresh(reason));
    const extras = fieldsOf(run.rounds[round].extras);
    note("round", extras, fresh(extras));
  }
  return state.names;
}

/** A node, its reason or a round's extras as the numbers that it may hold. @param {object} item @returns {Fields} */
const fieldsOf = (item) => /** @type {Fields} */ (/** @type {unknown} */ (item));

/** @param {Fields | null | undefined} item @returns {string[]} */
const fresh = (item) => Object.keys(item ?? {}).filter((name) => !HAVE_TRACKS.has(name) && !HIDDEN.has(name));

/** @type {WeakMap<Run, Map<string, {seen: number, top: number}>>} */
const extents = new WeakMap();

/** The largest value of a run, -Infinity when it has none; only new columns are read.
 * @param {Run} run @param {string} id @param {import("./trackpaint.js").Read} read @returns {number} */
export function extent(run, id, read) {
  const states = extents.get(run) ?? new Map();
  extents.set(run, states);
  const list = columns(run);
  const state = states.get(id) ?? { seen: 0, top: -Infinity };
  for (; state.seen < list.length; state.seen += 1) {
    const value = read(list[state.seen], run);
    if (value != null && Number.isFinite(value)) state.top = Math.max(state.top, value);
  }
  states.set(id, state);
  return state.top;
}

/** @param {string} id @returns {(column: Column, run: Run) => number|null} */
export function readerOf(id) {
  const [where, name] = id.split(".");
  /** @param {Fields | null | undefined} item */
  const value = (item) => {
    const found = item?.[name];
    return typeof found === "number" ? found : null;
  };
  if (where === "round") return (column, run) => value(fieldsOf(run.rounds[column.round].extras));
  if (where === "reason") return (column) => value(column.node?.reason && fieldsOf(column.node.reason));
  return (column) => value(column.node && fieldsOf(column.node));
}

/** "round.n_verify" -> "n verify". @param {string} id @returns {string} */
export const wordsOf = (id) => id.split(".").slice(1).join(".").replaceAll("_", " ");

/** @param {string} id @returns {import("./tracks.js").Track} */
export function numberTrack(id) {
  const read = readerOf(id);
  const name = wordsOf(id);
  const unit = UNITS[id.split(".")[1]];
  const where = id.startsWith("round.")
    ? "noted for the round"
    : id.startsWith("reason.")
      ? "what the rule looked at"
      : "of the draft token";
  return {
    id,
    name,
    title: `${name}${unit ? `, ${unit}` : ""}: ${where}`,
    height: 16,
    none: "not recorded",
    label: () => `${name}${unit ? `, ${unit}` : ""}`,
    word: WORDS[id.split(".")[1]],
    has: (run) => extent(run, id, read) > -Infinity,
    top: (run) => extent(run, id, read),
    paint(ctx, view) {
      base(ctx, view);
      bars(ctx, view, read, "--neutral");
    },
  };
}

/** What stands beside a scale: its upper end. @param {number} top @returns {string} */
export const upper = (top) => (Number.isFinite(top) && top > 0 ? fmt(top, 2) : "");
