// @ts-check
// Aggregates: how well does it draft, and is it worth it. Tabs of figures for the selected lane, small multiples for
// the others.

import { endSaid } from "./aggregates/acceptance.js";
import { plainNumbers } from "./aggregates/cost.js";
import { FIGURES } from "./aggregates/figures.js";
import { known } from "./aggregates/names.js";
import { TCR_FIGURES } from "./aggregates/tcr.js";
import { captionOf } from "./caption.js";
import { lockedRun, nameOf } from "./columns.js";
import { count, h } from "./dom.js";
import { cut, tip } from "./draw.js";
import { offer } from "./figure.js";
import { roundsOf, siblings } from "./numbers.js";
import { pictureOf } from "./picture.js";
import { noTab } from "./rooms/address.js";
import { roving } from "./roving.js";
import { chorded } from "./typing.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./aggregates/figures.js").Figure} Figure
 * @typedef {{run: Run | null, width: number, room: number}} State
 * @typedef {ReturnType<typeof build>} Parts
 */

/** @type {Figure[]} */
const ALL = [...FIGURES, ...TCR_FIGURES];
const IDS = ALL.map(({ id }) => id);
const LIVE_MS = 250;

/** The elements that are filled anew. */
function build() {
  const body = h("div.v-chart");
  return {
    about: h("span.v-sub"),
    tabs: h("div.v-tabs", { role: "tablist", "aria-label": "Figures" }),
    body,
    settle: roving(body, () => "").settle,
    caption: h("p.v-caption"),
    others: h("div.v-multiples"),
    buttons: ALL.map(({ id, name }) => h("button.v-tab", { type: "button", role: "tab", text: name, "data-tab": id })),
  };
}

/** @param {HTMLElement} element @param {Store} store @param {import("./types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  /** @type {State} */
  const state = { run: null, width: 0, room: 0 };
  const parts = build();
  const { buttons } = parts;
  element.classList.add("v-view", "v-aggregates");
  element.replaceChildren(
    h("header.v-head", {}, h("h3", { text: "How well it drafts" }), parts.about),
    parts.tabs,
    h("div.v-aggbody", {}, h("div", {}, parts.body, parts.caption), parts.others),
  );
  const draw = () => show(store, state, parts, lab?.session.catalogue);
  const drawShown = () => element.closest("[data-stage][hidden]") || draw();
  const later = () => store.frame("aggregates", drawShown);
  const live = () => store.seldom("aggregates", drawShown, LIVE_MS);
  for (const [i, button] of buttons.entries())
    button.addEventListener("click", () => store.setOption("figure", ALL[i].id));
  parts.tabs.append(...buttons);
  parts.tabs.addEventListener("keydown", (event) => {
    const open = buttons.filter((button) => !button.hidden);
    const at = open.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || !by || chorded(event)) return;
    event.preventDefault();
    event.stopPropagation();
    const next = open[(at + by + open.length) % open.length];
    next.focus();
    next.click();
  });
  for (const topic of /** @type {const} */ (["runs", "data", "time"])) store.on(topic, live);
  store.on("filters", later);
  store.on("options", (name) => (name === "stage" || name === "figure") && later());
  const there = () => {
    const none = noTab("figure", store.options.figure, IDS);
    if (none) lab?.ui.notify(none);
  };
  store.on("options", (name) => name === "figure" && there());
  there();
  store.on("cursor", () => lockedRun(store) !== state.run && later());
  const sized = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const name = target === parts.body ? "width" : "room";
      if (state[name] !== contentRect.width) later();
      state[name] = contentRect.width;
    }
  });
  sized.observe(parts.body);
  sized.observe(parts.others);
  offer(element, lab, () => {
    draw();
    return pictureOf(element, captionOf(store, lab));
  });
  later();
}

/** @param {Store} store @param {State} state @param {Parts} parts
 * @param {import("./types/wire.js").Catalogue | null} [catalogue] */
function show(store, state, parts, catalogue) {
  const run = lockedRun(store);
  state.run = run;
  const group = run ? siblings(store, run) : [];
  const rounds = roundsOf(store, group);
  const usable = ALL.filter((figure) => rounds.length && figure.needs(rounds));
  const figure = usable.find((one) => one.id === store.options.figure) ?? usable[0];
  for (const button of parts.buttons) {
    button.hidden = !usable.some((one) => one.id === button.dataset.tab);
    const chosen = figure?.id === button.dataset.tab;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }
  const pooled = group.length > 1 ? ` pooled over ${group.length} runs` : "";
  parts.about.textContent = run ? `${nameOf(store, run)}, ${count(rounds.length, "round")}${pooled}` : "";
  if (!run || !figure) {
    parts.body.replaceChildren(
      h("p.v-empty", { text: run ? "No rounds yet." : "Figures appear here once a run has rounds." }),
    );
    parts.caption.replaceChildren();
    parts.others.replaceChildren();
    return;
  }
  const others = figure.alone
    ? []
    : [...store.runs.values()]
        .filter((one) => !group.includes(one))
        .map((one) => ({ one, list: roundsOf(store, [one]) }))
        .filter(({ list }) => list.length && figure.needs(list));
  const domain = figure.domain(
    [rounds, ...others.map(({ list }) => list)],
    [run, ...others.map(({ one }) => one)].map((one) => plainNumbers(store, one)),
  );
  const width = Math.max(280, state.width || 480);
  const common = { store, run, domain };
  parts.body.replaceChildren(figure.draw({ ...common, rounds, width, height: 236, small: false, title: figure.name }));
  parts.settle();
  parts.caption.replaceChildren(caption(figure, endSaid(domain), catalogue));
  const room = state.room || width;
  const columns = Math.max(1, Math.min(others.length, Math.floor(room / 150)));
  const each = Math.min(230, Math.floor((room - 8 * (columns - 1)) / columns) - 3);
  parts.others.replaceChildren(
    ...others.map(({ one, list }) => {
      const button = h(
        "button.v-multiple",
        { type: "button", "aria-label": `Show ${nameOf(store, one)}` },
        figure.draw({
          ...common,
          run: one,
          rounds: list,
          width: each,
          height: 84,
          small: true,
          title: cut(nameOf(store, one), each / 6.4),
        }),
      );
      button.addEventListener("click", () => store.setCursor({ run: one.key, round: 0, pos: 0 }));
      return button;
    }),
  );
}

/** A figure's caption, with the formulas of its numbers. @param {Figure} figure @param {string} more
 * @param {import("./types/wire.js").Catalogue | null | undefined} catalogue */
function caption(figure, more, catalogue) {
  const words = h("span", { text: figure.caption + more });
  const told = known(catalogue?.names, figure.names);
  if (!told.length) return words;
  const names = h("button.v-names", { type: "button", text: "formula and names" });
  tip(names, () => [
    "Formula, and the name elsewhere",
    ...told.map(({ name, formula, elsewhere }) => `${name} = ${formula}${elsewhere ? `\n    ${elsewhere}` : ""}`),
  ]);
  return h("span", {}, words, " ", names);
}
