// @ts-check
// Papers: every table and figure of the five papers beside what came of it here.

import { drawPapers } from "../papers.js";

/** @type {import("./rooms.js").Draw} */
export function draw(element, store, lab) {
  drawPapers(element, store, lab);
}
