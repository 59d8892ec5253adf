// @ts-check
// The stage: four views of the same runs, one at a time. The choice is an option of the store, and so part of the link.

import { h } from "../dom.js";
import { chorded } from "../typing.js";
import { MANY, VIEWS } from "./views.js";

const FIRST = ".flow, .over, .treegrid .box"; // what has a view's tokens: the skip link leads there

/** @type {import("../types/lab.js").Mount} */
export function mount(element, store, lab) {
  const panes = new Map(
    VIEWS.map(({ id }) => [id, /** @type {HTMLElement} */ (document.querySelector(`[data-stage="${id}"]`))]),
  );
  const views = VIEWS.filter(({ id }) => panes.get(id));
  const tabs = views.map(({ id, name, title }, i) =>
    h(
      "button.tab",
      {
        type: "button",
        role: "tab",
        id: `stage-tab-${id}`,
        "aria-controls": `stage-${id}`,
        title: `${title} (${i + 1})`,
        onclick: () => store.setOption("stage", id),
      },
      h("span.tabname", { "data-name": name }, name),
      h("kbd", { "aria-hidden": "true" }, String(i + 1)),
    ),
  );
  const bar = h("div.tabs", { role: "tablist", "aria-label": "Views of the runs" }, tabs);
  const all = h("button.v-button", {
    type: "button",
    text: "All methods",
    title: "The recorded runs of every method that the pair can run, in one picture",
    onclick: async () => {
      await lab.session.openRecorded("all_methods");
      if (store.status.recorded === "all_methods") store.setOption("stage", "score"); // else it was refused
    },
  });
  element.append(bar, h("span.v-view", {}, all));

  function show() {
    const { stage } = store.options;
    tabs.forEach((tab, i) => {
      const on = views[i].id === stage;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    });
    const left = document.activeElement?.closest(`[data-stage]:not([data-stage="${stage}"])`);
    for (const [id, pane] of panes) if (pane) pane.hidden = id !== stage;
    if (left) document.getElementById("stage")?.focus({ preventScroll: true }); // keys go on, as after another room
    element.closest("[data-lab]")?.setAttribute("data-stage-view", stage);
    all.hidden =
      store.status.recorded === "all_methods" ||
      !lab.session.catalogue?.presets.some((preset) => preset.name === "all_methods" && preset.recorded);
  }

  bar.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || chorded(event)) return;
    event.preventDefault();
    event.stopPropagation();
    const offered = views.filter((_, i) => !tabs[i].classList.contains("leftout")); // embed.js
    const at = offered.findIndex(({ id }) => id === store.options.stage);
    const next = offered[(at + by + offered.length) % offered.length];
    store.setOption("stage", next.id);
    tabs[views.indexOf(next)].focus();
  });
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    const room = document.querySelector(`[data-room="${store.options.room}"]`);
    const open = store.options.room === "compare" ? panes.get(store.options.stage) : room;
    const first = open?.querySelector(FIRST) ?? (open === room ? room : document.querySelector("#stage"));
    if (!(first instanceof HTMLElement)) return;
    event.preventDefault();
    first.focus();
  });
  store.on("options", show);
  store.on("status", show);
  lab.session.on("catalogue", show);
  /** @type {import("../types/store.js").Store["runs"]} */
  let shown = new Map();
  store.on("runs", () => {
    if (store.runs === shown) return show(); // a lane more among the same
    shown = store.runs;
    const many = store.lanes.length > MANY;
    store.setOption("folded", many);
    if (many && store.options.stage === "text") store.setOption("stage", "score");
    show();
  });
  for (const [id, pane] of panes) {
    if (!pane) continue;
    pane.id = `stage-${id}`;
    pane.setAttribute("role", "tabpanel");
    pane.setAttribute("aria-labelledby", `stage-tab-${id}`);
  }
  show();
}
