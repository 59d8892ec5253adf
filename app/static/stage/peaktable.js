// @ts-check
// Where each number of a method was highest: the score's tracks as a table, each place a way to it.

import { columnSelection, columns, nameOf } from "../columns.js";
import { h } from "../dom.js";
import { importance, nats } from "../draw.js";
import { overlapN, overlapWords } from "../thresholds.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../columns.js").Column} Column
 * @typedef {{name: string, read: (column: Column) => number | null | undefined,
 *   say: (value: number, run: Run) => string}} Signal
 */

const NAMED = 3; // places of a tie that are named

/** @type {readonly Signal[]} */
const SIGNALS = [
  {
    name: "Entropy of the draft, nats",
    read: ({ token, node }) => token.h_draft ?? node?.h_draft,
    say: nats,
  },
  {
    name: "Entropy of the target, nats",
    read: ({ token, node }) => token.h_target ?? node?.h_target,
    say: nats,
  },
  {
    name: "Top-n overlap",
    read: ({ node }) => node?.overlap,
    say: (value, run) => overlapWords(value, overlapN(run)),
  },
  { name: "Importance by the judge", read: ({ node }) => node?.judge, say: importance },
];

/** The highest value of a run and the columns that have it; null where nothing was recorded.
 * @param {readonly Column[]} list @param {Signal["read"]} read @returns {{value: number, at: Column[]} | null} */
export function peakOf(list, read) {
  /** @type {{value: number, at: Column[]} | null} */
  let best = null;
  for (const column of list) {
    const value = read(column);
    if (value === null || value === undefined || (best && value < best.value)) continue;
    if (best && value === best.value) best.at.push(column);
    else best = { value, at: [column] };
  }
  return best;
}

/** The table, and the button that opens it. @param {import("../types/store.js").Store} store
 * @param {() => readonly string[]} order */
export function peakTable(store, order) {
  const head = h("tr");
  const body = h("tbody");
  const element = h(
    "section.position.peaks",
    { id: "peaks", "aria-label": "Where each signal was highest", hidden: true },
    h("table", {}, h("thead", {}, head), body),
  );
  const button = h(
    "button.v-button",
    {
      type: "button",
      title: "Where each signal of each method was highest",
      "aria-expanded": "false",
      "aria-controls": "peaks",
      onclick: () => {
        element.hidden = !element.hidden;
        button.setAttribute("aria-expanded", String(!element.hidden));
        update();
      },
    },
    "Highest values",
  );

  function update() {
    if (element.hidden) return;
    const runs = order().flatMap((key) => store.runs.get(key) ?? []);
    const found = runs.map((run) => SIGNALS.map(({ read }) => peakOf(columns(run), read)));
    const shown = SIGNALS.filter((_, i) => found.some((peaks) => peaks[i]));
    head.replaceChildren(
      ...["Method", ...shown.map(({ name }) => name)].map((name) => h("th", { scope: "col" }, name)),
    );
    body.replaceChildren(
      ...runs.map((run, r) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, nameOf(store, run)),
          shown.map((signal) => cell(run, signal, found[r][SIGNALS.indexOf(signal)])),
        ),
      ),
    );
  }

  /** @param {Run} run @param {Signal} signal @param {ReturnType<typeof peakOf>} peak */
  function cell(run, signal, peak) {
    if (!peak) return h("td", {}, "–");
    const places = peak.at.slice(0, NAMED).map((column) =>
      h(
        "button.link",
        {
          type: "button",
          "aria-label": `${nameOf(store, run)}: go to position ${column.pos}`,
          onclick: () => store.setCursor(columnSelection(run, column)),
        },
        String(column.pos),
      ),
    );
    const more = peak.at.length - places.length;
    return h(
      "td",
      {},
      `${signal.say(peak.value, run)} at `,
      ...places.flatMap((place, i) => (i ? [" ", place] : [place])), // the comma is the style's
      more > 0 ? ` and ${more} more` : "",
    );
  }

  for (const topic of /** @type {const} */ (["runs", "status", "options"]))
    store.on(topic, () => store.frame("peaks", update));
  store.on("data", () => store.seldom("peaks", update, 500));
  return { element, button };
}
