// @ts-check
// The Papers room: a list of tables and figures with their verdicts, and one of them open: the paper's numbers, ours
// beside them in the same form (app/figures/papers.py), and what decides the verdict.

import { commandline } from "./commandline.js";
import { h, said } from "./dom.js";
import { minus, rich } from "./draw.js";
import { download } from "./figure.js";
import { show } from "./learn/show.js";
import { plotted } from "./plot.js";
import { refocused } from "./refocus.js";
import { csv } from "./save.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").Lab} Lab
 * @typedef {import("./types/measured.js").PaperList} PaperList
 * @typedef {import("./types/measured.js").PaperShown} PaperShown
 * @typedef {import("./types/measured.js").PaperItem} Item
 * @typedef {import("./types/measured.js").PaperTable} Table
 */

/** Sign of a verdict, told beside its words. @type {Readonly<Record<string, string>>} */
const SIGNS = {
  confirmed: "✓",
  refuted: "✗",
  mixed: "±",
  "not confirmed": "?",
  "to do": "…",
  "not testable here": "∅",
  "nothing to measure": "·",
};
/** Whether a paper's entry counts it. @param {string} name */
const COUNTED = (name) => !["nothing to measure", "to do"].includes(name);
const OPENING =
  "What five papers claim, table by table and figure by figure, beside what was measured here, and whether " +
  "that bears them out.";
const OUTCOMES = { holds: "✓", fails: "✗", open: "?", missing: "…" };
/** Papers that were opened. @type {Map<string, PaperShown>} */
const kept = new Map();
/** @type {PaperList | null} */
let list = null;

/** The paper and the item that an option names, as PAPER-ITEM. @param {string} name */
const placeOf = (name) => {
  const [paper, ...item] = name.split("-"); // an item may have one of its own
  return { paper, item: item.join("-") };
};

/** @param {HTMLElement} element @param {Store} store @param {Lab} lab */
export async function drawPapers(element, store, lab) {
  const bar = h("nav.paper-names", { "aria-label": "Papers" });
  const items = h("nav.paper-items", { "aria-label": "Tables and figures" });
  const detail = h("article.paper-item", { tabindex: "-1", "aria-label": "Table or figure" });
  const wrong = h("p.warn", { role: "alert", hidden: true });
  const about = h("p.quiet.paper-about", {}, "Reading the papers…");
  const signs = Object.entries(SIGNS).filter(([name]) => COUNTED(name));
  const legend = h(
    "p.quiet.paper-signs",
    {},
    signs.map(([name, sign]) => h("span", {}, `${sign} ${name}`)),
  );
  const room = h("div.paper-room", {}, items, detail);
  element.append(h("p.paper-opening", {}, OPENING), bar, legend, wrong, about, room);
  let drawn = "";

  /** Show what the store names. */
  async function open() {
    if (store.options.room !== "papers") return;
    const asked = store.options.name;
    try {
      list ??= await lab.api.get("papers");
      const wanted = placeOf(asked);
      const { name } = list.papers.find((one) => one.name === wanted.paper) ?? list.papers[0];
      const paper = kept.get(name) ?? (await lab.api.get("paper", { name }));
      kept.set(name, paper);
      if (!element.isConnected || store.options.name !== asked) return;
      const item = paper.items.find((one) => one.id === wanted.item) ?? paper.items[0];
      wrong.hidden = !asked || `${name}-${item.id}` === asked || name === asked;
      wrong.textContent = wrong.hidden ? "" : `There is no table or figure “${asked}” here.`;
      if (drawn === `${name}-${item.id}`) return;
      const turned = drawn.startsWith(`${name}-`);
      drawn = `${name}-${item.id}`;
      const papers = list.papers.map((one) => link(one.name, one.name === name, titled(lab, one), counts(one)));
      refocused(bar, () => bar.replaceChildren(...papers));
      room.classList.toggle("few", paper.items.length <= FEW);
      about.textContent = [`${paper.title}.`, paper.setting, paper.note].filter(Boolean).join(" ");
      const focused = items.contains(document.activeElement);
      const { scrollTop } = items;
      items.replaceChildren(...paper.items.map((one) => entry(paper, one, one === item)));
      if (turned) items.scrollTop = scrollTop;
      /** @type {HTMLElement | null} */
      const current = items.querySelector("[aria-current]");
      if (focused) current?.focus({ preventScroll: turned });
      if (current) uncover(items, current);
      detail.replaceChildren(...itemOf(paper, item, store, lab));
      if (turned) bring(detail);
    } catch (error) {
      if (store.options.name !== asked) return;
      if (!drawn) about.textContent = "";
      wrong.textContent = said(error);
      wrong.hidden = false;
    }
  }
  /** @param {string} name @param {boolean} current @param {(Node | string)[]} words */
  const link = (name, current, ...words) =>
    h(
      "a.paper-link",
      {
        href: `?room=papers&name=${name}`,
        "aria-current": current ? "page" : null,
        onclick: (/** @type {MouseEvent} */ event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          store.setOption("name", name);
        },
      },
      words,
    );
  /** @param {PaperShown} paper @param {Item} one @param {boolean} current */
  const entry = (paper, one, current) =>
    link(
      `${paper.name}-${one.id}`,
      current,
      one.verdict ? pill(one.verdict) : "",
      h("b", {}, one.name),
      h("span.shows", {}, one.shows),
    );

  const offs = [
    store.on("options", (name) => {
      if (name === "name") open();
    }),
    lab.session.on("catalogue", () => {
      drawn = ""; // what methods are called, and what can run
      open();
    }),
  ];
  element.addEventListener("close", () => offs.forEach((off) => off()), { once: true });
  await open();
}

