// @ts-check
// What the stage shows, as pairs of a query string; what is usual is left out.

import { noTab } from "../rooms/address.js";
import { NOT_YET } from "../thresholds.js";
import { STEPS } from "./axis.js";
import { USUAL } from "./usual.js";
import { MANY, VIEWS } from "./views.js";

/**
 * @typedef {import("../types/store.js").Options} Options
 * @typedef {import("../types/store.js").Continued} Continued
 * @typedef {Pick<Options, "stage" | "folded" | "sort" | "tracks" | "zoom" | "details" | "continued" | "whatif">} Shown
 *   what a link says of the stage
 */

const SORTS = ["given", "calls", "tau", "speed", "agreement", "name"];
/** @type {readonly Options["details"][]} */
const DOCKS = ["right", "bottom", "hidden"];
const TRACK = /^[a-z_0-9.]{1,40}$/i;
const MOST_LANES = 6; // that go on from others
const KNOB = /^[a-z_0-9]{1,60}$/i;
const MOST_KNOBS = 20;
const LARGEST = 1e6; // of a position or token

/** What the stage shows where a link says nothing of it. @param {readonly string[]} lanes @returns {Shown} */
export function usualStage(lanes) {
  const many = lanes.length > MANY;
  const plain = /** @type {const} */ ({
    sort: "given",
    tracks: USUAL,
    zoom: "",
    details: "auto",
    continued: [],
    whatif: null,
  });
  return { stage: many ? "score" : "text", folded: many, ...plain };
}

/** @param {{options: Shown, lanes: readonly string[]}} store @returns {[string, string][]} */
export function stagePairs({ options, lanes }) {
  /** @type {[string, string][]} */
  const out = [];
  const usual = usualStage(lanes);
  if (options.stage !== usual.stage) out.push(["v", options.stage]);
  if (options.folded !== usual.folded) out.push(["fold", options.folded ? "1" : "0"]);
  if (options.sort !== "given") out.push(["sort", options.sort]);
  if (options.tracks.join() !== USUAL.join()) out.push(["tracks", options.tracks.join("~")]);
  if (options.zoom && options.stage === "score") out.push(["zoom", options.zoom]);
  if (options.details !== "auto") out.push(["dock", options.details]);
  for (const { lane, run, pos, token } of options.continued) out.push(["go", JSON.stringify([lane, run, pos, token])]);
  if (options.whatif) out.push(["whatif", JSON.stringify([options.whatif.run, options.whatif.moved])]);
  return out;
}

/** @param {URLSearchParams} query @returns {Partial<Shown>} the options that the address sets */
export function readStage(query) {
  /** @type {{-readonly [K in keyof Shown]?: Shown[K]}} */
  const options = {};
  const [view, fold, sort, tracks] = ["v", "fold", "sort", "tracks"].map((name) => query.get(name));
  const stage = VIEWS.find(({ id }) => id === view)?.id;
  if (stage) options.stage = stage;
  if (fold === "0" || fold === "1") options.folded = fold === "1";
  if (sort && SORTS.includes(sort)) options.sort = sort;
  if (tracks !== null)
    options.tracks = tracks
      .split("~")
      .filter((id) => TRACK.test(id))
      .slice(0, 40);
  if (zoomIn(query.get("zoom") ?? "")) options.zoom = query.get("zoom") ?? "";
  const dock = DOCKS.find((one) => one === query.get("dock"));
  if (dock) options.details = dock;
  const lanes = query.getAll("go").flatMap((text) => continuedIn(parsed(text)) ?? []);
  if (lanes.length) options.continued = lanes.slice(0, MOST_LANES);
  const whatif = whatIfIn(parsed(query.get("whatif") ?? ""));
  if (whatif) options.whatif = whatif;
  return options;
}

/** What `zoom` says; null where it says nothing, or what no button sets. @param {string} text
 * @returns {{px: number, first: number} | null} */
export function zoomIn(text) {
  const found = /^(\d{1,2}(?:\.\d{1,2})?)~(\d{1,6}(?:\.\d)?)$/.exec(text);
  const [px, first] = [Number(found?.[1]), Number(found?.[2])];
  return found && px >= STEPS[0] && px <= Number(STEPS.at(-1)) ? { px, first } : null;
}

/** The zoom in an address's form. @param {number} px a position @param {number} left of the score's edge, in pixels */
export const zoomOf = (px, left) => `${Number(px.toFixed(2))}~${Number((left / px).toFixed(1))}`;

/** What an address asks of the stage that it does not have, in words; nothing where it has it.
 * @param {URLSearchParams} query */
export function noStage(query) {
  const known = { v: VIEWS.map(({ id }) => id), sort: SORTS, dock: ["auto", ...DOCKS] };
  for (const [name, choices] of Object.entries(known)) {
    const asked = query.get(name);
    const none = asked && noTab(name, asked.slice(0, 40), choices);
    if (none) return none;
  }
  return "";
}

/** Whether more lanes go on from others than an address asks for.
 * @param {URLSearchParams} query @param {Pick<Shown, "continued">} shown */
export function wider(query, { continued }) {
  const said = new Set((readStage(query).continued ?? []).map((one) => JSON.stringify(one)));
  return continued.some(({ lane, run, pos, token }) => !said.has(JSON.stringify({ lane, run, pos, token })));
}

/** @param {string} text @returns {unknown[]} */
function parsed(text) {
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) ? found : [];
  } catch {
    return []; // a damaged part is left out
  }
}

const keyed = (/** @type {unknown} */ key) => typeof key === "string" && key.length > 0 && key.length <= 80;
const whole = (/** @type {unknown} */ n) => typeof n === "number" && Number.isInteger(n) && n >= 0 && n <= LARGEST;

/** @param {unknown[]} given @returns {Continued | null} */
function continuedIn([lane, run, pos, token]) {
  if (!keyed(lane) || !keyed(run) || !whole(pos) || !whole(token)) return null;
  return /** @type {Continued} */ ({ lane, run, pos, token });
}

/** Moved knobs, to be looked at once the run is there. @param {unknown[]} given @returns {Options["whatif"]} */
function whatIfIn([run, moved]) {
  if (!keyed(run) || typeof moved !== "object" || moved === null) return null;
  const knobs = Object.entries(moved).filter(([name, value]) => KNOB.test(name) && Number.isFinite(value));
  if (!knobs.length) return null;
  const none = { knobs: {}, upto: NOT_YET, marks: new Set(), settled: new Set(), changed: null };
  return { run: String(run), moved: Object.fromEntries(knobs.slice(0, MOST_KNOBS)), ...none };
}
