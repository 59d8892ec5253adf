// @ts-check
// Method cards: what it does, the formula, where it helps, where it hurts, what is contested, the paper.

import { h } from "./dom.js";

/**
 * @typedef {import("./types/wire.js").PageCard} PageCard
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").Lab} Lab
 */

const INTRO = "A method is three answers: what drafts (drafter), how much (shape), and what counts as right (rule).";
const TRIPLE = /** @type {const} */ (["drafter", "shape", "rule"]);
/** @type {["Helps" | "Hurts" | "Contested", "helps" | "hurts" | "contested"][]} */
const PARTS = [
  ["Helps", "helps"],
  ["Hurts", "hurts"],
  ["Contested", "contested"],
];

/** @param {HTMLElement} body @param {Store} store @param {Lab} lab @param {string} [first] the method to scroll to */
export function drawCards(body, store, lab, first) {
  const shown = new Set([...store.runs.values()].map((run) => run.card.name));
  const cards = [...(lab.session.catalogue?.methods ?? [])];
  cards.sort((a, b) => Number(shown.has(b.name)) - Number(shown.has(a.name)));
  const articles = cards.map((card) => drawCard(card, shown.has(card.name), lab, card.name === first));
  body.append(h("p.quiet", {}, INTRO), ...articles);
}

/** @param {PageCard} card @param {boolean} shown @param {Lab} lab @param {boolean} first */
function drawCard(card, shown, { session, ui }, first) {
  const lanes = session.config?.lanes ?? [];
  const full = lanes.length >= (session.catalogue?.limits.lanes ?? 0);
  const add = () => {
    session.configure({ lanes: [...lanes, { method: card.name, knobs: {} }] });
    ui.close();
  };
  return h(
    "article.card",
    { "data-first": first },
    h(
      "header",
      {},
      h("h3", {}, card.title),
      h(`span.badge.${card.guarantee}`, {}, card.guarantee),
      shown
        ? h("i.quiet", {}, "on the page")
        : h("button", { onclick: add, disabled: Boolean(card.unavailable) || full }, "Add"),
    ),
    h("p", {}, card.summary),
    card.unavailable ? h("p.warn", {}, card.unavailable) : null,
    h(
      "p.triple",
      {},
      TRIPLE.map((part) => h("span", {}, h("i", {}, part), card[part])),
    ),
    card.formula ? h("pre.formula", {}, card.formula) : null,
    h(
      "dl",
      {},
      PARTS.filter(([, name]) => card[name]).map(([label, name]) =>
        h("div", {}, h("dt", {}, label), h("dd", {}, card[name])),
      ),
    ),
    card.paper ? h("p.paper", {}, card.paper) : null,
  );
}
