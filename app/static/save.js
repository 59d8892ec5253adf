// Saving: traces as files of docs/design/0003, tables as CSV or JSON, figures as SVG or PNG; sharing: links.

import { h } from "./dom.js";
import { download, figureBlob, svgText } from "./figure.js";
import { MAX_URL } from "./link.js";
import { tables } from "./tables.js";

/** JSON has no infinity: a trace writes the word. */
const infinite = (_name, value) => (value === Infinity || value === -Infinity ? String(value) : value);

/** The trace's own lines; what the page added for itself is left out. */
export function traceText(run) {
  const lean = ({ why: _why, ...item }) => item;
  const event = ({ checked: _checked, ...item }) =>
    item.kind === "round" ? { ...item, nodes: item.nodes.map(lean), tokens: item.tokens.map(lean) } : item;
  const events = [run.head, ...run.rounds, ...(run.end ? [run.end] : [])].filter(Boolean);
  return events.map((item) => `${JSON.stringify(event(item), infinite)}\n`).join("");
}

async function zipped(text) {
  return new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

const stem = (store) =>
  `draftscope-${store.status.recorded ?? [...store.runs.values()].map((run) => run.head?.method).join("-")}`.slice(
    0,
    80,
  );

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
          `All ${runs.length} lanes (.jsonl.gz)`,
        ),
        h("button", { onclick: () => download(new Blob([all()]), `${name}.jsonl`) }, ".jsonl"),
      ),
      h(
        "div.list",
        {},
        runs.map((run) =>
          h(
            "div.row",
            {},
            h("span", {}, run.card.title ?? run.key),
            h("button.plain", { onclick: () => download(new Blob([traceText(run)]), `${run.key}.jsonl`) }, ".jsonl"),
          ),
        ),
      ),
    ),
    h(
      "section",
      {},
      h("h3", {}, "Tables"),
      h("p.quiet", {}, "One row a token, a draft token or a round; all lanes; unknown values stay empty."),
      Object.entries(tables).map(([table, { columns, rows }]) =>
        h(
          "div.row",
          {},
          h("span", {}, table),
          h(
            "button.plain",
            {
              onclick: () =>
                download(new Blob([csv(columns, rows(runs))], { type: "text/csv" }), `${name}-${table}.csv`),
            },
            "CSV",
          ),
          h(
            "button.plain",
            {
              onclick: () =>
                download(
                  new Blob([
                    JSON.stringify(
                      rows(runs).map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i] ?? null]))),
                    ),
                  ]),
                  `${name}-${table}.json`,
                ),
            },
            "JSON",
          ),
        ),
      ),
    ),
    h("section", {}, h("h3", {}, "Figures"), h("div.list", {}, figureRows(lab, name))),
  );
}

/** One row a view that is drawn now: its SVG, or its canvas as PNG. */
function figureRows(lab, name) {
  const rows = [];
  for (const spot of document.querySelectorAll("[data-view]")) {
    const { view: path } = spot.dataset;
    const view = path.split("/").at(-1);
    if (view !== "score" && !spot.checkVisibility()) continue; // views of the stage that are not open draw nothing
    const figure =
      lab.ui.figures.get(path) ??
      [...spot.querySelectorAll("svg:not(.icon)")].find((item) => item.getBoundingClientRect().width > 80);
    const canvas = [...spot.querySelectorAll("canvas")].find((item) => item.width > 100);
    if (!figure && !canvas) continue;
    const text = () => (typeof figure === "function" ? figure() : svgText(figure, spot));
    const save = async (kind) => download(await figureBlob(await text(), kind), `${name}-${view}.${kind}`);
    const png = () => canvas.toBlob((blob) => download(blob, `${name}-${view}.png`));
    rows.push(
      h(
        "div.row",
        {},
        h("span", {}, view),
        figure ? h("button.plain", { onclick: () => save("svg") }, "SVG") : null,
        h("button.plain", { onclick: figure ? () => save("png") : png }, "PNG"),
      ),
    );
  }
  return rows;
}

/** RFC 4180, with a guard against cells that a spreadsheet would run. */
export function csv(columns, rows) {
  const cell = (value) => {
    if (value == null) return "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return `${[columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

export function drawShare(body, store, lab) {
  const url = lab.link.url();
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
  const words = store.status.recorded
    ? "The link opens this recorded run with the same cursor, time and filters. No model is needed."
    : "The link holds prompt, methods, settings and seed: opening it runs them again and puts the cursor here. It never depends on this server's memory.";
  if (url.length > MAX_URL)
    body.append(
      h("p.warn", {}, "This prompt makes the link longer than many servers accept: save the traces instead."),
    );
  body.append(
    h("p", {}, words),
    h("div.row", {}, field, h("button.primary", { onclick: copy }, "Copy")),
    done,
    h("p.quiet", {}, "To send the very numbers you see, save the traces and send the file."),
  );
}
