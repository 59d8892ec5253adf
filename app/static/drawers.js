// @ts-check
// One drawer at the right, opened by name; Escape or a click beside it closes it and gives the focus back.

import { drawCards } from "./cards.js";
import { h } from "./dom.js";
import { drawHelp } from "./help.js";
import { icon } from "./icons.js";
import { drawNotes } from "./notes.js";
import { drawPooled } from "./pooled.js";
import { drawSave, drawShare } from "./save.js";
import { startTour } from "./tour.js";
import { drawTrajectories } from "./trajectories.js";
import { drawTrees } from "./trees.js";
import { drawWorkshop } from "./workshop.js";

/** @typedef {(body: HTMLElement, store: import("./types/store.js").Store, lab: import("./types/lab.js").Lab, ...rest: any[]) => unknown} Draw */

/**
 * Name: title, what draws it, and "wide" for a room of its own.
 * @type {Record<string, [title: string, draw: Draw, size?: "wide"]>}
 */
const DRAWERS = {
  methods: ["Methods", drawCards],
  notes: ["Case notes", drawNotes],
  save: ["Save", drawSave],
  share: ["Share", drawShare],
  help: ["Keys and reading guide", drawHelp],
  pooled: ["Many runs", drawPooled, "wide"],
  trajectories: ["Trajectories", drawTrajectories, "wide"],
  trees: ["Draft trees", drawTrees, "wide"],
  workshop: ["Judge workshop", drawWorkshop, "wide"],
};

/** @type {import("./types/lab.js").Mount} */
export function mount(element, store, lab) {
  const title = h("h2");
  const body = h("div.drawer-body");
  const dialog = h("dialog.drawer", { "aria-label": "Drawer" });
  const close = () => dialog.close();
  dialog.append(
    h("header", {}, title, h("button.plain", { "aria-label": "Close", onclick: close }, icon("close"))),
    body,
  );
  element.append(dialog);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) close();
  });

  lab.ui.on("open", ({ name, rest }) => {
    if (name === "tour") return void startTour(element, store, lab);
    const [text, draw, size] = DRAWERS[name];
    title.textContent = text;
    dialog.classList.toggle("wide", size === "wide");
    dialog.setAttribute("aria-label", text);
    body.replaceChildren();
    draw(body, store, lab, ...rest);
    if (!dialog.open) dialog.showModal();
    body.scrollTop = 0;
    body.querySelector("[data-first]")?.scrollIntoView({ block: "start" });
  });
  lab.ui.on("close", close);
}
