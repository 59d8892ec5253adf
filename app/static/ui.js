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
    notify(text) {
      if (spot()?.lastElementChild?.firstElementChild?.textContent === text) return; // it stands there
      const notice = h("p.notice", {}, h("span", {}, text));
      notice.append(h("button.plain", { "aria-label": "Dismiss", onclick: () => notice.remove() }, icon("close")));
      spot()?.append(notice);
    },
    clearNotices: () => spot()?.replaceChildren(),
    open: (name, ...rest) => emit("open", { name, rest }),
    close: () => emit("close"),
  };
}
