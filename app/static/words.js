// @ts-check
// Words of the page that the glossary explains: each is a button that opens its entry where the word stands.

import { h, said } from "./dom.js";
import { togglePopover } from "./popover.js";

/** The entries of the glossary that the page leads to; a test sees that each is there. */
export const ANCHORS = /** @type {const} */ ([
  "acceptance-probability",
  "acceptance-rate",
  "accepted",
  "bin",
  "bonus",
  "confidence",
  "correction",
  "discarded",
  "distribution",
  "draft-tree",
  "drafted-step",
  "drafter",
  "draw",
  "entropy",
  "importance",
  "knob",
  "margin",
  "meta-path",
  "overlap",
  "rank",
  "rejected",
  "relaxed",
  "residual",
  "reward-model",
  "speedup",
  "target-call",
  "tau",
  "tcr",
  "threshold",
  "veto",
  "window",
]);

/** @typedef {typeof ANCHORS[number]} Anchor */

/** The entries of the states of draft tokens and the origins of tokens. @type {Readonly<Record<string, Anchor>>} */
export const STATES = {
  accepted: "accepted",
  relaxed: "relaxed",
  rejected: "rejected",
  vetoed: "veto",
  discarded: "discarded",
  correction: "correction",
  bonus: "bonus",
  target: "target-call",
};

/** A word that leads to its entry; without one it is plain text. @param {string} text
 * @param {Anchor | null | undefined} anchor @param {import("./types/dom.js").Attributes} [attrs]
 * @returns {HTMLElement | string} */
export const word = (text, anchor, attrs = {}) =>
  anchor ? h("button.word", { type: "button", "data-word": anchor, "aria-haspopup": "dialog", ...attrs }, text) : text;

/** Open the entry of a word that is clicked, or chosen with the keyboard.
 * @param {HTMLElement} page @param {import("./types/store.js").Store} store
 * @param {import("./types/lab.js").Lab} lab */
export function watchWords(page, store, lab) {
  page.addEventListener("click", ({ target }) => {
    const chosen = target instanceof Element ? target.closest("[data-word]") : null;
    if (chosen) open(chosen, store, lab).catch((error) => lab.ui.notify(said(error)));
  });
}

/** @param {Element} chosen @param {import("./types/store.js").Store} store @param {import("./types/lab.js").Lab} lab */
async function open(chosen, store, lab) {
  const anchor = chosen.getAttribute("data-word");
  const [{ entry }, { follow }] = await Promise.all([import("./learn/glossary.js"), import("./learn/places.js")]);
  const { words } = await lab.api.get("glossary");
  const found = words.find((one) => one.anchor === anchor);
  if (!found) throw new Error(`The glossary has no entry ${anchor}.`);
  const box = h("div.wordbox", { role: "dialog", "aria-label": found.term, "data-entry": anchor }, entry(found, store));
  togglePopover(chosen, box, (event) => {
    follow(event, store);
    return event.defaultPrevented;
  });
}
