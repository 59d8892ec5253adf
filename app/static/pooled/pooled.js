// @ts-check
// Many runs pooled: the server's figures (app/figures/pooled.py) and tables 1, 2, 4, 6 of HeteroSpec; recorded, or
// one's own.

import { commandlines } from "../commandline.js";
import { count, h, said } from "../dom.js";
import { perCall } from "../draw.js";
import { download } from "../figure.js";
import { KEPT, plots, plotted } from "../plot.js";
import { csv } from "../save.js";
import { noPool, telling } from "./choice.js";
import { adviceTable, apart, servedTable, tablesOf } from "./tables.js";

/**
 * @typedef {import("../types/measured.js").Pooled} Pooled
 * @typedef {import("../types/measured.js").PoolSection} Section
 * @typedef {import("../types/measured.js").Served} Served
 * @typedef {{found: Pooled, pool: string, wide: number, nodes: HTMLElement[]}} Drawn what is on show, and of what
 * @typedef {{found: Pooled | null, own: boolean, task: string, label: string, files: Map<string, File>,
 *   drawn: Drawn | null, busy: string, wrong: string}} State
 */

const ENDINGS = /\.jsonl(\.gz)?$/;
const INDEX = "index.parquet";
const FILES = /(\.(jsonl|json|txt|log|prom|sse)(\.gz)?|\.parquet)$/;
const REPORTS = "Reports: answers, /metrics or logs of vLLM, SGLang and llama.cpp, exports of AIPerf";
/** Kept while the page is open. @type {State} */
const kept = { found: null, own: false, task: "", label: "", files: new Map(), drawn: null, busy: "", wrong: "" };
let asked = 0; // what was asked for last is shown, whatever comes first
let show = () => {}; // in the room as it is open now: who left it and came back is shown what was asked for before

/** @param {HTMLElement} body @param {import("../types/store.js").Store} store
 * @param {import("../types/lab.js").Lab} lab */
export function drawPooled(body, store, lab) {
  const state = kept;
  let opened = true; // and not drawn: a link may have opened it
  const wrong = h("p.warn", { role: "alert", hidden: true });
  const busy = h("p.quiet", { role: "status" });
  const room = h("div.pooled", { [KEPT]: true });
  /** @param {import("../types/dom.js").Attributes} attrs @param {string} words @param {RegExp} endings */
  const pick = (attrs, words, endings) => {
    /** @type {HTMLInputElement} */
    const input = h("input", {
      type: "file",
      multiple: true,
      hidden: true,
      "aria-label": words,
      ...attrs,
      onchange: () => {
        takeFiles([...(input.files ?? [])], endings);
        input.value = "";
      },
    });
    return [h("button", { onclick: () => input.click(), title: attrs.title }, words), input];
  };
  /** Of a folder with an index only that is read; its traces stay where they are until one is asked for.
   * @param {File[]} files @param {RegExp} endings */
  const takeFiles = (files, endings) => {
    const found = files.find((file) => file.name === INDEX);
    const root = found ? found.webkitRelativePath.replace(INDEX, "") : "";
    const named = new Map(found ? files.map((file) => [file.webkitRelativePath.replace(root, ""), file]) : []);
    open(found ? [found] : files.filter((file) => endings.test(file.name)), named);
  };
  const back = h("button", { hidden: true, onclick: () => recorded() }, "Back to the recorded runs");
  const draw = () => {
    busy.textContent = state.busy;
    wrong.textContent = state.wrong;
    wrong.hidden = !state.wrong;
    back.hidden = !state.own;
    const [task, ...label] = store.options.pool.split("~");
    Object.assign(state, { task, label: label.join("~") });
    if (!state.found) return;
    const none = opened && !state.own ? noPool(state.found.sections, store.options.pool) : "";
    opened = false;
    if (none) lab.ui.notify(none);
    const now = { found: state.found, pool: store.options.pool, wide: body.clientWidth };
    if (!stands(state.drawn, now)) {
      const nodes = [...sectionOf(state, state.found, choose), ...named(state, state.found, store, lab)];
      state.drawn = { ...now, nodes };
    }
    room.replaceChildren(...(state.drawn?.nodes ?? []));
  };
  /** @param {string} task @param {string} label */
  const choose = (task, label) => {
    Object.assign(state, { task, label });
    store.setOption("pool", `${task}~${label}`);
  };
  const off = store.on("options", (name) => name === "pool" && draw());
  const leave = () => {
    off();
    state.wrong = ""; // it was read
  };
  body.addEventListener("close", leave, { once: true });

  /** Take what the server answers; what was on show stays when it refuses.
   * @param {boolean} own @param {() => Promise<Pooled>} ask @param {string} [what]
   * @param {Map<string, File>} [files] from which single runs of it are opened */
  async function take(own, ask, what = "", files = new Map()) {
    asked += 1;
    const mine = asked;
    Object.assign(state, { busy: `Reading ${what}…`, wrong: "" });
    draw();
    try {
      const found = await ask();
      if (mine !== asked) return;
      Object.assign(state, { found, own, files, busy: "" });
    } catch (error) {
      if (mine !== asked) return;
      Object.assign(state, { busy: "", wrong: said(error) });
    }
    show();
  }
  const recorded = () => take(false, () => lab.api.get("pooled"));

  /** @param {File[]} files @param {Map<string, File>} named of a folder with an index, all */
  async function open(files, named) {
    const upload = lab.session.catalogue?.limits.upload ?? Infinity;
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    const what = `${count(files.length, "file")} (${(bytes / 1e6).toFixed(1)} MB) `;
    const ask = async () => {
      if (!files.length) throw new Error("There is no trace among these files: traces end in .jsonl or .jsonl.gz.");
      if (bytes > upload)
        throw new Error(`These files are larger than ${Math.round(upload / 1e6)} MB together, which is the limit.`);
      const parts = files.flatMap((file) => [`${JSON.stringify({ file: file.name, bytes: file.size })}\n`, file]);
      return lab.api.post("pooled", new Blob(parts));
    };
    await take(true, ask, what, named);
  }

  body.append(
    h(
      "p",
      {},
      "One run says little. Many prompts show which ranks are accepted, how acceptance goes with entropy, and what a " +
        "method saves.",
    ),
    h(
      "div.row.wrap",
      {},
      pick(
        { accept: ".jsonl,.json,.txt,.log,.prom,.sse,.gz,.parquet", title: REPORTS },
        "Open traces or reports …",
        FILES,
      ),
      pick({ webkitdirectory: true }, "Open a folder …", ENDINGS),
      back,
      busy,
    ),
    wrong,
    room,
  );
  show = draw;
  if (state.found || state.busy) draw();
  else recorded();
}

