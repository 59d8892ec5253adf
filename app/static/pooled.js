// Many runs pooled: the server's figures (app/figures/pooled.py) and tables 1, 2, 4, 6 of HeteroSpec; recorded, or
// one's own.

import { h } from "./dom.js";
import { download } from "./figure.js";
import { plots, plotted } from "./plot.js";
import { telling } from "./pooledchoice.js";
import { tablesOf } from "./pooledtables.js";
import { csv } from "./save.js";

const ENDINGS = /\.jsonl(\.gz)?$/;
const kept = { found: null, own: false, task: "", label: "" }; // while the page is open

/** @param {HTMLElement} body @param {any} store @param {any} lab */
export function drawPooled(body, store, lab) {
  const state = kept;
  const said = h("p.warn", { role: "alert", hidden: true });
  const busy = h("p.quiet", { role: "status" });
  const room = h("div.pooled");
  const pick = (attrs, words) => {
    const input = h("input", {
      type: "file",
      multiple: true,
      hidden: true,
      "aria-label": words,
      ...attrs,
      onchange: () => {
        open([...input.files]);
        input.value = "";
      },
    });
    return [h("button", { onclick: () => input.click() }, words), input];
  };
  const back = h("button", { hidden: true, onclick: () => recorded() }, "Back to the recorded runs");
  const draw = () => {
    back.hidden = !state.own;
    room.replaceChildren(...sectionOf(state, draw));
  };

  /** Take what the server answers; what was on show stays when it refuses. */
  async function take(own, ask) {
    said.hidden = true;
    busy.textContent = own ? "Reading …" : "";
    try {
      Object.assign(state, { found: await ask(), own });
      draw();
    } catch (error) {
      said.textContent = error.message;
      said.hidden = false;
    }
    busy.textContent = "";
  }
  const recorded = () => take(false, () => lab.api.get("pooled"));

  function open(files) {
    const traces = files.filter((file) => ENDINGS.test(file.name));
    const { upload } = lab.session.catalogue.limits;
    return take(true, () => {
      if (!traces.length) throw new Error("There is no trace among these files: traces end in .jsonl or .jsonl.gz.");
      if (traces.reduce((sum, file) => sum + file.size, 0) > upload)
        throw new Error(`These files are larger than ${Math.round(upload / 1e6)} MB together, which is the limit.`);
      const parts = traces.flatMap((file) => [`${JSON.stringify({ file: file.name, bytes: file.size })}\n`, file]);
      return lab.api.post("pooled", new Blob(parts));
    });
  }

  body.append(
    h(
      "p",
      {},
      "One run says little: which ranks are kept, how entropy goes with them, and what a method saves show over many prompts.",
    ),
    h(
      "div.row.wrap",
      {},
      pick({ accept: ".jsonl,.gz" }, "Open traces …"),
      pick({ webkitdirectory: true }, "Open a folder …"),
      back,
      busy,
    ),
    said,
    room,
  );
  if (state.found) draw();
  else recorded();
}

/** Everything below the buttons. @param {any} state @param {() => void} draw */
function sectionOf(state, draw) {
  const { found } = state;
  const section = found.sections.find((one) => one.task === state.task) ?? found.sections[0];
  const labels = Object.keys(section.figures);
  if (!labels.includes(state.label)) state.label = telling(section, labels);
  const drawn = section.figures[state.label];
  const choose = (words, name, values, value) =>
    h(
      "label.field",
      {},
      h("span", {}, words),
      h(
        "select",
        {
          "aria-label": words,
          onchange: (event) => {
            state[name] = event.target.value;
            draw();
          },
        },
        values.map((one) => h("option", { value: one, selected: one === value }, one)),
      ),
    );
  const plotsOf = found.plots.sections[found.sections.indexOf(section)];
  const byTask = found.plots.tasks[state.label];
  return [
    source(found, section, state.own),
    h(
      "div.row.wrap.choices",
      {},
      choose(
        "Prompts",
        "task",
        found.sections.map((/** @type {any} */ one) => one.task),
        section.task,
      ),
      labels.length ? choose("Figures of", "label", labels, state.label) : null,
    ),
    h("div.pooled-figures", {}, plots(plotsOf.methods)),
    drawn
      ? h("div.pooled-figures", {}, plots(plotsOf.trees[state.label]))
      : h("p.quiet", {}, "None of these runs drafts a tree, so there is no rank to show."),
    byTask ? plotted(byTask, "The same for each task, on one scale.") : null,
    ...tablesOf(section, state.label).map((table) => tableView(table, section)),
  ].filter(Boolean);
}

/** Where the numbers come from. */
function source(found, section, own) {
  const facts = `${found.runs} runs, ${section.prompts} prompts${section.even ? "" : " (not the same for all methods: totals cannot be compared)"}, target ${found.target.id ?? "?"}, ${found.device}, ${found.dtype}`;
  const words = own ? "Your own traces" : "Recorded in this repository";
  return h(
    "div.source",
    {},
    h("p.quiet", {}, `${words}: ${facts}. Times are of that machine.`),
    found.commands.length
      ? h(
          "details",
          {},
          h("summary", {}, "The commands that made them"),
          h("pre.formula", {}, found.commands.join("\n")),
        )
      : null,
  );
}

/** A table with its caption, and its CSV. @param {import("./pooledtables.js").Table} table @param {any} section */
function tableView(table, section) {
  const file = `pooled-${section.task}-${table.name}.csv`.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-");
  return h(
    "section",
    {},
    h(
      "div.row",
      {},
      h("h3", {}, table.name),
      h(
        "button.plain",
        { onclick: () => download(new Blob([csv(table.columns, table.rows)], { type: "text/csv" }), file) },
        "CSV",
      ),
    ),
    h(
      "div.scroll",
      { tabindex: "0", role: "region", "aria-label": table.name },
      h(
        "table.numbers",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            table.columns.map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          {},
          table.rows.map((row) =>
            h(
              "tr",
              {},
              row.map((cell, i) => (i ? h("td", {}, String(cell)) : h("th", { scope: "row" }, String(cell)))),
            ),
          ),
        ),
      ),
    ),
    h("p.quiet", {}, table.caption),
  );
}