/** Scroll a list, and nothing else, until one of its entries is in sight. @param {HTMLElement} items
 * @param {HTMLElement} current */
function uncover(items, current) {
  const [list, entry] = [items.getBoundingClientRect(), current.getBoundingClientRect()];
  const end = Math.min(list.bottom, innerHeight);
  if (entry.top < list.top) items.scrollTop -= list.top - entry.top;
  else if (entry.bottom > end) items.scrollTop += entry.bottom - end;
}

/** Scroll to what was chosen where its head is out of sight, or nearly. @param {HTMLElement} detail */
function bring(detail) {
  const { top } = detail.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) detail.scrollIntoView({ block: "start" });
}

/** What a paper's method is called. @param {Lab} lab @param {PaperList["papers"][number]} one */
const titled = (lab, { method, title }) => (method ? titleOf(method, lab) : title);

/** @param {string} method @param {Lab} lab */
const titleOf = (method, { session }) =>
  session.catalogue?.methods.find((card) => card.name === method)?.title ?? method;

/** Its verdicts, counted. @param {PaperList["papers"][number]} one */
const counts = ({ verdicts }) =>
  h(
    "span.counts",
    {},
    Object.keys(SIGNS)
      .filter((name) => verdicts[name] && COUNTED(name))
      .map((name) => h("span", { "data-verdict": name, title: name }, `${SIGNS[name]} ${verdicts[name]}`)),
  );

/** @param {string} verdict */
const pill = (verdict) =>
  h("span.verdict-pill", { "data-verdict": verdict }, h("i", { "aria-hidden": "true" }, SIGNS[verdict] ?? ""), verdict);

/** Everything about one table or figure. @param {PaperShown} paper @param {Item} item @param {Store} store
 * @param {Lab} lab */
function itemOf(paper, item, store, lab) {
  const printed = item.printed.filter((table) => table.figure);
  const ours = item.ours.filter((table) => table.figure);
  return [
    h("header.paper-head", {}, h("h3", {}, `${item.name}. ${item.shows}`), item.verdict ? pill(item.verdict) : null),
    item.claim ? h("p.claim", {}, h("span.label", {}, "The paper"), item.claim) : null,
    item.verdict ? decided(item) : null,
    printed.length || ours.length || item.stated
      ? h(
          "div.paper-beside",
          {},
          item.verdict ? column(PRINTED, item.stated, [item.setting], printed, paper, item) : null,
          column(HERE, "", [item.here, measured(item)], ours, paper, item),
        )
      : null,
    acts(paper, item, store, lab),
    numbers(paper, item),
  ].filter((part) => part !== null);
}

/** What decides the verdict. @param {Item} item */
function decided(item) {
  const why =
    item.untestable || (item.illustration ? "A scheme or an example: there is nothing to measure in it." : "");
  return h(
    "section.decided",
    { "aria-label": "Evidence" },
    why ? h("p", {}, ...rich(why)) : null,
    item.checks.length
      ? h(
          "ul",
          {},
          item.checks.map(({ says, outcome, evidence }) =>
            h(
              "li",
              { "data-outcome": outcome },
              h("i", { "aria-hidden": "true" }, OUTCOMES[outcome]),
              h("span", {}, says),
              h("span.quiet", {}, evidence),
            ),
          ),
        )
      : null,
    item.checks.length && item.larger ? h("p.quiet", {}, `What it would take: ${item.larger}`) : null,
  );
}

/** How ours was measured. @param {Item} item */
function measured(item) {
  const prompts = Object.entries(item.prompts).map(([task, n]) => `${n} of ${task.replace(/@(.*)/, " ($1)")}`);
  const from = item.source.length ? `From ${item.source.join(", ")}.` : "";
  return [prompts.length ? `Prompts: ${prompts.join(", ")}; ${item.created}. Whiskers: 95 % over prompts.` : "", from]
    .filter(Boolean)
    .join(" ");
}

const [PRINTED, HERE] = ["As the paper prints it", "Here"];

/** @param {string} title @param {string} stated @param {string[]} words @param {readonly Table[]} tables
 * @param {PaperShown} paper @param {Item} item */
