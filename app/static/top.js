// @ts-check
// The head of the page: name and the ways to everything that is not a lane.

import { h } from "./dom.js";
import { icon, mark } from "./icons.js";

/** Rooms beside the page: words, drawer, what is to be seen there. */
/** @type {[text: string, drawer: string, title: string][]} */
const MORE = [
  ["Many runs", "pooled", "Methods over many prompts: ranks, entropy, what each mechanism saves"],
  ["Trajectories", "trajectories", "Several answers to one problem, each drafted from those before"],
  ["Judge workshop", "workshop", "Which candidates change the answer: mined, judged, reviewed"],
  ["Draft trees", "trees", "Which nodes of a large tree earn their place"],
];

/** @typedef {import("./types/lab.js").Lab} Lab */

/** @type {import("./types/lab.js").Mount} */
export function mount(element, _store, lab) {
  const { session, ui } = lab;
  const file = h("input", {
    type: "file",
    accept: ".jsonl,.gz,.json",
    multiple: true,
    hidden: true,
    "aria-label": "Open a saved trace",
    onchange() {
      session.openFiles([...(file.files ?? [])]);
      file.value = "";
    },
  });
  /** @param {string} text @param {string} name @param {string} title */
  const opener = (text, name, title) =>
    h("button.plain", { onclick: () => ui.open(name), title, "aria-haspopup": "dialog" }, text);
  const dark = () => document.body.classList.contains("dark");
  const help = { onclick: () => ui.open("help"), "aria-label": "Help and keys", title: "Help and keys (?)" };
  const open = { onclick: () => file.click(), title: "Open saved traces (.jsonl, .jsonl.gz); no model is needed" };
  const theme = { onclick: () => setTheme(!dark()), "aria-label": "Light or dark", title: "Light or dark" };
  const motto = "See what a draft proposes, what the target checks, and why";
  element.append(
    h("div.brand", {}, mark(), h("h1", {}, "Draftscope"), h("span.sub", {}, motto)),
    opener("Tour", "tour", "Eight steps on recorded runs"),
    opener("Methods", "methods", "What every method does, where it helps and where it hurts"),
    opener("Notes", "notes", "Case notes on single tokens (n)"),
    h("button.plain", open, "Open"),
    opener("Save", "save", "Traces, tables and figures"),
    opener("Share", "share", "A link that restores what you see"),
    moreMenu(ui),
    h("button.plain", help, "?"),
    h("button.plain", theme, icon("sun")),
    file,
  );
  addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    const files = [...(event.dataTransfer?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    session.openFiles(files);
  });
}

/** A menu button; arrow keys move, Escape closes. @param {Lab["ui"]} ui */
function moreMenu(ui) {
  const items = MORE.map(([text, name, title]) => {
    const onclick = () => {
      toggle(false);
      ui.open(name);
    };
    return h("button.plain", { role: "menuitem", onclick }, h("span.title", {}, text), h("span.help", {}, title));
  });
  const menu = h("div.picker.more", { role: "menu", "aria-label": "More", hidden: true }, items);
  const button = h(
    "button.plain",
    { "aria-haspopup": "menu", "aria-expanded": "false", onclick: () => toggle(menu.hidden === true) },
    "More",
  );
  const anchor = h("span.anchor", {}, button, menu);
  /** @param {boolean} open */
  function toggle(open) {
    menu.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) items[0].focus();
  }
  anchor.addEventListener("keydown", (event) => {
    if (menu.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === "Escape") {
      toggle(false);
      button.focus();
    } else if (step) items[(at + step + items.length) % items.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  addEventListener("pointerdown", (event) => {
    if (!menu.hidden && event.target instanceof Node && !anchor.contains(event.target)) toggle(false);
  });
  return anchor;
}

/** The theme is Gradio's own class on the body; the choice is kept in this browser. @param {boolean} dark */
export function setTheme(dark) {
  document.body.classList.toggle("dark", dark);
  try {
    localStorage.setItem("draftscope.theme", dark ? "dark" : "light");
  } catch {
    // storage may be switched off; the choice then lasts until the page is closed
  }
}

/** The kept choice, if the address does not force one. */
export function restoreTheme() {
  if (new URLSearchParams(location.search).has("__theme")) return;
  try {
    const kept = localStorage.getItem("draftscope.theme");
    if (kept) document.body.classList.toggle("dark", kept === "dark");
  } catch {
    // as above
  }
}
