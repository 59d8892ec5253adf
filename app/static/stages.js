// @ts-check
// What was on the stage while this page lives, each under a name that an entry of the browser's history carries. Runs
// that no server gives again are kept, the last few, so that Back finds them.

import { freshId } from "./bus.js";
import { writeConfig } from "./config.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").Stage} Stage
 * @typedef {{-readonly [K in keyof Stage]: Stage[K]} & {grown: boolean}} Open the same while it is
 *   shown; grown where a lane was made beside the others
 */

const MOST = 4; // that are kept beside what is shown

/** What tells the runs of a stage from others: the same request again is the same. @param {Open} stage */
function toldOf({ status, lanes, ran, id }) {
  if (!lanes.length) return "";
  if (status.recorded) return `trace ${status.recorded}`;
  return ran ? JSON.stringify(writeConfig({ ...ran, preset: "" })) : id;
}

/** @param {Store} store @param {Pick<import("./types/lab.js").Session, "config" | "ran" | "on">} session */
export function createStages(store, session) {
  const life = freshId().slice(0, 8); // entries of the page before a reload are not this one's
  let count = 0;
  const taken = () => {
    const { runs, lanes, status } = store;
    return { id: `${life}~${count++}`, runs, lanes, status, ran: session.ran, config: session.config, grown: false };
  };
  /** @type {Open} */
  let now = taken();
  /** @type {Open[]} the one that was left last at the end */
  let kept = [];
  /** What was left for runs of which is not known yet what was asked for. @type {Open | null} */
  let before = null;

  store.on("runs", () => {
    if (store.runs === now.runs) [now.lanes, now.grown] = [store.lanes, true];
    else {
      const given = now.status.recorded && !now.grown; // by the server, again
      const back = kept.find(({ runs }) => runs === store.runs);
      const left = now.lanes.length && !given ? [...kept, now] : kept;
      kept = left.filter((stage) => stage !== back).slice(-MOST);
      before = back ? null : now;
      now = back ?? taken();
    }
  });
  store.on("status", () => {
    if (store.runs === now.runs) now.status = store.status;
  });
  session.on("ran", () => {
    now.ran = session.ran;
    now.config = session.ran ?? session.config;
    if (before && toldOf(before) === toldOf(now)) {
      now.id = before.id; // the entry of the history is the same
      kept = kept.filter((stage) => stage !== before);
    }
    before = null;
  });

  return {
    get now() {
      return /** @type {Stage} */ (now);
    },
    /** What was left, if it is still kept. @param {unknown} id @returns {Stage | null} */
    find: (id) => kept.find((stage) => stage.id === id) ?? null,
    /** What tells the runs that are shown from others. */
    told: () => toldOf(now),
  };
}
