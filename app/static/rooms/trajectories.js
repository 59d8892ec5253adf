// @ts-check
// Trajectories: several answers to one problem, and the static trees that such counts prune.

import { h } from "../dom.js";
import { drawTrajectories } from "../trajectories/trajectories.js";
import { drawTrees } from "../trajectories/trees.js";
import { chorded } from "../typing.js";
import { noTab } from "./address.js";

const TABS = [
  { id: "trajectories", name: "Answers to one problem", draw: drawTrajectories },
  { id: "trees", name: "Static trees", draw: drawTrees },
];

/** @type {import("./rooms.js").Draw} */
export function draw(element, store, lab, name) {
  const panel = h("div", { role: "tabpanel", "aria-labelledby": `room-${TABS[0].id}` });
  const tabs = TABS.map((tab) =>
    h(
      "button.tab",
      { type: "button", role: "tab", id: `room-${tab.id}`, onclick: () => store.setOption("trajectories", tab.id) },
      h("span.tabname", { "data-name": tab.name }, tab.name),
    ),
  );
  const bar = h("div.tabs", { role: "tablist", "aria-label": "In this room" }, tabs);
  /** @type {typeof TABS[number] | null} */
  let shown = null;
  function open() {
    const chosen = TABS.find(({ id }) => id === store.options.trajectories) ?? TABS[0];
    if (chosen === shown) return;
    shown = chosen;
    TABS.forEach((tab, i) => {
      tabs[i].setAttribute("aria-selected", String(tab === chosen));
      tabs[i].tabIndex = tab === chosen ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", `room-${chosen.id}`);
    panel.dispatchEvent(new Event("close"));
    panel.replaceChildren();
    chosen.draw(panel, store, lab);
  }
  bar.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (chorded(event) || (event.key !== "ArrowRight" && event.key !== "ArrowLeft")) return;
    const at = tabs.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const next = (at + (event.key === "ArrowRight" ? 1 : -1) + tabs.length) % tabs.length;
    store.setOption("trajectories", TABS[next].id);
    tabs[next].focus();
    event.preventDefault();
  });
  element.append(bar, panel);
  const none = noTab(
    "trajectories",
    store.options.trajectories,
    TABS.map(({ id }) => id),
  );
  if (none) lab.ui.notify(none);
  if (TABS.some(({ id }) => id === name)) store.setOption("trajectories", name);
  open();
  const off = store.on("options", (option) => {
    if (option === "trajectories") open();
  });
  element.addEventListener("close", off, { once: true });
}
