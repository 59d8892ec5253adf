// Recorded runs and conformance vectors for the unit tests of the page's modules.

import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { addEvent, makeRun } from "../../app/static/run.js";

const root = new URL("../../", import.meta.url);

/** A run of presets/traces as the page holds it; a `*` stands for a lane's number. @param {string} name */
export function recordedRun(name) {
  if (name.includes("*")) {
    const [head, tail] = name.split("*");
    const files = readdirSync(new URL("presets/traces/", root)).map((file) => file.replace(".jsonl.gz", ""));
    return recordedRun(files.find((file) => file.startsWith(head) && file.endsWith(tail)) ?? name.replace("*", "?"));
  }
  const text = gunzipSync(readFileSync(new URL(`presets/traces/${name}.jsonl.gz`, root))).toString("utf8");
  const run = makeRun(name, { title: name });
  for (const line of text.trim().split("\n")) addEvent(run, JSON.parse(line));
  return run;
}

/** The vectors of a subject (python -m tests.vectors write). @param {string} subject */
export function vectorsOf(subject) {
  const found = JSON.parse(readFileSync(new URL(`tests/vectors/${subject}.json`, root), "utf8"));
  if (!found.cases.length) throw new Error(`${subject} has no case`);
  return found;
}

/** Whether two numbers are the same up to the digits that the vectors keep. @param {number|null} a @param {number|null} b */
export const alike = (a, b) =>
  a === b || (a != null && b != null && Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)));
