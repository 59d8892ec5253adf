// @ts-check
// Any recorded number as a track: fields of a draft token, what its rule looked at, and what a round noted.

import { columns } from "../columns.js";
import { fmt } from "../draw.js";

const FIELDS = ["confidence", "margin", "q", "p", "rank"];
const UNITS = /** @type {Object<string, string>} */ ({
  margin: "nats",
  gap: "nats",
  tau: "nats",
  phi: "nats",
  lambda: "",
});
const HAVE_TRACKS = new Set(["h_draft", "h_target", "overlap", "score", "tau_h", "tau_h_draft", "tau_o", "n"]);
const HIDDEN = new Set(["remove", "choice", "strict", "after", "fired"]); // token ids and node numbers, not measures

/** @type {WeakMap<any, {seen: number, names: Set<string>}>} */
const found = new WeakMap();

/** The ids of the numbers that a run recorded: "node.confidence", "reason.gap", "round.bin". @param {any} run @returns {Set<string>} */
export function numbersIn(run) {
  const state = found.get(run) ?? { seen: 0, names: new Set() };
  found.set(run, state);
  const note = (/** @type {string} */ where, /** @type {any} */ item, /** @type {string[]} */ names) => {
    for (const name of names) if (typeof item?.[name] === "number") state.names.add(`${where}.${name}`);
  };
  const list = columns(run);
  for (; state.seen < list.length; state.seen += 1) {
    const { node, round } = list[state.seen];
    note("node", node, FIELDS);
    note("reason", node?.reason, fresh(node?.reason));
    note("round", run.rounds[round].extras, fresh(run.rounds[round].extras));
  }
  return state.names;
}

/** @param {any} item @returns {string[]} */
const fresh = (item) => Object.keys(item ?? {}).filter((name) => !HAVE_TRACKS.has(name) && !HIDDEN.has(name));

/** @param {string} id @returns {(column: any, run: any) => number|null} */
export function readerOf(id) {
  const [where, name] = id.split(".");
  const value = (/** @type {any} */ item) => (typeof item?.[name] === "number" ? item[name] : null);
  if (where === "round") return (column, run) => value(run.rounds[column.round].extras);
  if (where === "reason") return (column) => value(column.node?.reason);
  return (column) => value(column.node);
}

/** "round.n_verify" -> "n verify". @param {string} id @returns {string} */
export const wordsOf = (id) => id.split(".").slice(1).join(".").replaceAll("_", " ");

/** @param {string} id @param {{bars: Function, base: Function, extent: Function}} paint @returns {import("./tracks.js").Track} */
export function numberTrack(id, { bars, base, extent }) {
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
    has: (run) => extent(run, id, read) > -Infinity,
    top: (run) => extent(run, id, read),
    paint(ctx, view) {
      base(ctx, view);
      bars(ctx, view, (/** @type {any} */ column) => read(column, view.run), "--neutral");
    },
  };
}

/** What stands beside a scale: its upper end. @param {number} top @returns {string} */
export const upper = (top) => (Number.isFinite(top) && top > 0 ? fmt(top, 2) : "");
