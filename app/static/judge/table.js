// @ts-check
// The mined data as a table: one row a mismatch, sorted by any column; a row opens its fork.

import { count, h, visible } from "../dom.js";
import { importance } from "../draw.js";
import { download } from "../figure.js";
import { pieceOfLabel } from "../mined.js";
import { csv } from "../save.js";

/**
 * @typedef {import("../types/workshop.js").Item} Item
 * @typedef {import("../types/workshop.js").Review} Review
 * @typedef {string | number | null} Cell
 */

const MOST = 300;
/** @type {[string, (item: Item, review: Review | undefined) => Cell][]} */
const COLUMNS = [
  ["task", (item) => item.task],
  ["prompt", (item) => item.prompt.prompt],
  ["position", (item) => item.label.t],
  ["target", (item) => pieceOfLabel(item.label, "target")],
  ["draft", (item) => pieceOfLabel(item.label, "draft")],
  ["label", (item) => (item.label.important ? "important" : "not important")],
  ["target's answer", (item) => item.label.target_answer],
  ["answer after the swap", (item) => item.label.draft_answer],
  ["judge score", (item) => item.label.score ?? null],
  ["verdict", (_, review) => review?.verdict ?? ""],
  ["star", (_, review) => (review?.star ? "★" : "")],
  ["note", (_, review) => review?.note ?? ""],
];
/** What the table goes by, as the link has it: a column, with a minus before it where it falls.
 * @param {string} said */
const orderOf = (said) => ({ by: said.replace(/^-/, ""), down: said.startsWith("-") });

/** @param {HTMLElement} spot @param {import("../types/workshop.js").Workshop} ctx */
export function drawTable(spot, ctx) {
  /** @param {Item} item @returns {Review | undefined} */
  const review = (item) => ctx.reviews.items[item.key];
  const order = orderOf(ctx.store.options.by);
  const read = COLUMNS.find(([name]) => name === order.by)?.[1];
  const items = read ? inOrder(ctx.items, (item) => read(item, review(item)), order.down) : ctx.items;
  const columns = COLUMNS.filter(
    ([name, value]) => name === "verdict" || items.some((item) => (value(item, review(item)) ?? "") !== ""),
  );
  const sort = (/** @type {string} */ name) => {
    ctx.store.setOption("by", order.by === name && !order.down ? `-${name}` : name);
  };
  const all = () =>
    csv(
      COLUMNS.map(([name]) => name),
      items.map((item) => COLUMNS.map(([, value]) => value(item, review(item)))),
    );
  spot.append(
    h(
      "div.row.tools",
      {},
      h(
        "span.quiet",
        {},
        items.length > MOST
          ? `The first ${MOST} of ${items.length} rows; the file holds all.`
          : count(items.length, "row"),
      ),
      h("button", { onclick: () => download(new Blob([all()], { type: "text/csv" }), "mismatches.csv") }, "CSV"),
    ),
    h(
      "div.tablebox",
      { tabindex: 0, role: "region", "aria-label": "Table of mismatches" },
      h(
        "table.mined",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            columns.map(([name]) =>
              h(
                name === "position" ? "th.number" : "th",
                { scope: "col", "aria-sort": order.by === name ? (order.down ? "descending" : "ascending") : "none" },
                h(
                  "button.plain",
                  { "aria-label": name, onclick: () => sort(name) }, // the order is told by the column
                  name,
                  order.by === name ? (order.down ? " ↓" : " ↑") : "",
                ),
              ),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          items.slice(0, MOST).map((item) =>
            h(
              "tr",
              {
                "aria-selected": String(item.key === ctx.kept.selected),
                onclick: () => ctx.select(item.key, { tab: "mismatches" }),
              },
              columns.map(([name, value]) =>
                cell(name, value(item, review(item)), () => ctx.select(item.key, { tab: "mismatches" })),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {string} name @param {Cell} value @param {() => void} open */
function cell(name, value, open) {
  const text =
    value == null ? "–" : typeof value === "number" && name === "judge score" ? importance(value) : String(value);
  if (name === "position")
    return h("td.number", {}, h("button.plain", { onclick: open, title: "Open the fork" }, text));
  return h(
    name === "judge score" ? "td.score" : typeof value === "number" ? "td.number" : "td",
    { title: text.length > 40 ? text : null },
    name === "target" || name === "draft" ? h("code", {}, visible(text)) : text,
  );
}

/** Sorted by what is read of each, rising or falling; where there is nothing, last.
 * @template T @param {readonly T[]} items @param {(item: T) => Cell} read @param {boolean} down @returns {T[]} */
export function inOrder(items, read, down) {
  const none = (/** @type {Cell} */ cell) => cell == null || cell === "";
  return [...items].sort((one, other) => {
    const [a, b] = [read(one), read(other)];
    if (none(a) || none(b)) return Number(none(a)) - Number(none(b));
    return compare(a, b) * (down ? -1 : 1);
  });
}

/** @param {Cell} a @param {Cell} b */
function compare(a, b) {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
}
