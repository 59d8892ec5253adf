// @ts-check
// What the score shows: bands in their order, their places, the scales that all of them share. No DOM here.

import { nameOf, samples, visibleColumns } from "../columns.js";
import { fmt } from "../draw.js";
import { cutFirst, forcedOf, neverRan } from "../run.js";
import { linesOf } from "../thresholds.js";
import { bandOf, partsAt, referenceOf, sorted } from "./bands.js";
import { figuresOf } from "./heads.js";
import { layoutBands } from "./layout.js";
import { upper } from "./numbertracks.js";
import { trackOf } from "./tracks.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../columns.js").Column} Column
 * @typedef {import("./scorepaint.js").Lane} Lane
 * @typedef {import("./scorepaint.js").Look} Look
 * @typedef {import("./layout.js").Place} Place
 *
 * @typedef {object} Content
 * @property {Run | null} reference
 * @property {string[]} order keys of the bands from the top
 * @property {Map<string, Lane>} lanes
 * @property {Place[]} places
 * @property {number} height of all bands
 * @property {number} count positions of the longest lane
 * @property {Map<string, number>} tops upper ends of the tracks' scales, the same in all bands
 */

/** @type {Content} */
export const EMPTY = {
  reference: null,
  order: [],
  lanes: new Map(),
  places: [],
  height: 0,
  count: 0,
  tops: new Map(),
};

/** The tracks of an open band: the first is always there, a rare one where a run on the stage has it.
 * @param {Store} store @returns {string[]} */
export const tracksOf = (store) => [
  "spans",
  ...store.options.tracks.filter((id) => id !== "spans" && isThere(store, trackOf(id))),
];

/** Whether a track can be shown for the runs on the stage. @param {Store} store
 * @param {import("./tracks.js").Track} track */
export const isThere = (store, track) => !track.rare || [...store.runs.values()].some(track.has);

/** What every band shows now. @param {Store} store @param {(key: string) => boolean} folded
 * @param {number} head pixels above the tracks, for a title on a line of its own @returns {Content} */
export function contentOf(store, folded, head) {
  const reference = referenceOf(store);
  const order = sorted(store, store.options.sort).filter((key) => store.runs.get(key)?.head);
  const runs = order.flatMap((key) => store.runs.get(key) ?? []);
  const lanes = new Map(runs.map((run) => [run.key, laneOf(store, run, reference)]));
  const ids = tracksOf(store);
  /** @param {string} key */
  const tracks = (key) => {
    const run = store.runs.get(key);
    return ids.map(trackOf).map(({ id, height, tall, has }) => ({
      id,
      height: run && tall && has(run) ? tall(run) : height,
    }));
  };
  const { places, height } = layoutBands(order, tracks, folded, { head });
  const count = Math.max(0, ...[...lanes.values()].map((lane) => lane.shift + lane.list.length));
  return { reference, order, lanes, places, height, count, tops: new Map(ids.map((id) => [id, topOf(id, runs)])) };
}

/** Which lanes have no band, since they did not run or were stopped first; empty where all have one.
 * @param {Store} store */
export function missingWords(store) {
  const unrun = [...store.runs.values()].filter(neverRan);
  const names = (/** @type {readonly Run[]} */ runs) => runs.map((run) => nameOf(store, run)).join(", ");
  const [cut, failed] = [unrun.filter(cutFirst), unrun.filter((run) => !cutFirst(run))];
  return [
    failed.length ? `Did not run, so without a band: ${names(failed)}. Text tells why.` : "",
    cut.length ? `Stopped before the first round, so without a band: ${names(cut)}.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** @param {Store} store @param {Run} run @param {Run | null} reference @returns {Lane} */
function laneOf(store, run, reference) {
  const whatif = store.options.whatif?.run === run.key ? store.options.whatif : null;
  const passes = (/** @type {Column} */ { round, node, token }) => store.passes(run, run.rounds[round], node, token);
  return {
    key: run.key,
    run,
    band: bandOf(run),
    list: visibleColumns(store, run),
    shift: forcedOf(run),
    parts: partsAt(store, run, reference),
    sampled: samples(run),
    knobs: whatif?.knobs,
    whatif,
    passes: store.filters.size === 0 ? null : passes,
  };
}

/** The upper end of a track's scale. @param {string} id @param {readonly Run[]} runs */
function topOf(id, runs) {
  const top = Math.max(...runs.map((run) => trackOf(id).top(run)).filter(Number.isFinite), 0);
  return id === "entropy" ? Math.max(1, Math.ceil(top)) : top || 1;
}

/** How a part of the content is painted: from `scroll` pixels on, `width` pixels, `px` a position.
 * @param {Content} content @param {Pick<Look, "px" | "scroll" | "width" | "ink">} part @returns {Look} */
export const lookOf = ({ lanes, tops }, part) => ({
  ...part,
  tops,
  widest: Math.max(1, ...[...lanes.values()].map((lane) => lane.band.widest)),
});

/** Whether the answer of some lane was checked. @param {Content} content */
export const answered = ({ lanes }) => [...lanes.values()].some(({ run }) => run.end?.checked);

/** What a band's head says. @param {Store} store @param {Content} content @param {Lane} lane @param {Place} place */
export const headOf = (store, { reference, tops }, lane, place) => ({
  name: nameOf(store, lane.run),
  figures: figuresOf(store, lane.run, reference, lane.parts),
  labels: place.tracks.map(({ id }) => `${labelOf(id, lane.run, tops)}${limitOf(id, lane.run)}`),
  briefs: place.tracks.map(({ id }) => labelOf(id, lane.run, tops)),
  words: place.tracks.map(({ id }) => trackOf(id).word ?? null),
  nones: place.tracks.map(({ id }) => (trackOf(id).has(lane.run) ? "" : trackOf(id).none)),
});

/** The line of a threshold in a track, or null. @param {string} id @param {Run} run */
const lineOf = (id, run) => (trackOf(id).has(run) ? linesOf(run, id === "importance" ? "judge" : id)[0] : null);

/** A track's name with its scale. @param {string} id @param {Run} run @param {Map<string, number>} tops */
function labelOf(id, run, tops) {
  const track = trackOf(id);
  const label = `${track.label(run)}${track.unit && !lineOf(id, run) ? `, ${track.unit}` : ""}`;
  const scaled = track.has(run) && (id.includes(".") || id === "entropy");
  return scaled ? `${label} 0–${upper(tops.get(id) ?? 0)}` : label;
}

/** Where the rule has its line, said after the name. @param {string} id @param {Run} run */
function limitOf(id, run) {
  const line = lineOf(id, run);
  return line ? `, limit ${fmt(line.value, 2)}` : "";
}
