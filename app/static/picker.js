// @ts-check
// The list of methods to add: grouped by family, each with its first sentence; what cannot run says why.

import { h } from "./dom.js";

/**
 * @typedef {import("./types/wire.js").PageCard} PageCard
 * @typedef {(card: PageCard) => void} Pick
 */

/** @type {Record<string, string>} */
const FAMILIES = { baseline: "Baseline", chain: "Chains", tree: "Trees", lookup: "Lookup", judge: "Judges" };

/**
 * A popover that calls `onpick(card)`.
 * @param {readonly PageCard[]} cards
 * @param {readonly string[]} chosen names of methods on the page
 * @param {boolean} full no lane is free
 * @param {Pick} onpick
 */
export function methodPicker(cards, chosen, full, onpick) {
  const families = [...new Set(cards.map((card) => card.family))];
  /** @param {string} family */
  const members = (family) => cards.filter((card) => card.family === family);
  return h(
    "div.picker",
    { role: "menu", "aria-label": "Methods" },
    full ? h("p.quiet", {}, "No more lanes fit side by side; remove one first.") : null,
    families.map((family) =>
      h(
        "section",
        {},
        h("h3", {}, FAMILIES[family] ?? family),
        members(family).map((card) => item(card, chosen.includes(card.name), full, onpick)),
      ),
    ),
  );
}

/** @param {PageCard} card @param {boolean} chosen @param {boolean} full @param {Pick} onpick */
function item(card, chosen, full, onpick) {
  const badge = h(`span.badge.${card.guarantee}`, {}, card.guarantee);
  return h(
    "button.plain",
    { role: "menuitem", disabled: Boolean(card.unavailable) || full, onclick: () => onpick(card) },
    h("span.title", {}, card.title, badge, chosen ? h("i", {}, "shown") : null),
    h("span.help", {}, card.unavailable || firstSentence(card.summary)),
  );
}

/** @param {string} text */
const firstSentence = (text) => text.match(/^.*?[.:](?=\s|$)/s)?.[0] ?? text;
