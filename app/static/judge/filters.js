// @ts-check
// Filters over mined mismatches: which are listed.

import { h, tell } from "../dom.js";
import { pieceOfLabel } from "../mined.js";

/**
 * @typedef {import("../types/workshop.js").Item} Item
 * @typedef {import("../types/workshop.js").MinedFilter} MinedFilter
 * @typedef {[value: string, text: string]} Choice
 */

/** @type {Choice[]} */
const LABELS = [
  ["", "any label"],
  ["important", "important"],
  ["unimportant", "not important"],
];
/** @type {Choice[]} */
const REVIEWED = [
  ["", "reviewed or not"],
  ["yes", "reviewed"],
  ["no", "not reviewed"],
  ["star", "starred"],
  ["disagree", "I disagree"],
  ["unsure", "I am unsure"],
];

const LONGEST = 40; // of a task or a token's text

/** The filters as a query, which an address holds. @param {{readonly [name: string]: unknown}} filter */
export function saidIn(filter) {
  const set = Object.entries(filter).filter(([, value]) => value != null && value !== "");
  return new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString();
}

/** The filters of a query; what it has besides, or damaged, is left out. @param {string} text @returns {MinedFilter} */
export function filterIn(text) {
  const query = new URLSearchParams(text);
  const said = (/** @type {string} */ name) => (query.get(name) ?? "").slice(0, LONGEST);
  /** @param {string} name @param {readonly Choice[]} choices */
  const one = (name, choices) => (choices.some(([value]) => value === query.get(name)) ? said(name) : "");
  /** @param {string} name */
  const number = (name) => (said(name) && Number.isFinite(Number(said(name))) ? Number(said(name)) : null);
  return {
    task: said("task"),
    label: one("label", LABELS),
    token: said("token"),
    low: number("low"),
    high: number("high"),
    reviewed: one("reviewed", REVIEWED),
  };
}

/** Whether an item is listed.
 * @param {Item} item @param {MinedFilter} filter @param {import("../types/workshop.js").Reviews} reviews */
export function passes(item, filter, reviews) {
  const { label } = item;
  const review = reviews.items[item.key];
  const token = (filter.token ?? "").toLowerCase();
  return (
    (!filter.task || item.task === filter.task) &&
    (!filter.label || label.important === (filter.label === "important")) &&
    (!token ||
      [pieceOfLabel(label, "target"), pieceOfLabel(label, "draft")].some((piece) =>
        piece.toLowerCase().includes(token),
      )) &&
    (filter.low == null || (label.score != null && label.score >= filter.low)) &&
    (filter.high == null || (label.score != null && label.score <= filter.high)) &&
    reviewed(review, filter.reviewed)
  );
}

/** @param {import("../types/workshop.js").Review | undefined} review @param {string | undefined} wanted */
function reviewed(review, wanted) {
  if (!wanted) return true;
  if (wanted === "star") return Boolean(review?.star);
  if (wanted === "yes" || wanted === "no") return Boolean(review?.verdict) === (wanted === "yes");
  return review?.verdict === wanted;
}

/** The bar of filters; typing keeps its focus. `recount` tells how many are listed.
 * @param {import("../types/workshop.js").Workshop} ctx */
export function filterBar(ctx) {
  const { filter } = ctx;
  const tasks = [...new Set(ctx.all.map((item) => item.task))];
  const count = h("span.quiet", { role: "status" });
  const recount = () => {
    tell(count, `${ctx.items.length} of ${ctx.all.length}`);
  };
  const set = (/** @type {keyof MinedFilter} */ name) => (/** @type {Event} */ event) => {
    const { value } = /** @type {HTMLInputElement | HTMLSelectElement} */ (event.target);
    ctx.pass({ ...ctx.filter, [name]: value });
    recount();
  };
  /** @param {keyof MinedFilter} name @param {string} words @param {Choice[]} options */
  const choice = (name, words, options) =>
    h(
      "select",
      { "aria-label": words, onchange: set(name) },
      options.map(([value, text]) => h("option", { value, selected: (filter[name] ?? "") === value }, text)),
    );
  /** @param {"low" | "high"} name @param {string} words */
  const number = (name, words) =>
    h("input.score", {
      type: "number",
      min: 0,
      max: 1,
      step: 0.01,
      placeholder: words,
      "aria-label": `Judge score ${words}`,
      value: filter[name] ?? "",
      oninput: set(name),
    });
  const scored = ctx.all.some((item) => item.label.score != null);
  const element = h(
    "div.minedfilters",
    { role: "group", "aria-label": "Filters" },
    tasks.length > 1
      ? choice("task", "Task", [["", "any task"], ...tasks.map((task) => /** @type {Choice} */ ([task, task]))])
      : null,
    choice("label", "Label", LABELS),
    h("input", {
      type: "search",
      placeholder: "token text",
      "aria-label": "Token text",
      maxlength: 40,
      value: filter.token ?? "",
      oninput: set("token"),
    }),
    scored ? h("span.scores", {}, h("span.quiet", {}, "score"), number("low", "from"), number("high", "to")) : null,
    choice("reviewed", "Reviewed", REVIEWED),
    count,
  );
  recount();
  return { element, recount };
}
