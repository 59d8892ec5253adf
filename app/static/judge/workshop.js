// @ts-check
// The judge workshop: mined mismatches, what a swap did, reviews of them, and what a judge makes of them.

import { commandline } from "../commandline.js";
import { count, fresh, h, said } from "../dom.js";
import { percent } from "../draw.js";
import { download } from "../figure.js";
import { readMined } from "../mined.js";
import { carries, packed } from "../packed.js";
import { refocused } from "../refocus.js";
import { drawReviewers } from "../review/reviewers.js";
import { change, keep, load, onReviews } from "../review/reviews.js";
import { noTab } from "../rooms/address.js";
import { chorded, typesInto } from "../typing.js";
import { drawCurves } from "./curves.js";
import { filterBar, filterIn, passes, saidIn } from "./filters.js";
import { minePanel } from "./minepanel.js";
import { createMiner, MINE } from "./miner.js";
import { drawMismatches } from "./mismatches.js";
import { drawAccuracy } from "./results.js";
import { drawTable } from "./table.js";

/**
 * @typedef {import("../types/lab.js").Lab} Lab
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/workshop.js").Kept} Kept
 * @typedef {import("../types/workshop.js").Workshop} Workshop
 */

/** @type {[id: string, name: string, draw: (spot: HTMLElement, ctx: Workshop) => unknown][]} */
const TABS = [
  ["mismatches", "Mismatches", drawMismatches],
  ["table", "Table", drawTable],
  ["curves", "Judge", drawCurves],
  ["accuracy", "Accuracy", drawAccuracy],
  ["reviewers", "Reviewers", drawReviewers],
];
/** Those that this page can fill. */
const tabsHere = () => TABS.filter(([id]) => id !== "accuracy" || carries("evaluations"));
/** @param {string} id */
const isTab = (id) => tabsHere().some(([known]) => known === id);
const LEAD =
  "A mismatch is a place where the draft model would write another token than the target wrote. Mining puts that " +
  "token there and lets the target go on: the mismatch is important if the final answer changes.";
const NONE = {
  served: "No mined set is recorded. Mine live, or open a file.",
  packed: "No mined set is about these prompts. Open a file of one.",
};
const ALL = "all recorded";
const GONE = "The mismatch that this link names is in no set here: it was mined on another page, or is a file's.";
/** A mismatch by its set, its prompt and its tokens. @param {import("../types/workshop.js").Item} item */
const placeIn = ({ set, prompt, label }) => [set, prompt.prompt, label.t, label.draft_token].join("~");
const FILTERED = new Set(["mismatches", "table"]);

/** What stays when the drawer is closed. @type {Kept} */
const kept = {
  tab: "mismatches",
  selected: null,
  threshold: null,
  form: { task: "arithmetic", source: "heldout", n: 4, naive: false },
};
/** @type {import("../types/workshop.js").Miner | null} */
let miner = null;
/** @type {Record<string, number>} */
const STEPS = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };
/** @type {Record<string, import("../types/workshop.js").Opinion>} */
const VERDICT_KEYS = { a: "agree", d: "disagree", u: "unsure" };

