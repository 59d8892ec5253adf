// @ts-check
// Filters over mined mismatches: which are listed.

import { h } from "../dom.js";
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
  const { filter } = ctx.kept;
  const tasks = [...new Set(ctx.all.map((item) => item.task))];
  const count = h("span.quiet", { role: "status" });
  const recount = () => {
    count.textContent = `${ctx.items.length} of ${ctx.all.length}`;
  };
  const set = (/** @type {keyof MinedFilter} */ name) => (/** @type {Event} */ event) => {
    const { value } = /** @type {HTMLInputElement | HTMLSelectElement} */ (event.target);
    if (name === "low" || name === "high") filter[name] = value === "" ? null : Number(value);
    else filter[name] = value;
    ctx.draw();
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
