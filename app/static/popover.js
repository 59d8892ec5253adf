// @ts-check
// One box under an element of the page, at most one at a time: the proof at a guarantee, a word of the glossary.

import { CONTROLS } from "./refocus.js";

const GAP = 6; // px between the element and its box

/** @type {{box: HTMLElement, anchor: Element, over: AbortController} | null} */
let shown = null;

/**
 * Open a box under an element, or close it where it stands there. Escape and a click beside it close it, and so does
 * Tab beyond what it holds: then the keyboard goes on from the element.
 * @param {Element} anchor @param {HTMLElement} box a dialog; `leaves` says of a click in it whether it closes the box
 * @param {(event: MouseEvent) => boolean} leaves
 */
export function togglePopover(anchor, box, leaves) {
  const again = shown?.box.isConnected && shown.anchor === anchor;
  closePopover();
  if (again) return;
  box.classList.add("popover");
  box.tabIndex = -1;
  box.addEventListener("click", (event) => leaves(event) && back());
  box.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") back();
    if (event.key !== "Tab") return;
    const held = [box, ...box.querySelectorAll(CONTROLS)];
    const at = held.indexOf(/** @type {Element} */ (event.target));
    if (event.shiftKey ? at > 1 : at < held.length - 1) return;
    back();
    if (event.shiftKey) event.preventDefault(); // it is at the element now
  });
  (anchor.closest("[data-lab]") ?? document.body).append(box);
  place(box, anchor.getBoundingClientRect());
  const over = new AbortController();
  shown = { box, anchor, over };
  box.focus({ preventScroll: true });
  addEventListener("pointerdown", outside, { signal: over.signal });
  addEventListener("scroll", moved, { passive: true, signal: over.signal });
  /** @param {Event} event */
  function outside(event) {
    const target = event.target instanceof Node ? event.target : null;
    if (!box.contains(target) && !anchor.contains(target)) closePopover();
  }
  /** Close it, and give back the focus: to the stage where the element is gone. */
  function back() {
    closePopover();
    const place = anchor.isConnected ? anchor : document.getElementById("stage");
    if (place instanceof HTMLElement || place instanceof SVGElement) place.focus({ preventScroll: true });
  }
  function moved() {
    if (anchor.isConnected) place(box, anchor.getBoundingClientRect());
  }
}

export function closePopover() {
  shown?.over.abort();
  shown?.box.remove();
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
