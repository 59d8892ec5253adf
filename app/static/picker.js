// The list of methods to add: grouped by family, each with its first sentence; what cannot run says why.

import { h } from "./dom.js";

const FAMILIES = { baseline: "Baseline", chain: "Chains", tree: "Trees", lookup: "Lookup", judge: "Judges" };

/** A popover that calls `onpick(card)`. */
export function methodPicker(cards, chosen, full, onpick) {
  const groups = new Map();
  for (const card of cards) groups.set(card.family, [...(groups.get(card.family) ?? []), card]);
  return h(
    "div.picker",
    { role: "menu", "aria-label": "Methods" },
    full ? h("p.quiet", {}, "Six lanes are the most that fit; remove one first.") : null,
    [...groups].map(([family, members]) =>
      h(
        "section",
        {},
        h("h3", {}, FAMILIES[family] ?? family),
        members.map((card) => item(card, chosen.includes(card.name), full, onpick)),
      ),
    ),
  );
}

function item(card, chosen, full, onpick) {
  return h(
    "button.plain",
    { role: "menuitem", disabled: Boolean(card.unavailable) || full, onclick: () => onpick(card) },
    h(
      "span.title",
      {},
      card.title,
      h(`span.badge.${card.guarantee}`, {}, card.guarantee),
      chosen ? h("i", {}, "shown") : null,
    ),
    h("span.help", {}, card.unavailable || firstSentence(card.summary)),
  );
}

const firstSentence = (text) => text.match(/^.*?[.:](?=\s|$)/s)?.[0] ?? text;
