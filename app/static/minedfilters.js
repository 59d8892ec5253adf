/** Filters over mined mismatches: which are listed. */

import { h } from "./dom.js";
import { pieceOfLabel } from "./mined.js";

const LABELS = [
  ["", "any label"],
  ["important", "important"],
  ["unimportant", "not important"],
];
const REVIEWED = [
  ["", "reviewed or not"],
  ["yes", "reviewed"],
  ["no", "not reviewed"],
  ["star", "starred"],
  ["disagree", "I disagree"],
  ["unsure", "I am unsure"],
];

/** @param {any} item @param {any} filter {task, label, token, low, high, reviewed} @param {any} reviews
 * @returns {boolean} */
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

function reviewed(review, wanted) {
  if (!wanted) return true;
  if (wanted === "star") return Boolean(review?.star);
  if (wanted === "yes" || wanted === "no") return Boolean(review?.verdict) === (wanted === "yes");
  return review?.verdict === wanted;
}

/** The bar of filters; typing keeps its focus. @param {any} ctx @returns {HTMLElement} */
export function filterBar(ctx) {
  const { filter } = ctx.kept;
  const tasks = [...new Set(ctx.all.map((item) => item.task))];
  const count = h("span.quiet", { role: "status" });
  const set = (name) => (event) => {
    const { value } = event.target;
    filter[name] = name === "low" || name === "high" ? (value === "" ? null : Number(value)) : value;
    ctx.draw();
    bar.recount();
  };
  const choice = (name, words, options) =>
    h(
      "select",
      { "aria-label": words, onchange: set(name) },
      options.map(([value, text]) => h("option", { value, selected: (filter[name] ?? "") === value }, text)),
    );
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
  const bar = h(
    "div.minedfilters",
    { role: "group", "aria-label": "Filters" },
    tasks.length > 1 ? choice("task", "Task", [["", "any task"], ...tasks.map((task) => [task, task])]) : null,
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
  bar.recount = () => (count.textContent = `${ctx.items.length} of ${ctx.all.length}`);
  bar.recount();
  return bar;
}
