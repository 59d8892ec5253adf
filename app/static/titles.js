// @ts-check
// What a `title` says, for the keyboard and for touch too: at what has the focus, and where a finger taps or rests.

import { h } from "./dom.js";
import { hideTip, showTip } from "./draw.js";

const REST = 500; // ms that a finger rests on a control
const CONTROLS = "button, a, input, select, summary, textarea";

/** @param {EventTarget | null} target @returns {HTMLElement | null} */
const titled = (target) => (target instanceof Element ? target.closest("[title]:not([title=''])") : null);

/** @param {HTMLElement} element */
function show(element) {
  const box = element.getBoundingClientRect();
  showTip(
    box.left,
    box.bottom - 8,
    element.title.split("\n").map((line) => h("span.told", { text: line })),
  );
}

/** @param {HTMLElement} page */
export function watchTitles(page) {
  /** @type {HTMLElement | null} */
  let shown = null;
  let timer = 0;
  const hide = () => {
    clearTimeout(timer);
    if (shown) hideTip();
    shown = null;
  };
  /** @param {HTMLElement} element */
  const tell = (element) => {
    show(element);
    shown = element;
  };
  const follow = () => {
    if (!shown) return;
    const { top, bottom } = shown.getBoundingClientRect();
    if (bottom > 0 && top < innerHeight) show(shown);
    else hide();
  };
  page.addEventListener("focusin", ({ target }) => {
    hide();
    const element = titled(target);
    if (element && target instanceof Element && target.matches(":focus-visible")) tell(element);
  });
  page.addEventListener("focusout", hide);
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && shown) event.preventDefault(); // and nothing else
    if (event.key === "Escape") hide();
  });
  addEventListener("pointerdown", ({ target, pointerType }) => {
    hide();
    const element = pointerType === "touch" ? titled(target) : null;
    if (!element) return;
    if (element.closest(CONTROLS)) timer = setTimeout(() => tell(element), REST);
    else tell(element);
  });
  addEventListener("scroll", follow, { capture: true, passive: true });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => clearTimeout(timer));
}
