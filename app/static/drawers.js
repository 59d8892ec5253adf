// @ts-check
// One drawer at the right, opened by name; Escape or a click beside it closes it and gives the focus back.

import { drawCaseReview } from "./casereview.js";
import { h } from "./dom.js";
import { drawHelp } from "./help.js";
import { icon } from "./icons.js";
import { drawSave, drawShare } from "./save.js";

/** @typedef {(body: HTMLElement, store: import("./types/store.js").Store, lab: import("./types/lab.js").Lab,
 *   ...rest: unknown[]) => unknown} Draw */

/** Name: title, and what draws it. @type {Record<string, [title: string, draw: Draw]>} */
const DRAWERS = {
  notes: ["Case review", drawCaseReview],
  save: ["Save", drawSave],
  share: ["Share", drawShare],
  help: ["Keys and reading guide", drawHelp],
};

/** @type {import("./types/lab.js").Mount} */
export function mount(element, store, lab) {
  const title = h("h2");
  const body = h("div.drawer-body", { tabindex: "0" });
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
    if (!(name in DRAWERS)) return;
    const [text, draw] = DRAWERS[name];
    title.textContent = text;
    dialog.setAttribute("aria-label", text);
    body.replaceChildren();
    draw(body, store, lab, ...rest);
    if (!dialog.open) dialog.showModal();
    body.scrollTop = 0;
    body.querySelector("[data-first]")?.scrollIntoView({ block: "start" });
  });
  lab.ui.on("close", close);
}
