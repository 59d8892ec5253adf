// @ts-check
// The aggregate figures: each draws a lane's rounds at a size, alone or as one of the small multiples on the same
// scales.

import { entropy, histogram, position, probability } from "./acceptance.js";
import { lengths, time } from "./cost.js";

/**
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {import("../numbers.js").Summary} Summary
 * @typedef {Readonly<Record<string, number>>} Domain ends of the axes, which several lanes share
 *
 * @typedef {object} Given
 * @property {readonly Round[]} rounds
 * @property {number} width
 * @property {number} height
 * @property {boolean} small one of the multiples
 * @property {string} title
 * @property {Domain} domain
 * @property {import("../types/store.js").Store} store
 * @property {import("../types/store.js").Run} run
 *
 * @typedef {object} Figure
 * @property {string} id
 * @property {string} name
 * @property {readonly string[]} names of the numbers in it
 * @property {string} caption
 * @property {boolean} [alone] it shows all lanes itself
 * @property {(rounds: readonly Round[]) => boolean} needs
 * @property {(all: (readonly Round[])[], plains?: readonly (Summary | null)[]) => Domain} domain
 *   `plains`: what each is set against
 * @property {(given: Given) => SVGSVGElement} draw
 */

/** @type {readonly Figure[]} */
export const FIGURES = [position, histogram, entropy, probability, time, lengths];
