// @ts-check
// One drawer at the right, opened by name; Escape closes it and gives the focus back, and so does a click beside it. On
// a wide window reviews lie over Details and leave the stage to the mouse: another token may be chosen meanwhile.

import { h } from "./dom.js";
import { drawHelp } from "./help.js";
import { icon } from "./icons.js";
import { drawCaseReview } from "./review/casereview.js";
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

/** What a drawer says of the stage: once this is another, it is drawn anew.
 * @type {Record<string, (store: import("./types/store.js").Store, lab: import("./types/lab.js").Lab) => unknown[]>} */
const TOLD = {
  save: ({ runs }) => [runs, [...runs.values()].filter((run) => run.head).length],
  share: (_store, lab) => [lab.link.url()],
};

const BESIDE = "notes"; // the one that speaks of what is chosen on the stage
const WIDE = 900; // pixels from which on there is a stage left beside it

/** @type {import("./types/lab.js").Mount} */
export function mount(element, store, lab) {
  const title = h("h2");
  const body = h("div.drawer-body", { tabindex: "0", role: "group" }); // its name is not all that it holds
  const dialog = h("dialog.drawer", { "aria-label": "Drawer" });
  const close = () => dialog.close();
  dialog.append(
    h("header", {}, title, h("button.plain", { "aria-label": "Close", onclick: close }, icon("close"))),
    body,
  );
  element.append(dialog);
  const modal = () => dialog.matches(":modal");
  // A rule with :has() would look at every chip of every lane anew whenever one of them grows.
  const tell = () => {
    document.documentElement.toggleAttribute("data-beside", dialog.open && !modal());
    const notices = document.querySelector('[data-view="notices"]');
    if (notices) (modal() ? dialog : element.parentElement)?.append(notices); // a modal one would cover them
  };
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog && modal()) close();
  });
  dialog.addEventListener("close", () => {
    tell();
    const { activeElement } = document;
    const inside = activeElement === document.body || dialog.contains(activeElement);
    if (!dialog.open) body.replaceChildren(); // what is closed keeps nothing up to date
    if (!inside) return;
    document.getElementById("stage")?.focus({ preventScroll: true }); // what had the focus before is there no longer
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || modal()) return; // of a modal one the browser closes it
    event.preventDefault();
    close();
  });
  document.addEventListener(
    "leave",
    (event) => {
      if (!dialog.open) return; // Escape on the stage closes what lies beside it first
      event.preventDefault();
      close();
    },
    true,
  );

  let shown = "";
  /** @type {unknown[]} */
  let told = [];
  /** @param {readonly unknown[]} rest */
  function fill(rest = []) {
    told = TOLD[shown]?.(store, lab) ?? [];
    body.replaceChildren();
    DRAWERS[shown][1](body, store, lab, ...rest);
  }
  /** A run may begin, or Back be pressed, while a drawer is open. */
  const follow = () => {
    if (!dialog.open) return;
    const now = TOLD[shown]?.(store, lab) ?? [];
    if (now.some((part, i) => part !== told[i])) fill();
  };
  const later = () => {
    if (dialog.open && !store.time.playing) store.seldom("drawer", follow);
  };
  for (const topic of /** @type {const} */ (["runs", "data", "cursor", "time", "filters", "options"]))
    store.on(topic, later);
  lab.session.on("ran", later);

  lab.ui.on("open", ({ name, rest }) => {
    if (!(name in DRAWERS)) return;
    const [text] = DRAWERS[name];
    title.textContent = text;
    for (const one of [dialog, body]) one.setAttribute("aria-label", text);
    shown = name;
    fill(rest);
    const beside = name === BESIDE && innerWidth >= WIDE;
    if (dialog.open && modal() === beside) close();
    if (!dialog.open) beside ? dialog.show() : dialog.showModal();
    tell();
    body.scrollTop = 0;
    body.querySelector("[data-first]")?.scrollIntoView({ block: "start" });
  });
  lab.ui.on("close", close);
}
