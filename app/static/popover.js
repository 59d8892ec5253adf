// @ts-check
// One box under an element of the page, at most one at a time: the proof at a guarantee, a word of the glossary.

const GAP = 6; // px between the element and its box

/** @type {{box: HTMLElement, anchor: Element, over: AbortController} | null} */
let shown = null;

/**
 * Open a box under an element, or close it where it stands there. Escape and a click beside it close it.
 * @param {Element} anchor @param {HTMLElement} box a dialog; `leaves` says of a click in it whether it closes the box
 * @param {(event: MouseEvent) => boolean} leaves
 */
export function togglePopover(anchor, box, leaves) {
  const again = shown?.box.isConnected && shown.anchor === anchor;
  closePopover();
  if (again) return;
  box.classList.add("popover");
  box.tabIndex = -1;
  box.addEventListener("click", (event) => leaves(event) && closePopover());
  box.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    closePopover();
    if (anchor instanceof HTMLElement) anchor.focus();
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
