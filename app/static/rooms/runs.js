// @ts-check
// Many runs: figures over a folder of traces, recorded here or the visitor's own.

import { drawPooled } from "../pooled.js";

/** @param {HTMLElement} element @param {any} store @param {any} lab */
export function draw(element, store, lab) {
  drawPooled(element, store, lab);
}
