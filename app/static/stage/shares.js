// @ts-check
// Shares: small multiples, one a method, on the same axes.

import { endSaid } from "../aggregates/acceptance.js";
import { captionOf } from "../caption.js";
import { nameOf } from "../columns.js";
import { h } from "../dom.js";
import { offer } from "../figure.js";
import { drafted, roundsOf } from "../numbers.js";
import { pictureOf } from "../picture.js";
import { roving } from "../roving.js";
import { sorted } from "./bands.js";
import { SHARES } from "./sharefigures.js";

const HEIGHT = 190;
const MANY = 6; // more methods than this show one figure at a time until somebody asks for all
const IN_ALL =
  "A figure has the same axes for all methods; chosen alone, it tells how it counts. Grey: number of draft tokens; " +
  "hollow: fewer than 5.";
const ALL_ROUNDS = " A filter dims tokens in the other views; these figures count all rounds.";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/trace.js").Round} Round
 */

/** @type {import("../types/lab.js").Mount} */
export function mount(element, store, lab) {
  /** @type {string|null} */
  let chosen = null;
  let width = 0;
  const tabs = [{ id: "all", name: "All" }, ...SHARES].map(({ id, name }) =>
    h("button.v-tab", { type: "button", "data-share": id, "aria-pressed": "false", onclick: () => choose(id) }, name),
  );
  const caption = h("p.v-caption");
  const grid = h("div.grid");
  const { settle } = roving(grid, (mark) => mark.closest("[data-run]")?.getAttribute("data-run") ?? "");
  element.classList.add("v-view", "shares");
  element.replaceChildren(
    h(
      "header.v-head",
      {},
      h("h3", { text: "Shares" }),
      h("span.v-tabs", { role: "group", "aria-label": "Figures" }, tabs),
    ),
    caption,
    grid,
  );

  function choose(/** @type {string} */ id) {
    chosen = id;
    later();
  }

  const active = () => store.options.stage === "shares";

  function draw() {
    if (!active()) return;
    const runs = sorted(store, store.options.sort).flatMap((key) => store.runs.get(key) ?? []);
    const which = chosen ?? (runs.length > MANY ? SHARES[0].id : "all");
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.share === which));
    const figures = which === "all" ? SHARES : SHARES.filter(({ id }) => id === which);
    /** Whether it has drafted, or may yet. @param {{run: Run, rounds: readonly Round[]}} row */
    const drafts = ({ run, rounds }) => drafted(rounds) || (!run.end && run.card.drafter !== "none");
    const rows = runs.map((run) => ({ run, rounds: roundsOf(store, [run]) }));
    const room = width || 900;
    const fit = Math.max(1, Math.floor((room + 12) / (which === "all" ? 272 : 312)));
    const columns = which === "all" ? Math.ceil(SHARES.length / Math.ceil(SHARES.length / fit)) : fit;
    const each = Math.floor((room - 12 * (columns - 1)) / columns) - 18;
    const domains = new Map(
      figures.map((figure) => [
        figure.id,
        figure.domain(rows.filter(({ rounds }) => rounds.length && figure.needs(rounds)).map(({ rounds }) => rounds)),
      ]),
    );
    const ends = [...domains.values()].map(endSaid).find(Boolean) ?? "";
    const filtered = store.filters.size ? ALL_ROUNDS : "";
    caption.textContent = (figures.length === 1 ? figures[0].caption : IN_ALL) + ends + filtered;
    grid.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    /** @param {{run: Run, rounds: Round[]}} row @param {import("./sharefigures.js").Share} figure */
    const cell = ({ run, rounds }, figure) => {
      const title = which === "all" ? figure.name : nameOf(store, run);
      const drawn = rounds.length > 0 && figure.needs(rounds);
      const domain = domains.get(figure.id) ?? {};
      const said = drawn && figure.says?.(rounds, domain);
      return h(
        "figure.share",
        { "data-run": run.key, "data-figure": figure.id },
        h("figcaption", {}, h("b", {}, title), h("span.v-sub", {}, drawn ? figure.of(rounds) : "")),
        drawn
          ? figure.draw({
              rounds,
              width: each,
              height: HEIGHT,
              small: false,
              title: `${nameOf(store, run)}: ${figure.name}`,
              domain,
              store,
              run,
            })
          : h("p.v-empty", { text: figure.none, style: `min-height: ${HEIGHT}px` }), // what comes moves nothing
        said && which !== "all" ? h("p.says", { text: said }) : null,
      );
    };
    grid.replaceChildren(
      ...(which === "all"
        ? rows.flatMap((row) => [
            h(
              "h4.method",
              { "data-run": row.run.key },
              nameOf(store, row.run),
              drafts(row) ? null : h("span.v-sub", {}, " No draft tokens: only its time is shown."),
            ),
            ...(drafts(row) ? figures : figures.filter(({ id }) => id === "time")).map((figure) => cell(row, figure)),
          ])
        : rows.map((row) => cell(row, figures[0]))),
    );
    settle();
  }

  const later = () => store.frame("shares", draw);
  for (const topic of /** @type {const} */ (["runs", "time", "filters", "options"])) store.on(topic, later);
  store.on("data", () => store.seldom("shares", draw, 400));
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now && now !== width) later();
    width = now || width;
  }).observe(grid);
  offer(element, lab, () => (store.lanes.length ? pictureOf(element, captionOf(store, lab)) : null));
  later();
}
