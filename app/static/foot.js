// @ts-check
// What the numbers mean, in one line.

import { h } from "./dom.js";

const WORDS = [
  "Lanes of a live run take turns, one round each, never two at once. A lane's clock runs only during its own",
  "rounds, without the prefill and without drawing. Entropies are in nats over the full vocabulary. A recorded run",
  "needs no model.",
];

/** @param {HTMLElement} element */
export function mount(element) {
  element.append(h("p", {}, WORDS.join(" ")));
}
