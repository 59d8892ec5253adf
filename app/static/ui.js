// @ts-check
// What views ask of each other and of the page, without knowing who answers: notices, drawers, steps in time, figures.

import { h } from "./dom.js";
import { createEmitter } from "./emitter.js";
import { icon } from "./icons.js";

/** @typedef {import("./types/lab.js").Ui} Ui */

/**
 * @param {() => Element | null} spot where notices appear
 * @returns {Ui}
 */
export function createUi(spot) {
  /** @type {import("./types/store.js").Emitter<import("./types/lab.js").UiTopics>} */
  const { on, emit } = createEmitter();
  return {
    on,
    emit,
    figures: new Map(),
    notify(text, { passes = false } = {}) {
      if (spot()?.lastElementChild?.firstElementChild?.textContent === text) return; // it stands there
      const notice = h("p.notice", {}, h("span", {}, text));
      notice.append(h("button.plain", { "aria-label": "Dismiss", onclick: () => notice.remove() }, icon("close")));
      spot()?.append(notice);
      if (passes) untilNext(notice);
    },
    clearNotices: () => spot()?.replaceChildren(),
    open: (name, ...rest) => emit("open", { name, rest }),
    close: () => emit("close"),
  };
}

/** Take a notice away with the next key or touch elsewhere. @param {Element} notice */
function untilNext(notice) {
  const over = new AbortController();
  const leave = (/** @type {Event} */ { target }) => {
    if (target instanceof Node && notice.contains(target)) return;
    notice.remove();
    over.abort();
  };
  for (const type of ["keydown", "pointerdown"]) addEventListener(type, leave, { capture: true, signal: over.signal });
}
