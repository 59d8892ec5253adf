// @ts-check
// Saving: traces as files of docs/design/0003, tables as CSV or JSON, figures as SVG or PNG; sharing: links.

import { captionOf } from "./caption.js";
import { nameOf } from "./columns.js";
import { cased, count, h } from "./dom.js";
import { download, figureBlob, svgText } from "./figure.js";
import { MAX_URL } from "./link.js";
import { packed } from "./packed.js";
import { viewName } from "./stage/views.js";
import { tables } from "./tables.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/lab.js").Lab} Lab
 * @typedef {import("./types/trace.js").Event} Event
 */

/** JSON has no infinity: a trace writes the word. @param {string} _name @param {unknown} value */
const infinite = (_name, value) => (value === Infinity || value === -Infinity ? String(value) : value);

/** The trace's own lines; what the page added for itself is left out. @param {Run} run */
export function traceText(run) {
  const own = new Set(["why", "checked"]);
  const lean = (/** @type {object} */ item) =>
    Object.fromEntries(Object.entries(item).filter(([name]) => !own.has(name)));
  /** @param {Event} item */
  const event = (item) =>
    item.kind === "round" ? { ...item, nodes: item.nodes.map(lean), tokens: item.tokens.map(lean) } : lean(item);
  const events = [run.head, ...run.rounds, run.end].filter((item) => item !== null);
  return events.map((item) => `${JSON.stringify(event(item), infinite)}\n`).join("");
}

/** @param {string} text */
async function zipped(text) {
  return new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

/** How the files are called. @param {Store} store */
const stem = (store) =>
  `draftscope-${store.status.recorded ?? [...store.runs.values()].map((run) => run.head?.method).join("-")}`.slice(
    0,
    80,
  );

/** @param {HTMLElement} body @param {Store} store @param {Lab} lab */
export function drawSave(body, store, lab) {
  const runs = [...store.runs.values()].filter((run) => run.head);
  if (!runs.length) return void body.append(h("p.quiet", {}, "Nothing to save yet: run something first."));
  const all = () => runs.map(traceText).join("");
  const name = stem(store);
  body.append(
    h(
      "section",
      {},
      h("h3", {}, "Traces"),
      h("p.quiet", {}, "Everything on the page can be rebuilt from its trace, without a model: use Open."),
      h(
        "div.row",
        {},
        h(
          "button.primary",
          { onclick: async () => download(await zipped(all()), `${name}.jsonl.gz`) },
          `All ${count(runs.length, "lane")} (.jsonl.gz)`,
        ),
        h(
          "button",
          { onclick: () => download(new Blob([all()]), `${name}.jsonl`), "aria-label": "All lanes as .jsonl" },
          ".jsonl",
        ),
      ),
      h(
        "div.list",
        {},
        runs.map((run) =>
          h(
            "div.row",
            {},
            h("span", {}, nameOf(store, run)),
            h(
              "button.plain",
              {
                onclick: () => download(new Blob([traceText(run)]), `${run.key}.jsonl`),
                "aria-label": `${nameOf(store, run)} as .jsonl`,
              },
              ".jsonl",
            ),
          ),
        ),
      ),
    ),
    h(
      "section",
      {},
      h("h3", {}, "Tables"),
      h(
        "p.quiet",
        {},
        "One row a token, a draft token or a round; all lanes, each with its name; unknown values stay empty.",
      ),
      h(
        "div.list",
        {},
        Object.keys(tables).map((table) => tableRow(store, table, name)),
      ),
    ),
    h("section", {}, h("h3", {}, "Figures"), h("div.list", {}, figureRows(store, lab, name))),
  );
}

/** A table's name and its buttons. @param {Store} store @param {string} table @param {string} name of the files */
function tableRow(store, table, name) {
  const csv = () => download(new Blob([tableText(store, table, "csv")], { type: "text/csv" }), `${name}-${table}.csv`);
  const json = () => download(new Blob([tableText(store, table, "json")]), `${name}-${table}.json`);
  return h(
    "div.row",
    {},
    h("span", {}, table),
    h("button.plain", { onclick: csv, "aria-label": `${table} as CSV` }, "CSV"),
    h("button.plain", { onclick: json, "aria-label": `${table} as JSON` }, "JSON"),
  );
}

/** What the page calls its views. @type {Readonly<Record<string, string>>} */
const CALLED = {
  lanes: viewName("text"),
  treegrid: viewName("trees"),
  tree: "One tree",
  inspector: "Details",
  divergence: "First difference",
  whatif: "What if",
};

/** One row a view that is drawn now, as SVG or PNG.
 * @param {Store} store @param {Lab} lab @param {string} name */
function figureRows(store, lab, name) {
  const rows = [];
  /** @type {NodeListOf<HTMLElement>} */
  const spots = document.querySelectorAll("[data-view]");
  for (const spot of spots) {
    const { view: path = "" } = spot.dataset;
    const view = path.split("/").at(-1);
    if (view !== "score" && !spot.checkVisibility()) continue; // views of the stage that are not open draw nothing
    /** @type {NodeListOf<SVGSVGElement>} */
    const drawn = spot.querySelectorAll("svg:not(.icon)");
    const figure = [...drawn].find((item) => item.getBoundingClientRect().width > 80);
    const text = lab.ui.figures.get(path) ?? (figure ? () => svgText(figure, spot, captionOf(store, lab)) : null);
    if (!text) continue;
    const save = async (/** @type {"svg" | "png"} */ kind) => {
      const found = text();
      if (!found) return lab.ui.notify(`${called} shows nothing that could be saved.`);
      download(await figureBlob(found, kind), `${name}-${view}.${kind}`);
    };
    const called = CALLED[view ?? ""] ?? cased(view ?? "");
    const button = (/** @type {string} */ kind, /** @type {() => void} */ onclick) =>
      h("button.plain", { onclick, "aria-label": `${called} as ${kind}` }, kind);
    rows.push(
      h(
        "div.row",
        {},
        h("span", {}, called),
        button("SVG", () => save("svg")),
        button("PNG", () => save("png")),
      ),
    );
  }
  return rows;
}

/** A table of all lanes as a file's text. @param {Store} store @param {string} table of `tables`
 * @param {"csv" | "json"} kind */
export function tableText(store, table, kind) {
  const runs = [...store.runs.values()].filter((run) => run.head);
  const columns = tables[table].columns(runs);
  const all = tables[table].rows(runs, (run) => nameOf(store, run));
  if (kind === "csv") return csv(columns, all);
  return JSON.stringify(all.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i] ?? null]))));
}

