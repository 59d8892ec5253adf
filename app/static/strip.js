// @ts-check
// The strip above the lanes: signs as a legend that filters, switches, and the filters in force.

import { isBoxed, signName, signOf, signText } from "./chips.js";
import { h } from "./dom.js";
import { makeFilter } from "./filters.js";
import { flagged, flagLegend } from "./flags.js";
import { icon } from "./icons.js";

/** Origins of tokens and states of candidates. */
const SIGNS = ["draft", "correction", "bonus", "relaxed", "rejected", "vetoed", "discarded"];
/** @type {["ghosts" | "whitespace" | "flags", string, string][]} */
const TOGGLES = [
  ["ghosts", "Ghosts", "Show rejected draft tokens at their place (g)"],
  ["whitespace", "Blanks", "Show blanks, newlines and tabs (w)"],
  ["flags", "Flags", "Importance above the tokens: what a swap did, what a judge thought"],
];
const GHOSTS = new Set(["rejected", "vetoed", "discarded"]);

/** @type {import("./types/lab.js").Mount} */
export function mount(element, store) {
  const legend = h("div.legend", { role: "group", "aria-label": "Signs; click one to filter" });
  const round = h("span.roundsign", { hidden: true }, "start of a round");
  const key = h("div.keyspot");
  const filters = h("div.filters", { role: "group", "aria-label": "Filters" });
  const toggles = TOGGLES.map(([name, text, title]) => {
    const button = h(
      "button",
      { "aria-pressed": "false", title, onclick: () => store.setOption(name, !store.options[name]) },
      text,
    );
    return { name, button };
  });
  element.append(
    legend,
    round,
    key,
    filters,
    h(
      "div.toggles",
      {},
      toggles.map((item) => item.button),
    ),
  );

  /** @param {string} sign */
  function sample(sign) {
    if (GHOSTS.has(sign)) return h(`span.g.${sign}`, {}, signName(sign));
    return isBoxed(sign)
      ? h(`span.k.${sign}`, {}, h("b", {}, signName(sign)))
      : h(`span.k.${sign}`, {}, signName(sign));
  }

  function draw() {
    const present = new Set([...store.runs.values()].flatMap((run) => [...signsOf(run)]));
    const shown = SIGNS.filter((sign) => present.has(sign) && (store.options.ghosts || !GHOSTS.has(sign)));
    const active = store.filters.get("sign")?.spec?.sign;
    legend.replaceChildren(
      ...shown.map((sign) =>
        h(
          "button.plain",
          {
            "aria-pressed": String(active === sign),
            title: `${signText(sign)}: click to show only these`,
            onclick: () => store.setFilter("sign", active === sign ? null : makeFilter({ kind: "sign", sign })),
          },
          sample(sign),
        ),
      ),
    );
    filters.replaceChildren(
      ...[...store.filters].map(([name, filter]) => {
        const words = filter.spec?.kind === "sign" ? signName(filter.label) : filter.label;
        return h(
          "span.chip",
          {},
          words,
          h(
            "button.plain",
            { "aria-label": `Remove filter ${words}`, onclick: () => store.setFilter(name, null) },
            icon("close"),
          ),
        );
      }),
    );
    round.hidden = !shown.length; // a run without drafts has no such bars
    const flags = [...store.runs.values()].some((run) => flagged(run));
    key.replaceChildren(...(flags && store.options.flags ? [flagLegend(store.runs.values())] : []));
    for (const { name, button } of toggles) {
      button.hidden = name === "flags" && !flags;
      button.setAttribute("aria-pressed", String(store.options[name]));
    }
  }

  const later = () => store.frame("strip", draw);
  for (const topic of /** @type {const} */ (["runs", "filters", "options", "status", "flags"])) store.on(topic, later);
  store.on("data", () => store.seldom("strip", draw, 400));
}

/** @type {WeakMap<import("./types/store.js").Run, {seen: number, signs: Set<string>}>} */
const known = new WeakMap();

/** The signs in a run; only new rounds are read. @param {import("./types/store.js").Run} run */
function signsOf(run) {
  const state = known.get(run) ?? { seen: 0, signs: new Set() };
  known.set(run, state);
  for (; state.seen < run.rounds.length; state.seen += 1) {
    const { tokens, nodes } = run.rounds[state.seen];
    for (const token of tokens) state.signs.add(signOf(token));
    for (const node of nodes) state.signs.add(node.state);
  }
  return state.signs;
}
