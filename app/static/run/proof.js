// @ts-check
// The popover at a guarantee: the class, why, and what this very run shows of it (engine/analysis/proof.py).

import { nameOf } from "../columns.js";
import { h } from "../dom.js";
import { rich } from "../draw.js";
import { addressOf, follow } from "../learn/places.js";
import { guaranteeOf } from "./guarantee.js";
import { madeWith } from "./made.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 */

const GAP = 6; // px between the badge and its popover

/** @type {HTMLElement | null} */
let shown = null;

/** Open it under a badge, or close it there. @param {Element} anchor @param {Store} store @param {Run} run */
export function toggleProof(anchor, store, run) {
  const again = shown?.isConnected && shown.dataset.run === run.key;
  closeProof();
  if (again) return;
  const element = h(
    "div.proof",
    { role: "dialog", "aria-label": `Guarantee of ${nameOf(store, run)}`, tabindex: "-1", "data-run": run.key },
    proofLines(store, run),
  );
  element.addEventListener("click", (event) => {
    follow(event, store);
    if (event.defaultPrevented || (event.target instanceof Element && event.target.closest("button"))) closeProof();
  });
  element.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    closeProof();
    if (anchor instanceof HTMLElement) anchor.focus();
  });
  (anchor.closest("[data-lab]") ?? document.body).append(element);
  place(element, anchor.getBoundingClientRect());
  shown = element;
  element.focus({ preventScroll: true });
  addEventListener("pointerdown", outside);
  addEventListener("scroll", moved, { passive: true });
  /** @param {Event} event */
  function outside(event) {
    const target = event.target instanceof Node ? event.target : null;
    if (!element.isConnected) removeEventListener("pointerdown", outside);
    else if (!element.contains(target) && !anchor.contains(target)) closeProof();
  }
  function moved() {
    if (element.isConnected) place(element, anchor.getBoundingClientRect());
    else removeEventListener("scroll", moved);
  }
}

export function closeProof() {
  shown?.remove();
  shown = null;
}

/** @param {HTMLElement} element @param {DOMRect} at */
function place(element, at) {
  const { offsetWidth: width, offsetHeight: height } = element;
  const { clientWidth, clientHeight } = document.documentElement;
  const left = Math.max(8, Math.min(at.left, clientWidth - width - 8));
  const below = at.bottom + GAP + height <= clientHeight || at.top < height + GAP;
  element.style.left = `${left}px`;
  element.style.top = `${Math.max(8, below ? at.bottom + GAP : at.top - GAP - height)}px`;
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
