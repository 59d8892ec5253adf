// @ts-check
// The list of mismatches in order of position, and the fork and review of the one that is open.

import { nameOf } from "../columns.js";
import { h, visible } from "../dom.js";
import { importance } from "../draw.js";
import { flagMark } from "../flagmarks.js";
import { pieceOfLabel } from "../mined.js";
import { reviewPanel } from "../review/panel.js";
import { TOKENS } from "../typing.js";
import { forkView, stepper } from "./fork.js";

/**
 * @typedef {import("../types/workshop.js").Item} Item
 * @typedef {import("../types/workshop.js").Workshop} Workshop
 */

const MOST = 400; // rows drawn at once
const CHOSEN = "mismatch-chosen"; // the row that is open
/** @type {Record<string, string>} */
export const MARKS = { agree: "✓", disagree: "≠", unsure: "?" };

/** @param {HTMLElement} spot @param {Workshop} ctx */
export function drawMismatches(spot, ctx) {
  const { items, kept } = ctx;
  if (!items.length)
    return void spot.append(
      h("p.v-empty", {}, ctx.all.length ? "No mismatch passes the filters." : "Nothing is mined yet."),
    );
  const at = Math.max(
    0,
    items.findIndex((item) => item.key === kept.selected),
  );
  const item = items[at];
  const go = (/** @type {number} */ by) => ctx.select(items[Math.max(0, Math.min(items.length - 1, at + by))].key);
  spot.append(
    h(
      "div.forkroom",
      {},
      list(items, at, ctx),
      h(
        "div.forkside",
        {},
        stepper(
          () => go(-1),
          () => go(1),
          `${at + 1} of ${items.length}`,
        ),
        forkView(item),
        reviewPanel(askedOf(item, ctx), ctx),
        runLinks(item, ctx),
      ),
    ),
  );
}

/** @param {Item} item @param {Workshop} ctx @returns {import("../review/panel.js").Asked} */
function askedOf(item, ctx) {
  const done = ctx.all.filter((one) => ctx.reviews.items[one.key]?.verdict).length;
  return {
    key: item.key,
    question: `Is this label right: ${item.label.important ? "important" : "not important"}?`,
    note: "Note on this mismatch",
    told:
      `${done} of ${ctx.all.length} reviewed. Keys: j, k next and previous; a agree, d disagree, u unsure, ` +
      "s star, n note. Kept in this browser.",
    keys: true,
  };
}

/** @param {readonly Item[]} items @param {number} at @param {Workshop} ctx */
function list(items, at, ctx) {
  const first = Math.max(0, Math.min(at - MOST / 2, items.length - MOST));
  const shown = items.slice(first, first + MOST);
  /** @type {HTMLElement[]} */
  const rows = [];
  let last = "";
  shown.forEach((item, i) => {
    const id = item.set + item.prompt.prompt;
    if (id !== last)
      rows.push(
        h(
          "li.promptname",
          { role: "presentation", title: item.prompt.text || null },
          h("span", {}, question(item.prompt.text || item.prompt.prompt)),
        ),
      );
    last = id;
    rows.push(row(item, first + i === at, ctx));
  });
  const more =
    items.length > MOST ? h("p.quiet", {}, `Rows ${first + 1} to ${first + shown.length} of ${items.length}.`) : null;
  return h(
    "div.mismatchside",
    {},
    heading(shown),
    h(
      "ul.mismatchlist",
      {
        role: "listbox",
        tabindex: 0,
        [TOKENS]: true,
        "aria-label": "Mismatches in order of position; j and k step",
        "aria-activedescendant": CHOSEN,
      },
      rows,
    ),
    more,
  );
}

/** What the columns are, above the list; rows say it of their scores themselves. @param {readonly Item[]} shown */
function heading(shown) {
  const scored = shown.some((item) => item.label.score != null);
  return h(
    "div.mismatchhead",
    { "aria-hidden": "true" },
    h("span.at", { title: "Position in the response" }, "at"),
    h("span"),
    h("span", {}, "target → draft"),
    h("span.scored", { title: "Importance that the judge gives" }, scored ? "judge score" : ""),
    h("span.verdictmark", { title: "Your review" }, "you"),
  );
}

/** @param {Item} item @param {boolean} selected @param {Workshop} ctx */
function row(item, selected, ctx) {
  const { label } = item;
  const review = ctx.reviews.items[item.key];
  return h(
    "li.mismatch",
    {
      role: "option",
      id: selected ? CHOSEN : null,
      "aria-selected": String(selected),
      onclick: () => ctx.select(item.key),
    },
    h("span.at", {}, String(label.t)),
    flagMark("mined", label.important),
    h(
      "span.swapped",
      {},
      h("code", {}, visible(pieceOfLabel(label, "target"))),
      " → ",
      h("code", {}, visible(pieceOfLabel(label, "draft"))),
    ),
    h("span.scored", {}, label.score == null ? "" : [h("span.unseen", {}, "judge score "), importance(label.score)]),
    h(
      "span.verdictmark",
      { title: review?.verdict ? `you: ${review.verdict}` : "" },
      `${MARKS[review?.verdict ?? ""] ?? ""}${review?.star ? " ★" : ""}`,
    ),
  );
}

/** The question without its cue. @param {string} text */
const question = (text) =>
  text
    .replace(/^(Question|Task): /, "")
    .replace(/\n(Answer|Code):$/, "")
    .split("\n")[0];

/** Where this mismatch lies in the lanes, or a way to run its prompt. @param {Item} item @param {Workshop} ctx */
function runLinks(item, { store, lab }) {
  const runs = [...store.runs.values()].filter((run) => run.head?.prompt === item.prompt.text);
  const reach = runs.filter(
    (run) =>
      item.prompt.final.slice(0, item.label.t).every((id, i) => run.tokens[i]?.token === id) &&
      run.tokens[item.label.t],
  );
  const go = (/** @type {import("../types/store.js").Run} */ run) => {
    lab.ui.close();
    store.setCursor({ run: run.key, pos: item.label.t });
  };
  if (reach.length)
    return h(
      "p.runlinks",
      {},
      "On the page: ",
      reach.map((run) => h("button", { onclick: () => go(run) }, `${nameOf(store, run)}, position ${item.label.t}`)),
    );
  if (runs.length) return h("p.quiet", {}, "The runs on the page took another way before this position.");
  const { text: prompt } = item.prompt;
  if (!prompt) return null;
  return h("p.runlinks", {}, h("button", { onclick: () => take(prompt, lab) }, "Take this prompt to the run bar"));
}

/** @param {string} prompt @param {Workshop["lab"]} lab */
function take(prompt, lab) {
  lab.session.configure({ preset: "", prompt, task: undefined, answer: undefined });
  lab.ui.close();
}
