// @ts-check
// Judge: mined forks, their reviews, and judges held against both.

import { drawWorkshop } from "../workshop.js";

/** @param {HTMLElement} element @param {any} store @param {any} lab @param {string} _name @param {...any} rest */
export function draw(element, store, lab, _name, ...rest) {
  drawWorkshop(element, store, lab, ...rest);
}
