// @ts-check
// Judge: mined forks, their reviews, and judges held against both.

import { drawWorkshop } from "../judge/workshop.js";

/** @type {import("./rooms.js").Draw} */
export function draw(element, store, lab, _name, item) {
  drawWorkshop(element, store, lab, typeof item === "string" ? item : undefined);
}
