// @ts-check
// Many runs: figures over a folder of traces, recorded here or the visitor's own.

import { drawPooled } from "../pooled/pooled.js";

/** @type {import("./rooms.js").Draw} */
export function draw(element, store, lab) {
  drawPooled(element, store, lab);
}
