// @ts-check
// What the stage shows, as pairs of a query string; what is usual is left out.

import { USUAL } from "./usual.js";

/**
 * @typedef {import("../types/store.js").Options} Options
 * @typedef {Pick<Options, "stage" | "folded" | "sort" | "tracks" | "details">} Shown what a link says of the stage
 */

/** @type {readonly Options["stage"][]} */
const VIEWS = ["text", "score", "trees", "shares"];
const SORTS = ["given", "calls", "tau", "speed", "agreement", "name"];
/** @type {readonly Options["details"][]} */
const DOCKS = ["right", "bottom", "hidden"];
const TRACK = /^[a-z_0-9.]{1,40}$/i;

/** @param {{options: Shown, lanes: readonly string[]}} store @returns {[string, string][]} */
export function stagePairs({ options, lanes }) {
  /** @type {[string, string][]} */
  const out = [];
  const many = lanes.length > 6;
  if (options.stage !== (many ? "score" : "text")) out.push(["v", options.stage]);
  if (options.folded !== many) out.push(["fold", options.folded ? "1" : "0"]);
  if (options.sort !== "given") out.push(["sort", options.sort]);
  if (options.tracks.join() !== USUAL.join()) out.push(["tracks", options.tracks.join("~")]);
  if (options.details !== "auto") out.push(["dock", options.details]);
  return out;
}

/** @param {URLSearchParams} query @returns {Partial<Shown>} the options that the address sets */
export function readStage(query) {
  /** @type {{-readonly [K in keyof Shown]?: Shown[K]}} */
  const options = {};
  const [view, fold, sort, tracks] = ["v", "fold", "sort", "tracks"].map((name) => query.get(name));
  const stage = VIEWS.find((one) => one === view);
  if (stage) options.stage = stage;
  if (fold === "0" || fold === "1") options.folded = fold === "1";
  if (sort && SORTS.includes(sort)) options.sort = sort;
  if (tracks !== null)
    options.tracks = tracks
      .split("~")
      .filter((id) => TRACK.test(id))
      .slice(0, 40);
  const dock = DOCKS.find((one) => one === query.get("dock"));
  if (dock) options.details = dock;
  return options;
}
