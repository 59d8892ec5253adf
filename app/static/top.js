// The head of the page: name and the doors to everything that is not a lane.

import { h } from "./dom.js";
import { icon, mark } from "./icons.js";

/** Rooms beside the page: words, drawer, what is to be seen there. */
const MORE = [
  ["Many runs", "pooled", "Methods over many prompts: ranks, entropy, what each mechanism saves"],
  ["Trajectories", "trajectories", "Several answers to one problem, each drafted from those before"],
  ["Judge workshop", "workshop", "Which guesses change the answer: mined, judged, reviewed"],
  ["Draft trees", "trees", "Which nodes of a large tree earn their place"],
];

/** @param {HTMLElement} element @param {object} store @param {object} lab */
export function mount(element, store, lab) {
  const file = h("input", {
    type: "file",
    accept: ".jsonl,.gz,.json",
    multiple: true,
    hidden: true,
    "aria-label": "Open a saved trace",
    onchange: () => (lab.session.openFiles([...file.files]), (file.value = "")),
  });
  const door = (text, name, title) =>
    h("button.plain", { onclick: () => lab.ui.open(name), title, "aria-haspopup": "dialog" }, text);
  const theme = h(
    "button.plain",
    {
      "aria-label": "Light or dark",
      title: "Light or dark",
      onclick: () => setTheme(!document.body.classList.contains("dark")),
    },
    icon("sun"),
  );
  element.append(
    h(
      "div.brand",
      {},
      mark(),
      h("h1", {}, "Draftscope"),
      h("span.sub", {}, "See what a draft guesses, what the target checks, and why"),
    ),
    door("Tour", "tour", "Eight steps on recorded runs"),
    door("Methods", "methods", "What every method does, where it helps and where it hurts"),
    door("Notes", "notes", "Case notes on single tokens (n)"),
    h(
      "button.plain",
      { onclick: () => file.click(), title: "Open saved traces (.jsonl, .jsonl.gz); no model is needed" },
      "Open",
    ),
    door("Save", "save", "Traces, tables and figures"),
    door("Share", "share", "A link that restores what you see"),
    moreMenu(lab),
    h(
      "button.plain",
      { onclick: () => lab.ui.open("help"), "aria-label": "Help and keys", title: "Help and keys (?)" },
      "?",
    ),
    theme,
    file,
  );
  addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    lab.session.openFiles([...event.dataTransfer.files]);
  });
}

/** A menu button; arrow keys move, Escape closes. */
function moreMenu(lab) {
  const items = MORE.map(([text, name, title]) =>
    h(
      "button.plain",
      { role: "menuitem", onclick: () => (toggle(false), lab.ui.open(name)) },
      h("span.title", {}, text),
      h("span.help", {}, title),
    ),
  );
  const menu = h("div.picker.more", { role: "menu", "aria-label": "More", hidden: true }, items);
  const button = h(
    "button.plain",
    { "aria-haspopup": "menu", "aria-expanded": "false", onclick: () => toggle(menu.hidden) },
    "More",
  );
  const anchor = h("span.anchor", {}, button, menu);
  function toggle(open) {
    menu.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) items[0].focus();
  }
  anchor.addEventListener("keydown", (event) => {
    if (menu.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") toggle(false), button.focus();
    else if (step) items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  addEventListener("pointerdown", (event) => !menu.hidden && !anchor.contains(event.target) && toggle(false));
  return anchor;
}

/** The theme is Gradio's own class on the body; the choice is kept in this browser. */
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
