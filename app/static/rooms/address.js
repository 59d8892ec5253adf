// @ts-check
// Which tab of a room is open, as pairs of an address. The rooms know their tabs: what they do not know they leave out.

import { placeIn, placePairs } from "../learn/places.js";

/** @typedef {Pick<import("../types/store.js").Options, "room" | "tab" | "name" | "beside" | "judge" | "mismatch"
 *   | "pool" | "figure" | "trajectories" | "method" | "tree" | "set" | "only" | "by">} Shown */

export const FIRST = /** @type {const} */ ({
  judge: "mismatches",
  mismatch: "",
  pool: "",
  figure: "position",
  trajectories: "trajectories",
});
/** What is chosen in a tab of a room, where it is shown; empty while nothing is.
 * @type {readonly {name: "method" | "tree" | "set" | "only" | "by", shown: (options: Shown) => boolean}[]} */
const CHOSEN = [
  { name: "method", shown: ({ room, trajectories }) => room === "trajectories" && trajectories !== "trees" },
  { name: "tree", shown: ({ room, trajectories }) => room === "trajectories" && trajectories === "trees" },
  { name: "set", shown: ({ room }) => room === "judge" },
  { name: "only", shown: ({ room, judge }) => room === "judge" && (judge === FIRST.judge || judge === "table") },
  { name: "by", shown: ({ room, judge }) => room === "judge" && judge === "table" },
];
const TAB = /^[a-z]{1,20}$/;
const MOST = 600; // letters of a choice
const LONGEST = 160; // of a task and a method of pooled runs, or a mismatch; a longer one is none, which the room tells

/** The options that an address sets; those that it does not name are at their start.
 * @param {URLSearchParams} query @returns {Omit<Shown, "room">} */
export function placeOf(query) {
  const chosen = Object.fromEntries(CHOSEN.map(({ name }) => [name, (query.get(name) ?? "").slice(0, MOST)]));
  const tab = (/** @type {"judge" | "figure" | "trajectories"} */ name) => {
    const found = query.get(name) ?? "";
    return TAB.test(found) ? found : FIRST[name];
  };
  return {
    ...placeIn(query),
    judge: tab("judge"),
    mismatch: (query.get("mismatch") ?? FIRST.mismatch).slice(0, LONGEST),
    figure: tab("figure"),
    pool: (query.get("pool") ?? FIRST.pool).slice(0, LONGEST),
    trajectories: tab("trajectories"),
    .../** @type {Pick<Shown, "method" | "tree" | "set" | "only" | "by">} */ (chosen),
  };
}

/** The pairs of an address. @param {Shown} options @returns {[string, string][]} */
export function pairsOf(options) {
  const { room, judge, mismatch, pool, figure, trajectories } = options;
  const out = placePairs(options);
  if (room === "judge" && judge !== FIRST.judge) out.push(["judge", judge]);
  if (room === "judge" && mismatch !== FIRST.mismatch) out.push(["mismatch", mismatch]);
  if (room === "runs" && pool !== FIRST.pool) out.push(["pool", pool]);
  if (room === "trajectories" && trajectories !== FIRST.trajectories) out.push(["trajectories", trajectories]);
  for (const { name, shown } of CHOSEN) if (options[name] && shown(options)) out.push([name, options[name]]);
  if (room === "compare" && figure !== FIRST.figure) out.push(["figure", figure]);
  return out;
}

/** What an address asks a room to open that the room does not have, in words; nothing where it has it.
 * @param {string} name of the pair
 * @param {string} asked @param {readonly string[]} known */
export const noTab = (name, asked, known) =>
  known.includes(asked) ? "" : `There is no "${asked}" here: a link's ${name} is one of ${known.join(", ")}.`;

/** Whether an address shows another room, another page of one, or a lesson that is opened or closed.
 * @param {Omit<Shown, "room">} was @param {Shown} now */
export function turned(was, now) {
  if (Boolean(was.beside) !== Boolean(now.beside)) return true;
  if (now.room === "learn") return was.tab !== now.tab || was.name !== now.name;
  if (now.room === "papers") return was.name !== now.name;
  if (now.room === "trajectories") return was.trajectories !== now.trajectories;
  return now.room === "judge" && was.judge !== now.judge;
}