/** Whether what was drawn can be shown again as it is: of the same, as wide, and no figure has gone since.
 * @param {Drawn | null} drawn @param {Omit<Drawn, "nodes">} now */
const stands = (drawn, now) =>
  drawn?.found === now.found &&
  drawn.pool === now.pool &&
  drawn.wide === now.wide &&
  drawn.nodes.every((node) => [...node.querySelectorAll(".plot")].every((spot) => spot.querySelector(".main-svg")));

/** Everything below the buttons. @param {State} state @param {Pooled} found
 * @param {(task: string, label: string) => void} turn */
function sectionOf(state, found, turn) {
  const beside = found.served ? served(found.served, found.plots.served) : [];
  if (!found.sections.length) return beside;
  const section = found.sections.find((one) => one.task === state.task) ?? found.sections[0];
  const labels = Object.keys(section.figures);
  if (!labels.includes(state.label)) state.label = telling(section, labels);
  const drawn = section.figures[state.label];
  const keeps = (/** @type {string} */ task) =>
    found.sections.some((one) => one.task === task && state.label in one.figures);
  /** @param {string} words @param {"task" | "label"} name @param {string[]} values @param {string} value */
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
            const { value } = /** @type {HTMLSelectElement} */ (event.target);
            if (name === "label") turn(section.task, value);
            else turn(value, keeps(value) ? state.label : "");
          },
        },
        values.map((one) => h("option", { value: one, selected: one === value }, one)),
      ),
    );
  const plotsOf = found.plots.sections[found.sections.indexOf(section)];
  const byTask = found.plots.tasks[state.label];
  const plain = tablesOf(section, state.label, true);
  const from = `${sourceWords(found, section, state.own)} Prompts: ${section.task}.`;
  const own = `Figures of ${state.label}.`;
  return [
    source(found, section, state.own),
    ...beside,
    ...(found.advice ? advised(found.advice) : []),
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
    h("div.pooled-figures", {}, plots(plotsOf.methods, from)),
    drawn
      ? h("div.pooled-figures", {}, plots(plotsOf.trees[state.label], `${own} ${from}`))
      : h("p.quiet", {}, "None of these runs drafts a tree, so there is no rank to show."),
    byTask ? plotted(byTask, { source: own, caption: "The same for each task, on one scale." }) : null,
    ...tablesOf(section, state.label).map((table, i) => tableView(table, plain[i], section.task)),
  ].filter((part) => part !== null);
}

