// @ts-check
// Reviews of mined labels: verdict, note and star an item, kept in this browser, as JSON lines for others.

import { agreement } from "./kappa.js";

/**
 * @typedef {import("./types/workshop.js").Item} Item
 * @typedef {import("./types/workshop.js").Opinion} Opinion
 * @typedef {import("./types/workshop.js").Review} Review
 * @typedef {import("./types/workshop.js").Reviews} Reviews
 * @typedef {import("./types/workshop.js").OwnReviews} OwnReviews
 */

const PLACE = "draftscope.reviews";
const MAX = 20_000;
const LONGEST = 4000; // characters of a note
/** @type {Review} */
const NONE = { verdict: "", note: "", star: false, made: "" };
/** @type {readonly Opinion[]} */
export const VERDICTS = ["agree", "disagree", "unsure"];

/** The reviews of this browser. @returns {OwnReviews} */
export function load() {
  try {
    const kept = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
    return {
      reviewer: String(kept.reviewer ?? ""),
      last: String(kept.last ?? ""),
      items: kept.items && typeof kept.items === "object" ? kept.items : {},
    };
  } catch {
    return { reviewer: "", last: "", items: {} };
  }
}

/** Keep them; false when this browser refuses. @param {OwnReviews} reviews @returns {boolean} */
export function keep(reviews) {
  try {
    localStorage.setItem(PLACE, JSON.stringify(reviews));
    return true;
  } catch {
    return false;
  }
}

/** Change one item's review; one without verdict, note and star is forgotten.
 * @param {Reviews} reviews @param {string} key
 * @param {Partial<Review>} change */
export function change(reviews, key, change) {
  /** @type {Review} */
  const next = { ...(reviews.items[key] ?? NONE), ...change, made: new Date().toISOString() };
  if (next.verdict || next.note || next.star) reviews.items[key] = next;
  else delete reviews.items[key];
}

/** JSON lines: a review with enough of its item to be read alone.
 * @param {Reviews} reviews @param {readonly Item[]} items
 * @returns {string} */
export function exportLines(reviews, items) {
  const known = new Map(items.map((item) => [item.key, item]));
  return Object.entries(reviews.items)
    .map(([key, review]) => {
      const item = known.get(key);
      const about = item
        ? {
            task: item.task,
            prompt: item.prompt.text,
            position: item.label.t,
            target: item.label.target_piece,
            draft: item.label.draft_piece,
            important: item.label.important,
            score: item.label.score ?? null,
          }
        : {};
      return `${JSON.stringify({ kind: "review", reviewer: reviews.reviewer, item: key, ...review, ...about })}\n`;
    })
    .join("");
}

/** The reviews in a file. @param {string} text @returns {Reviews} */
export function readLines(text) {
  /** @type {Record<string, Review>} */
  const items = {};
  let reviewer = "";
  const lines = text.split("\n").filter((line) => line.trim());
  if (!lines.length || lines.length > MAX)
    throw new Error(
      lines.length ? `The file holds ${lines.length} reviews; ${MAX} is the limit.` : "The file is empty.",
    );
  lines.forEach((line, i) => {
    let one = null;
    try {
      one = JSON.parse(line);
    } catch {
      // told below
    }
    const good =
      one &&
      typeof one.item === "string" &&
      (one.verdict === "" || VERDICTS.includes(one.verdict)) &&
      String(one.note ?? "").length <= LONGEST;
    if (!good)
      throw new Error(
        `Line ${i + 1} is no review: it needs an item, a verdict (${VERDICTS.join(", ")} or "") ` +
          `and at most ${LONGEST} characters of note.`,
      );
    reviewer ||= String(one.reviewer ?? "");
    items[one.item] = {
      verdict: one.verdict,
      note: String(one.note ?? ""),
      star: one.star === true,
      made: String(one.made ?? ""),
    };
  });
  return { reviewer, items };
}

/** Agreement over the items that both gave a verdict on.
 * @param {Reviews} first @param {Reviews} second
 * @returns {ReturnType<typeof agreement> & {keys: string[], apart: string[]}} */
export function compare(first, second) {
  const keys = Object.keys(first.items).filter((key) => first.items[key].verdict && second.items[key]?.verdict);
  const verdicts = (/** @type {Reviews} */ of) => keys.map((key) => of.items[key].verdict);
  return {
    ...agreement(verdicts(first), verdicts(second)),
    keys,
    apart: keys.filter((key) => first.items[key].verdict !== second.items[key].verdict),
  };
}
