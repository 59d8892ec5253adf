// @ts-check
// Learn: lessons, the gallery of cases, the glossary, and a page for every method.

import { h, said } from "../dom.js";
import { drawGallery } from "../learn/gallery.js";
import { drawGlossary } from "../learn/glossary.js";
import { drawLessons } from "../learn/lessons.js";
import { drawMethods } from "../learn/methods.js";
import { addressOf, follow, go, TABS as PLACES } from "../learn/places.js";
import { carries } from "../packed.js";

/** @typedef {import("../types/store.js").Store} Store */
/** @typedef {(element: HTMLElement, store: Store, lab: import("../types/lab.js").Lab) => Promise<void>} Draw */

/** With the answer that each needs: a page that does not carry it has no such tab.
 * @type {readonly {id: typeof PLACES[number], name: string, draw: Draw, needs: string}[]} */
const TABS = [
  { id: "lessons", name: "Lessons", draw: drawLessons, needs: "lessons" },
  { id: "gallery", name: "Gallery of cases", draw: drawGallery, needs: "gallery" },
  { id: "glossary", name: "Glossary", draw: drawGlossary, needs: "glossary" },
  { id: "methods", name: "Methods", draw: drawMethods, needs: "pages" },
];

/** @type {import("./rooms.js").Draw} */
export function draw(element, store, lab, name, first) {
  if (name === "methods") go(store, "methods", typeof first === "string" ? first : "");
  const panel = h("div.learn-panel", { tabindex: "-1" });
  const tabs = TABS.filter(({ needs }) => carries(needs));
  const links = tabs.map(({ id, name: title }) =>
    h("a.tab", { href: addressOf(id) }, h("span.tabname", { "data-name": title }, title)),
  );
  element.append(h("nav.tabs", { "aria-label": "In this room" }, links), panel);
  let drawn = "";

  async function show() {
    const { tab, name: open, room } = store.options;
    if (room !== "learn" || drawn === `${tab}/${open}`) return;
    drawn = `${tab}/${open}`;
    const chosen = tabs.find(({ id }) => id === tab) ?? tabs[0];
    links.forEach((link, i) => {
      if (tabs[i] === chosen) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
    const waiting = h("p.quiet", {}, "Loading");
    const body = h("div");
    const followed = panel.contains(document.activeElement);
    panel.replaceChildren(waiting, body);
    if (followed) panel.focus({ preventScroll: true }); // the link is gone, and keys go on from what it led to
    try {
      await chosen.draw(body, store, lab);
    } catch (error) {
      if (!body.isConnected) return; // something else is shown by now
      drawn = "";
      const again = h("button", { type: "button", onclick: show }, "Try again");
      body.replaceChildren(h("p.row", { role: "alert" }, said(error), again));
    } finally {
      waiting.remove();
    }
  }
  const off = store.on("options", (option) => {
    if (option === "tab" || option === "name") queueMicrotask(show);
  });
  /** @param {Event} event */
  const click = (event) => follow(/** @type {MouseEvent} */ (event), store);
  element.addEventListener("click", click);
  element.addEventListener(
    "close",
    () => {
      off();
      element.removeEventListener("click", click);
    },
    { once: true },
  );
  show();
}