/** RFC 4180, with a guard against cells that a spreadsheet would run.
 * @param {readonly string[]} columns @param {readonly (readonly unknown[])[]} rows */
export function csv(columns, rows) {
  const cell = (/** @type {unknown} */ value) => {
    if (value == null) return "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]./s.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return `${[columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** What the link gives to whom it is sent.
 * @param {Pick<Store, "lanes" | "options" | "status">} store @param {Pick<Lab["session"], "ran">} session */
export function linkWords({ lanes, options: { continued }, status: { recorded, opened } }, { ran }) {
  const same = "with the same cursor, time and filters";
  if (recorded && continued.length)
    return `The link opens this recorded run ${same}, and runs again what goes on from another token.`;
  if (recorded) return `The link opens this recorded run ${same}. No model is needed.`;
  if (opened && packed()) return `The link opens the runs of this page ${same}. No server is needed.`;
  if (lanes.length && !ran)
    return "These runs came from files, and no link makes them again: this one holds only what else is chosen.";
  return (
    "The link holds prompt, methods, settings and seed: opening it runs them again and puts the cursor here. " +
    "It never depends on this server's memory."
  );
}

/** @param {HTMLElement} body @param {Store} store @param {Lab} lab */
export function drawShare(body, store, lab) {
  const url = lab.link.url();
  /** @type {HTMLInputElement} */
  const field = h("input", {
    type: "text",
    readonly: true,
    value: url,
    "aria-label": "Link",
    onfocus: () => field.select(),
  });
  const done = h("span.quiet", { role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(url);
      done.textContent = "Copied.";
    } catch {
      field.select();
      done.textContent = "Press Ctrl C to copy.";
    }
  };
  if (url.length > MAX_URL)
    body.append(
      h("p.warn", {}, "This prompt makes the link longer than many servers accept: save the traces instead."),
    );
  body.append(
    h("p", {}, linkWords(store, lab.session)),
    h("div.row", {}, field, h("button.primary", { onclick: copy }, "Copy")),
    done,
    h("p.quiet", {}, "To send the very numbers you see, save the traces and send the file."),
  );
}
