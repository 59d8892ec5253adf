// @ts-check
// The head of the page: its name, the rooms, and what opens, saves and shares.

import { h, said } from "./dom.js";
import { icon, mark } from "./icons.js";
import { take } from "./learn/show.js";
import { carries } from "./packed.js";
import { roomsHere } from "./rooms/rooms.js";

/** @type {import("./types/lab.js").Mount} */
export function mount(element, store, lab) {
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
  const begin = async () => {
    if (start.ariaBusy) return;
    start.ariaBusy = "true";
    try {
      const { lessons } = await lab.api.get("lessons");
      await take(lessons[0].name, 0, lessons[0].steps[0], store, lab);
    } catch (error) {
      ui.notify(said(error));
    } finally {
      start.ariaBusy = null;
    }
  };
  const title = "The first lesson, five minutes, beside recorded runs";
  const start = h("button.plain", { onclick: begin, title }, "Start here");
  const dark = () => document.body.classList.contains("dark");
  const help = { onclick: () => ui.open("help"), "aria-label": "Help and keys", title: "Help and keys (?)" };
  const open = { onclick: () => file.click(), title: "Open saved traces (.jsonl, .jsonl.gz); no model is needed" };
  const theme = { onclick: () => setTheme(!dark()), "aria-label": "Light or dark", title: "Light or dark" };
  const here = roomsHere();
  const rooms = here.map(({ id, name, question }) => {
    const onclick = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a tab or window of its own
      event.preventDefault();
      store.setOption("room", id);
    };
    return h("a.room-link", { href: `?room=${id}`, title: question, "data-name": name, onclick }, name);
  });
  element.append(
    h("div.brand", {}, mark(), h("h1", {}, "Draftscope")),
    h("p.motto", {}, "See how a large language model writes faster from a small one's drafts."),
    h("nav.rooms", { "aria-label": "Rooms" }, rooms),
    h(
      "div.tools",
      {},
      carries("lessons") ? start : null,
      opener("Review", "notes", "Verdict, note and star of a token, a round or a run (n)"),
      h("button.plain", open, "Open"),
      opener("Save", "save", "Traces, tables and figures"),
      opener("Share", "share", "A link that restores what you see"),
      h("button.plain", help, "?"),
      h("button.plain", theme, icon("sun")),
    ),
    file,
  );
  const show = () =>
    rooms.forEach((link, i) => {
      if (here[i].id === store.options.room) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
  store.on("options", show);
  show();
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

/** The theme is Gradio's own class on the body; the choice is kept in this browser. @param {boolean} dark */
export function setTheme(dark) {
  document.body.classList.toggle("dark", dark);
  try {
    localStorage.setItem("draftscope.theme", dark ? "dark" : "light");
  } catch {
    // storage may be switched off; the choice then lasts until the page is closed
  }
}

/** On paper it is light, whatever it is on the screen. */
export function watchPaper() {
  const { classList } = document.body;
  let dark = false;
  /** Before whoever draws for paper. */
  const lay = () => {
    dark ||= classList.contains("dark");
    classList.remove("dark");
    classList.add("paper");
  };
  addEventListener("beforeprint", lay, { capture: true });
  addEventListener("afterprint", () => {
    classList.toggle("dark", dark || classList.contains("dark"));
    classList.remove("paper");
    dark = false;
  });
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