function column(title, stated, words, tables, paper, item) {
  const source = [`${paper.title}, ${item.name}. ${title}.`, ...words.filter(Boolean)].join(" ");
  const whose = title === HERE ? "here" : "printed";
  const saved = (/** @type {Table} */ { y }) => ({ source, stem: `${paper.name} ${item.id} ${whose} ${y}` });
  return h(
    "section",
    { "aria-label": title },
    h("h4", {}, title),
    h(
      "div.paper-words",
      {},
      stated ? h("p", {}, stated) : null,
      ...words.filter(Boolean).map((text) => h("p.quiet", {}, text)),
      tables.length || stated
        ? null
        : h("p.quiet", {}, title === HERE ? "Nothing is recorded." : "No numbers printed."),
    ),
    h(
      "div.paper-plots",
      {},
      tables.map((table) => (table.figure ? plotted(table.figure, saved(table)) : "")),
    ),
  );
}

/** The chosen models, where they are of the same family as those of an entry; else these. @param {string} own
 * @param {Lab} lab */
function modelsFor(own, { session }) {
  const { catalogue, config } = session;
  const chosen = config?.models ?? "";
  if (!catalogue?.models.includes(own)) return chosen;
  return catalogue.families[chosen] === catalogue.families[own] ? chosen : own;
}

/** Buttons: run it, cases, CSV. @param {PaperShown} paper @param {Item} item @param {Store} store @param {Lab} lab */
function acts(paper, item, store, lab) {
  const { live, cases } = item;
  const { catalogue } = lab.session;
  const canRun = live && catalogue?.models.length;
  const titles = new Map(catalogue?.presets.map((one) => [one.name, one.title]));
  const known = cases.filter((name) => titles.has(name));
  const tables = [...item.printed, ...item.ours];
  if (!canRun && !known.length && !tables.length && !item.command) return null;
  return h(
    "div.row.wrap.paper-acts",
    {},
    canRun
      ? h(
          "button.primary",
          {
            title: `${live.lanes.map((lane) => titleOf(lane.method, lab)).join(", ")} on one problem of ${live.task}`,
            onclick: () => {
              const { lanes, task, prompt, answer, temperature, max_new_tokens } = live;
              const models = modelsFor(live.models, lab);
              lab.session.configure(
                { preset: "", models, lanes: [...lanes], task, prompt, answer, temperature, max_new_tokens },
                "papers",
              );
              store.setOption("room", "compare");
              lab.session.run();
            },
          },
          "Run it here, on one prompt",
        )
      : null,
    known.map((name) =>
      h(
        "button",
        { onclick: () => show({ case: name, view: "text", lane: null, at: null }, store, lab) },
        `Case: ${titles.get(name)}`,
      ),
    ),
    tables.length
      ? h(
          "button.plain",
          {
            onclick: () => {
              const { columns, rows } = flat(item);
              download(new Blob([csv(columns, rows)], { type: "text/csv" }), `${paper.name}-${item.id}.csv`);
            },
          },
          "CSV",
        )
      : null,
    item.command ? commandline(item.command) : null,
  );
}

/** All numbers of an item, a number a row, with the ends of its 95 % interval where it has one. @param {Item} item */
function flat(item) {
  const columns = ["whose", "table", "measure", "row", "column", "value", "low", "high"];
  /** @param {string} whose @param {readonly Table[]} tables */
  const of = (whose, tables) =>
    tables.flatMap((table) =>
      table.rows.flatMap((row) =>
        row.cells.map((cell, i) => [whose, table.title, table.y, row.name, table.columns[i], ...parts(cell)]),
      ),
    );
  return { columns, rows: [...of("paper", item.printed), ...of("here", item.ours)] };
}

/** A number and the ends of its interval, of "93.8 (86.2 to 97.3)". @param {string | null} cell */
const parts = (cell) => {
  const [, ...found] = /^(\S+)(?: \((\S+) to (\S+)\))?$/.exec(cell ?? "") ?? [];
  return [0, 1, 2].map((i) => (found[i] ? Number(found[i]) : null));
};

const FEW = 5; // entries that fit in a line above the chosen one
const WIDE = 6; // columns with intervals that fit beside each other

/** A cell, its interval apart: in a wide table it stands in a line of its own. @param {string} cell */
function apart(cell) {
  const [number, interval] = minus(cell).split(/ (?=\()/);
  return interval ? [`${number} `, h("span.interval", {}, interval)] : number;
}

/** The tables as numbers. @param {PaperShown} paper @param {Item} item */
function numbers(paper, item) {
  /** @type {[string, Table][]} */
  const tables = [
    ...item.printed.map((table) => /** @type {[string, Table]} */ (["Printed", table])),
    ...item.ours.map((table) => /** @type {[string, Table]} */ (["Here", table])),
  ];
  if (!tables.length) return null;
  return h(
    "details.paper-numbers",
    { open: !item.verdict },
    h("summary", {}, "All numbers as tables"),
    tables.map(([whose, table]) => {
      const title = [`${whose}: ${table.title}`, table.y].filter(Boolean).join(", ");
      return h(
        "div.scroll",
        { tabindex: "0", role: "region", "aria-label": `${paper.name} ${item.id}, ${title}` },
        h(
          table.columns.length > WIDE ? "table.numbers.wide" : "table.numbers",
          {},
          h("caption", {}, title),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("td"),
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
                h("th", { scope: "row" }, row.name),
                row.cells.map((cell) => h("td", {}, apart(cell ?? "–"))),
              ),
            ),
          ),
        ),
      );
    }),
  );
}
