// @ts-check
// Case notes: a word or two on a token, kept in this browser, exported and imported as JSON lines.

import { h, visible } from "./dom.js";
import { rich } from "./draw.js";
import { download } from "./figure.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").Lab} Lab
 * @typedef {import("./types/store.js").Selection} Selection
 * @typedef {NonNullable<ReturnType<typeof place>>} Place
 * @typedef {Partial<Place> & {text: string, label?: string, made?: string}} Note read from a file it may lack anything
 *   but its text
 */

const PLACE = "draftscope.notes";
const LABELS = ["", "right", "wrong", "harmless", "important", "look again"];
const MAX = 5000;

/** @returns {Note[]} */
function all() {
  try {
    const notes = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(notes) ? notes : [];
  } catch {
    return [];
  }
}

/** @param {Note[]} notes */
function keep(notes) {
  localStorage.setItem(PLACE, JSON.stringify(notes.slice(-MAX)));
}

/** What a note says about its place, so that it can be read without the trace. @param {Store} store @param {Lab} lab */
function place(store, lab) {
  const sel = store.cursor ?? store.focus();
  const run = sel && store.runs.get(sel.run);
  if (!sel || !run?.head) return null;
  const [token, node] = [store.token(sel), store.node(sel)];
  const id = node?.token ?? token?.token;
  return {
    trace: run.head.id,
    method: run.head.method,
    recorded: store.status.recorded,
    ...sel,
    piece: token?.piece ?? (id == null ? "" : store.piece(run, id)),
    state: node?.state ?? token?.origin ?? "",
    why: (node ?? token)?.why ?? "",
    link: lab.link.url(),
  };
}

/** @param {HTMLElement} body @param {Store} store @param {Lab} lab */
export function drawNotes(body, store, lab) {
  const here = place(store, lab);
  const label = h(
    "select",
    { "aria-label": "Label" },
    LABELS.map((text) => h("option", { value: text }, text || "no label")),
  );
  const text = h("textarea", {
    rows: 3,
    placeholder: "What is worth remembering here?",
    "aria-label": "Note",
    maxlength: 4000,
  });
  const list = h("ul.notes");
  const add = () => {
    if (!text.value.trim() && !label.value) return text.focus();
    keep([...all(), { ...here, label: label.value, text: text.value.trim(), made: new Date().toISOString() }]);
    text.value = "";
    draw();
  };
  /** @type {HTMLInputElement} */
  const file = h("input", {
    type: "file",
    accept: ".jsonl,.json",
    hidden: true,
    "aria-label": "Import notes",
    onchange: () => read(file.files?.[0]),
  });

  /** @param {File | undefined} given */
  async function read(given) {
    if (!given) return;
    const lines = (await given.text()).split("\n").filter((line) => line.trim());
    try {
      const notes = lines.slice(0, MAX).map((line) => JSON.parse(line));
      if (!notes.every((note) => note && typeof note.text === "string" && note.text.length <= 4000))
        throw new Error("not a note");
      keep([...all(), ...notes]);
      draw();
    } catch {
      lab.ui.notify("These are not case notes: each line must be a JSON object with a text.");
    }
  }

  function draw() {
    const notes = all();
    list.replaceChildren(
      ...notes
        .map((note, i) =>
          h(
            "li",
            {},
            h(
              "header",
              {},
              h(
                "button.plain.piece",
                { title: "Go there", onclick: () => go(note) },
                visible(String(note.piece ?? "")),
              ),
              h("span", {}, `${note.method ?? ""} · position ${note.pos ?? "–"} · ${note.state ?? ""}`),
              note.label ? h("span.badge", {}, note.label) : null,
              h(
                "button.plain",
                {
                  "aria-label": "Delete note",
                  onclick: () => {
                    keep(notes.filter((_, j) => j !== i));
                    draw();
                  },
                },
                "Delete",
              ),
            ),
            note.text ? h("p", {}, note.text) : null,
          ),
        )
        .reverse(),
    );
    if (!notes.length) list.append(h("li.quiet", {}, "No notes yet. Select a token and press n."));
  }

  /** To the note's token: on this page when its run is shown, else by its link. @param {Note} note */
  function go(note) {
    const run = note.run === undefined ? undefined : store.runs.get(note.run);
    if (run && run.head?.id === note.trace) {
      lab.ui.close();
      store.setCursor({ run: note.run, round: note.round, pos: note.pos, node: note.node });
    } else if (typeof note.link === "string" && note.link.startsWith(`${location.origin}/`)) location.href = note.link;
    else lab.ui.notify("The run of this note is not on the page.");
  }

  body.append(
    here
      ? h(
          "section.write",
          {},
          h(
            "p",
            {},
            h("b.piece", {}, visible(here.piece)),
            ` ${here.method}, position ${here.pos ?? "–"}, ${here.state}`,
          ),
          here.why ? h("p.quiet", {}, ...rich(here.why)) : null,
          text,
          h("div.row", {}, label, h("button.primary", { onclick: add }, "Add note")),
        )
      : h("p.quiet", {}, "Select a token to write a note on it."),
    h(
      "div.row.tools",
      {},
      h(
        "button",
        {
          onclick: () => download(new Blob(all().map((note) => `${JSON.stringify(note)}\n`)), "draftscope-notes.jsonl"),
        },
        "Export",
      ),
      h("button", { onclick: () => file.click() }, "Import"),
      file,
    ),
    list,
  );
  draw();
  if (here) queueMicrotask(() => text.focus());
}
