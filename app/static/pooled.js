// Many runs pooled: HeteroSpec's figures 1, 3, 4 and tables 1, 2, 4, 6 on this page's scale; the recorded ones, or the reader's own.

import { h } from "./dom.js";
import { download } from "./figure.js";
import { entropyFigure, highest, lengthFigure, ranksFigure, spreadFigure, within } from "./pooledfigures.js";
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
  const width = figureWidth();
  return [
    source(found, section, state.own),
    h(
      "div.row.wrap.choices",
      {},
      choose(
        "Prompts",
        "task",
        found.sections.map((one) => one.task),
        section.task,
      ),
      labels.length ? choose("Figures of", "label", labels, state.label) : null,
    ),
    drawn
      ? h("div.pooled-figures", {}, ...figures(drawn, width))
      : h("p.quiet", {}, "None of these runs drafts a tree, so there is no rank to show."),
    drawn && found.sections.length > 1 ? multiples(state, section, draw) : null,
    h("div.pooled-figures", {}, ...spreads(section, width)),
    ...tablesOf(section, state.label).map((table) => tableView(table, section)),
  ].filter(Boolean);
}

/** The figures to begin with: of trees whose entropy is known and whose size varies least. */
function telling(section, labels) {
  const weight = (label) => (section.figures[label].entropy.tcr.length ? 1 : 0) + section.figures[label].steady;
  return labels.reduce((best, label) => (best && weight(best) >= weight(label) ? best : label), "");
}

function figureWidth() {
  const room = Math.min(1200, innerWidth) - 58;
  const columns = Math.max(1, Math.floor((room + 16) / 336));
  return Math.floor((room + 16) / columns) - 16;
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

const figure = (drawing, caption) => h("figure", {}, drawing, h("figcaption", {}, caption));

function figures(drawn, width) {
  const how = { width, height: 250, title: "Rank of the last kept guess" };
  const out = [
    figure(
      ranksFigure(drawn, how),
      `How often each rank; ${drawn.rounds} rounds, N up to ${drawn.size} with the root. Dark: the first quarter of the largest N; the shares take each round by its own N. Grey: none kept.`,
    ),
    figure(
      lengthFigure(drawn, how),
      "Mean tokens a call, the target's own included. A rank is never below the depth, hence the rise at the left (dashed: rank + 1). Pale: fewer than three rounds.",
    ),
  ];
  if (drawn.entropy.tcr?.length)
    out.push(
      figure(
        entropyFigure(drawn, how),
        `Bars: mean tokens a call. Line: mean entropy summed along the draft's surest path, nats, on the right scale; ${drawn.entropy.rounds.reduce((a, b) => a + b, 0)} rounds with an entropy.`,
      ),
    );
  return out;
}

/** Figure 3: the same histogram for each task, on one scale. */
function multiples(state, section, draw) {
  const others = state.found.sections.filter((one) => one.figures[state.label]);
  const high = Math.max(...others.map((one) => highest(one.figures[state.label])));
  return h(
    "div.multiples",
    { role: "group", "aria-label": "The same for each task" },
    others.map((one) => {
      const drawn = one.figures[state.label];
      const share = Math.round(100 * within(drawn));
      return h(
        "button",
        {
          "aria-pressed": String(one === section),
          onclick: () => {
            state.task = one.task;
            draw();
          },
          "aria-label": `${one.task}: ${share} percent of the rounds within a quarter of N`,
        },
        ranksFigure(drawn, { width: 250, height: 96, small: true, title: `${one.task}: ${share} % in N/4`, high }),
      );
    }),
  );
}

function spreads(section, width) {
  const kinds = [
    { name: "Tokens a call", read: (row) => row.tau },
    { name: "Tokens checked a prompt", read: (row) => row.tokens_each },
    { name: "Tokens/s against AR", read: (row) => row.speedup, one: true },
  ];
  return kinds
    .filter(({ read }) => section.methods.some(read))
    .map((kind) =>
      figure(
        spreadFigure(section.methods, kind, width),
        `Mean and 95 % over ${section.prompts} prompts${kind.one ? "; dashed: the plain target" : ""}.`,
      ),
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
