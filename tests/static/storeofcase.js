// Recorded runs of a case as the page's store holds them; no browser.

import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

import { addEvent, divergenceOf, makeRun, statsOf } from "../../app/static/run.js";

const FOLDER = new URL("../../presets/traces/", import.meta.url);

/** @param {string} name of a case @returns {any} what of a store the views without DOM ask for */
export function recordedStore(name) {
  const runs = new Map();
  for (const file of readdirSync(FOLDER)
    .filter((one) => one.startsWith(`${name}-`))
    .sort()) {
    const events = gunzipSync(readFileSync(new URL(file, FOLDER)))
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const { method, title, guarantee } = events[0];
    const key = runs.has(method) ? `${method}.2` : method;
    const run = makeRun(key, { name: method, title, guarantee });
    for (const event of events) addEvent(run, event);
    runs.set(key, run);
  }
  return {
    runs,
    lanes: [...runs.keys()],
    stats: (run) => statsOf(run),
    visibleRounds: (run) => run.rounds.length,
    divergence: (a, b) => divergenceOf(runs.get(a), runs.get(b)),
    time: { at: Infinity },
    status: {},
    options: {},
  };
}
