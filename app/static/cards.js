// Method cards: what it does, the formula, where it helps, where it hurts, what is contested, the paper.

import { h } from "./dom.js";

const PARTS = [
  ["Helps", "helps"],
  ["Hurts", "hurts"],
  ["Contested", "contested"],
];

export function drawCards(body, store, lab, first) {
  const cards = [...(lab.session.catalogue?.methods ?? [])];
  const shown = new Set([...store.runs.values()].map((run) => run.card.name));
  cards.sort((a, b) => shown.has(b.name) - shown.has(a.name));
  body.append(
    h(
      "p.quiet",
      {},
      "A method is three answers: who guesses (drafter), how much (shape), and what counts as right (rule).",
    ),
    ...cards.map((card) => drawCard(card, store, lab, card.name === first)),
  );
}

function drawCard(card, store, lab, first) {
  const run = [...store.runs.values()].find((item) => item.card.name === card.name);
  const { session, ui } = lab;
  const { lanes } = session.config;
  const full = lanes.length >= session.catalogue.limits.lanes;
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
      run
        ? h("i.quiet", {}, "on the page")
        : h("button", { onclick: add, disabled: Boolean(card.unavailable) || full }, "Add"),
    ),
    h("p", {}, card.summary),
    card.unavailable ? h("p.warn", {}, card.unavailable) : null,
    h(
      "p.triple",
      {},
      ["drafter", "shape", "rule"].map((part) => h("span", {}, h("i", {}, part), String(card[part] ?? "–"))),
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