/** Where the numbers come from, in a sentence. @param {Pooled} found @param {Section} section @param {boolean} own */
function sourceWords(found, section, own) {
  const uneven = section.even ? "" : " (not the same for all methods: totals cannot be compared)";
  const machine = `target ${found.target.id ?? "?"}, ${found.device}, ${found.dtype}`;
  const cut = found.left_out ? ` (${count(found.left_out, "run")} that were cut off are left out)` : "";
  const here = section.methods.reduce((sum, { runs }) => sum + runs, 0);
  const part = here === found.runs ? "" : `${here} of `;
  const facts = `${part}${count(found.runs, "run")}${cut}, ${count(section.prompts, "prompt")}${uneven}, ${machine}`;
  return `${own ? "Your own traces" : "Recorded in this repository"}: ${facts}. Times are of that machine.`;
}

/** The same, and how to make them. @param {Pooled} found @param {Section} section @param {boolean} own */
function source(found, section, own) {
  return h(
    "div.source",
    {},
    h("p.quiet", {}, sourceWords(found, section, own)),
    found.commands.length
      ? h("details", {}, h("summary", {}, "The commands that made them"), commandlines(found.commands))
      : null,
  );
}

/** Runs of an index: those with the fewest and the most tokens a call of each method; each is opened from its own file.
 * @param {State} state @param {Pooled} found @param {import("../types/store.js").Store} store
 * @param {import("../types/lab.js").Lab} lab */
function named(state, found, store, lab) {
  if (!found.named) return [];
  const row = (/** @type {import("../types/measured.js").NamedRun} */ run) => {
    const file = state.files.get(run.file);
    const open = file
      ? h(
          "button.plain",
          {
            title: "Open this run on the stage",
            onclick: async () => {
              await lab.session.openFiles([file]);
              store.setOption("room", "compare");
            },
          },
          run.file,
        )
      : run.file;
    const cells = [
      run.task,
      run.key || run.prompt.slice(0, 40),
      String(run.tokens),
      String(run.calls),
      perCall(run.tau),
    ];
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, run.label),
      h("td", {}, open),
      ...cells.map((cell) => h("td", {}, cell)),
    );
  };
  const heads = ["method", "file", "task", "prompt", "tokens", "calls", "tokens a call"];
  return [
    h("h3", {}, "Runs"),
    h(
      "p.quiet",
      {},
      "Of each method those with the fewest and the most tokens a call. Open the folder to open one of them.",
    ),
    h(
      "div.scroll",
      { tabindex: "0", role: "region", "aria-label": "Runs" },
      h(
        "table.numbers",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h("tbody", {}, found.named.map(row)),
      ),
    ),
  ];
}

/** What to use for which prompts, and how engines are told. @param {import("../types/measured.js").Advice} advice */
function advised(advice) {
  if (!advice.kinds) return [h("p.quiet", {}, `No advice: ${advice.missing}`)];
  const texts = (/** @type {import("../types/measured.js").AdviceKind} */ kind) =>
    kind.configurations.map(
      ({ engine, text, note }) => `${engine}: ${[text, note && `(${note})`].filter(Boolean).join(" ")}`,
    );
  const where = advice.label ?? "";
  return [
    tableView(adviceTable(advice.kinds, where), adviceTable(advice.kinds, where, true), "advice"),
    ...advice.kinds.map((kind) =>
      h(
        "details",
        {},
        h(
          "summary",
          {},
          `Settings for engines: ${kind.kind}, ${kind.pays === false ? "plain decoding" : kind.best.label}`,
        ),
        h("pre.formula", {}, texts(kind).join("\n")),
      ),
    ),
  ];
}

/** What engines report, beside own runs.
 * @param {readonly Served[]} rows @param {readonly import("../types/measured.js").Captioned[]} figures */
function served(rows, figures) {
  return [tableView(servedTable(rows), servedTable(rows, true), "served"), h("div.pooled-figures", {}, plots(figures))];
}

/** A table with its caption, and its CSV, which has the same in numbers.
 * @param {import("./choice.js").Table} table @param {import("./choice.js").Table} plain @param {string} task */
function tableView(table, plain, task) {
  const { columns, rows } = apart(plain);
  const file = `pooled-${task}-${table.name}.csv`.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-");
  return h(
    "section",
    {},
    h(
      "div.row",
      {},
      h("h3", {}, table.name),
      h("button.plain", { onclick: () => download(new Blob([csv(columns, rows)], { type: "text/csv" }), file) }, "CSV"),
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
