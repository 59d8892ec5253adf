// @ts-check
// The popover at a guarantee: the class, why, and what this very run shows of it (engine/analysis/proof.py).

import { nameOf } from "../columns.js";
import { h } from "../dom.js";
import { rich } from "../draw.js";
import { addressOf, follow } from "../learn/places.js";
import { togglePopover } from "../popover.js";
import { guaranteeOf } from "./guarantee.js";
import { madeWith } from "./made.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 */

/** Open it under a badge, or close it there. @param {Element} anchor @param {Store} store @param {Run} run */
export function toggleProof(anchor, store, run) {
  const box = h(
    "div.proof",
    { role: "dialog", "aria-label": `Guarantee of ${nameOf(store, run)}`, "data-run": run.key },
    proofLines(store, run),
  );
  togglePopover(anchor, box, (event) => {
    follow(event, store);
    return event.defaultPrevented || Boolean(event.target instanceof Element && event.target.closest("button"));
  });
}

/** @param {Store} store @param {Run} run @returns {HTMLElement[]} */
export function proofLines(store, run) {
  const { title, words, rounding } = guaranteeOf(run);
  const proof = store.status.compared?.proofs[run.key];
  const page = (/** @type {string} */ name, /** @type {string} */ text) =>
    h("a", { href: addressOf("methods", name) }, text);
  const there = proof?.pos ?? null;
  const go = () => store.setCursor({ run: run.key, pos: there });
  return [
    h("h3", {}, title),
    h("p", {}, words),
    ...(rounding ? [h("p", {}, rounding)] : []),
    h("h4", {}, "This run"),
    h("p", {}, ...rich(proof ? proof.text : "Checked when every lane has ended.")),
    ...(there === null ? [] : [h("button", { type: "button", onclick: go }, `Go to position ${there}`)]),
    ...(proof ? [h("p", {}, ...rich(proof.decisions))] : []),
    ...(run.head ? [h("h4", {}, "Made with"), ...madeWith(run.head).map((text) => h("p", {}, text))] : []),
    h("h4", {}, "How exactness is shown"),
    h(
      "p",
      {},
      "A test enumerates every way in which the exact rules can accept and reject, and compares what comes out with " +
        "the target's distribution (",
      page("kernels", "proofs"),
      "); others compare greedy texts and plant faults that must be noticed (",
      page("checks", "checks"),
      ").",
    ),
    h("p", {}, page(run.card.name, `More about ${run.card.title}`)),
  ];
}