/** @param {HTMLElement} body @param {Store} store @param {Lab} lab @param {string} [wanted] key of an item to open */
export function drawWorkshop(body, store, lab, wanted) {
  miner ??= createMiner(lab);
  const { mined } = lab;
  const reviews = load();
  const none = noTab(
    "judge",
    store.options.judge,
    tabsHere().map(([id]) => id),
  );
  if (none) lab.ui.notify(none);
  else kept.tab = store.options.judge;
  kept.selected = wanted ?? kept.selected ?? reviews.last;
  if (wanted) store.setOption("only", "");
  /** @type {Record<"about" | "tabs" | "filters" | "spot", HTMLElement> & {source: HTMLSelectElement}} */
  const parts = {
    about: h("p.quiet", { "aria-live": "polite" }),
    source: h("select", { "aria-label": "Mined set", onchange: () => show(parts.source.value) }),
    tabs: h("div.v-tabs", { role: "tablist", "aria-label": "Workshop" }),
    filters: h("div"),
    spot: h("div.workspot", { id: "workspot", role: "tabpanel" }),
  };
  /** @type {HTMLInputElement} */
  const file = h("input", {
    type: "file",
    accept: ".jsonl",
    hidden: true,
    "aria-label": "Open a mined file",
    onchange: () => openFile(file),
  });
  /** @type {ReturnType<typeof filterBar> | null} */
  let bar = null;
  let wrong = ""; // why the recorded sets are not there
  /** @type {Workshop} */
  const ctx = {
    store,
    lab,
    kept,
    reviews,
    get all() {
      return itemsOf();
    },
    get items() {
      const { filter } = ctx;
      return itemsOf().filter((item) => passes(item, filter, reviews));
    },
    get filter() {
      return filterIn(store.options.only);
    },
    pass: (filter) => store.setOption("only", saidIn(filter)),
    head: () => mined.sets.get(mined.shown)?.head ?? null,
    select(key, how = {}) {
      kept.selected = reviews.last = key;
      store.setOption("mismatch", placeOf(key));
      save();
      if (how.tab && how.tab !== kept.tab) turn(how.tab);
      else draw();
    },
    review(key, given, quiet) {
      change(reviews, key, given);
      save();
      if (!quiet) draw();
    },
    save,
    draw,
  };
  const mine = packed() ? null : minePanel(store, lab, miner, kept.form, () => show(MINE));
  const root = h(
    "div.workshop.v-view",
    {},
    h("p", {}, LEAD),
    h(
      "div.row.tools",
      {},
      h("label.field", {}, h("span", {}, "Mined set"), parts.source),
      h("button", { onclick: () => file.click() }, "Open a file"),
      h("button", { onclick: exportSet }, "Export"),
      file,
    ),
    parts.about,
    mine,
    parts.tabs,
    parts.filters,
    parts.spot,
  );
  body.append(root);

  const later = () => store.frame("workshop", draw);
  const gone = [
    mined.on(later),
    store.on("theme", later),
    onReviews((elsewhere) => {
      if (elsewhere) store.frame("workshop", () => refocused(root, draw));
    }),
    store.on("options", (name) => {
      if (name === "mismatch" && store.options.mismatch !== placeOf(kept.selected) && sought()) draw();
      if (name === "only" || name === "by") draw();
      if (name === "set" && store.options.set !== mined.shown) {
        mined.shown = isSet(store.options.set) ? store.options.set : "";
        sought();
        draw();
      }
      if (name !== "judge" || !isTab(store.options.judge) || kept.tab === store.options.judge) return;
      kept.tab = store.options.judge;
      draw();
    }),
  ];
  /** @type {HTMLElement | null} */
  const dialog = body.closest("dialog, [data-room]");
  parts.tabs.addEventListener("keydown", aside);
  dialog?.addEventListener("keydown", keys);
  dialog?.addEventListener("close", leave, { once: true });
  open();

  /** Open a tab; it is part of the address. @param {string} id */
  function turn(id) {
    kept.tab = id;
    store.setOption("judge", id);
    draw();
  }

  /** The tab beside, as in the other rows of tabs. @param {KeyboardEvent} event */
  function aside(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || chorded(event)) return;
    event.preventDefault();
    const ids = tabsHere().map(([id]) => id);
    turn(ids[(ids.indexOf(kept.tab) + by + ids.length) % ids.length]);
    /** @type {HTMLElement | null} */
    const chosen = parts.tabs.querySelector('[aria-selected="true"]');
    chosen?.focus();
  }

  function save() {
    if (!keep(reviews)) lab.ui.notify("This browser keeps no data: export your reviews before you close the page.");
  }

  function itemsOf() {
    if (mined.shown === ALL) return (mined.list ?? []).flatMap((set) => mined.sets.get(set.name)?.items ?? []);
    return mined.sets.get(mined.shown)?.items ?? [];
  }

  async function open() {
    wrong = "";
    try {
      const list = await mined.recorded();
      await Promise.all(list.map((set) => mined.open(set.name)));
    } catch (error) {
      wrong = said(error);
      lab.ui.notify(wrong);
    }
    if (!root.isConnected) return;
    const { set } = store.options;
    if (isSet(set)) mined.shown = set;
    else if (set && !wrong) lab.ui.notify(noTab("set", set.slice(0, 40), [...mined.sets.keys()]));
    if (wanted) store.setOption("mismatch", placeOf(wanted));
    if (!sought() && !wrong) lab.ui.notify(GONE);
    draw();
  }

  const everyItem = () => [...mined.sets.values()].flatMap(({ items }) => items);

  /** The place of a mismatch in an address, whose key holds its whole prompt. @param {string | null} key */
  function placeOf(key) {
    const item = everyItem().find((one) => one.key === key);
    return item ? placeIn(item) : "";
  }

  /** Choose what the address names, in its set; tells whether it is there. */
  function sought() {
    const asked = store.options.mismatch;
    if (!asked) return true;
    const item = everyItem().find((one) => placeIn(one) === asked);
    if (!item) return false;
    kept.selected = item.key;
    if (mined.shown === ALL) return true;
    mined.shown = item.set;
    if (store.options.set) store.setOption("set", item.set);
    return true;
  }

  /** @param {string} name of a set */
  const isSet = (name) => mined.sets.has(name) || (name === ALL && (mined.list?.length ?? 0) > 1);

  /** @param {string} name of a set; a mismatch of another is none in it */
  function show(name) {
    mined.shown = name;
    store.setOption("set", name);
    if (!itemsOf().some((item) => placeIn(item) === store.options.mismatch)) store.setOption("mismatch", "");
    mined.emit();
  }

  /** @param {HTMLInputElement} input */
  async function openFile(input) {
    const given = input.files?.[0];
    input.value = "";
    if (!given) return;
    try {
      mined.put(readMined(await given.text(), given.name));
      show(given.name);
    } catch (error) {
      lab.ui.notify(said(error));
    }
  }

  function exportSet() {
    const set = mined.sets.get(mined.shown);
    if (!set) return lab.ui.notify("Choose one set to export.");
    download(
      new Blob([set.head, ...set.prompts].map((line) => `${JSON.stringify(line)}\n`)),
      `mined-${set.head.task}.jsonl`,
    );
  }

  /** What had the focus keeps it, so that keys go on. */
  function draw() {
    if (!root.isConnected) return leave();
    refocused(root, fill);
  }

  function fill() {
    mined.shown ||= mined.list?.find((set) => !set.naive)?.name ?? "";
    const names = [...new Set([...(mined.list ?? []).map((set) => set.name), ...mined.sets.keys()])];
    parts.source.replaceChildren(
      ...[...names, ...((mined.list?.length ?? 0) > 1 ? [ALL] : [])].map((name) =>
        h("option", { value: name, selected: name === mined.shown }, title(name)),
      ),
    );
    const told = about();
    fresh(
      parts.about,
      told.map((part) => (typeof part === "string" ? part : part.textContent)),
      () => told,
    );
    parts.tabs.replaceChildren(
      ...tabsHere().map(([id, words]) =>
        h(
          "button.v-tab",
          {
            type: "button",
            role: "tab",
            id: `worktab-${id}`,
            tabindex: kept.tab === id ? 0 : -1,
            "aria-selected": String(kept.tab === id),
            "aria-controls": "workspot",
            "data-tab": id,
            onclick: () => turn(id),
          },
          words,
        ),
      ),
    );
    if (FILTERED.has(kept.tab)) {
      if (bar?.element.isConnected && parts.filters.contains(document.activeElement)) bar.recount();
      else {
        bar = filterBar(ctx);
        parts.filters.replaceChildren(bar.element);
      }
    } else parts.filters.replaceChildren();
    parts.spot.setAttribute("aria-labelledby", `worktab-${kept.tab}`);
    const [, , draws] = TABS.find(([id]) => id === kept.tab) ?? TABS[0];
    const scroll = parts.spot.querySelector(".mismatchlist")?.scrollTop ?? 0;
    parts.spot.replaceChildren();
    draws(parts.spot, ctx);
    const list = parts.spot.querySelector(".mismatchlist");
    if (!list) return;
    list.scrollTop = scroll;
    reveal(list);
  }

  /** @param {string} name of a set */
  function title(name) {
    const recorded = mined.list?.find((set) => set.name === name);
    return recorded ? `${name} (recorded, ${count(recorded.prompts, "prompt")})` : name;
  }

  function about() {
    const items = itemsOf();
    if (!items.length && !mined.sets.has(mined.shown))
      return [
        mined.list && !mined.shown ? NONE[packed() ? "packed" : "served"] : wrong || "Reading the recorded sets.",
      ];
    const important = items.filter((item) => item.label.important).length;
    const set = mined.sets.get(mined.shown);
    const models = set?.head.models ?? {};
    const recorded = mined.list?.find((one) => one.name === mined.shown);
    const prompts = count(new Set(items.map((item) => item.set + item.prompt.prompt)).size, "prompt");
    const mismatches = `${items.length} mismatch${items.length === 1 ? "" : "es"}`;
    const share = items.length ? ` (${percent(important / items.length)})` : "";
    const naive = set?.head.naive ? ", each mismatch by itself (naive)" : "";
    return [
      `${prompts}, ${mismatches}, ${important} important${share}. `,
      set ? `Mined with ${models.target?.id ?? "?"} and ${models.draft?.id ?? "?"}${naive}. ` : "",
      recorded ? h("span", {}, "Recorded by ", commandline(recorded.command)) : "",
    ];
  }

  /** @param {KeyboardEvent} event */
  function keys(event) {
    if (!root.isConnected) return leave();
    if (event.defaultPrevented || chorded(event) || typesInto(event.target) || !FILTERED.has(kept.tab)) return;
    const step = STEPS[event.key];
    const verdict = VERDICT_KEYS[event.key];
    const list = ctx.items;
    const at = list.length
      ? Math.max(
          0,
          list.findIndex((item) => item.key === kept.selected),
        )
      : -1;
    if (step && list.length) ctx.select(list[Math.max(0, Math.min(list.length - 1, at + step))].key);
    else if (verdict && at >= 0)
      ctx.review(list[at].key, { verdict: reviews.items[list[at].key]?.verdict === verdict ? "" : verdict });
    else if (event.key === "s" && at >= 0) ctx.review(list[at].key, { star: !reviews.items[list[at].key]?.star });
    else if (event.key === "n" && kept.tab === "mismatches") parts.spot.querySelector("textarea")?.focus();
    else return;
    event.preventDefault();
  }

  function leave() {
    for (const off of gone) off();
    dialog?.removeEventListener("keydown", keys);
    mine?.dispatchEvent(new Event("close"));
  }
}

/** Scroll a list to its chosen row, below the prompt's name that stays at its top; the page stays where it is.
 * @param {Element} list */
function reveal(list) {
  const row = list.querySelector('[aria-selected="true"]');
  if (!row) return;
  const [box, spot] = [list.getBoundingClientRect(), row.getBoundingClientRect()];
  const head = list.querySelector(".promptname")?.getBoundingClientRect().height ?? 0;
  if (spot.top < box.top + head) list.scrollTop -= box.top + head - spot.top;
  else if (spot.bottom > box.bottom) list.scrollTop += spot.bottom - box.bottom + 1;
}
