// @ts-check
// Reviews: verdict, note and star of a mined label or of a place in a run, kept in this browser, as JSON lines for
// others.

import { agreement } from "./kappa.js";

/**
 * @typedef {import("../types/workshop.js").Item} Item
 * @typedef {import("../types/workshop.js").Opinion} Opinion
 * @typedef {import("../types/workshop.js").Review} Review
 * @typedef {import("../types/workshop.js").Reviews} Reviews
 * @typedef {import("../types/workshop.js").OwnReviews} OwnReviews
 * @typedef {import("../types/workshop.js").ReviewedPlace} ReviewedPlace
 */

const PLACE = "draftscope.reviews";
const MAX = 20_000;
const LONGEST = 4000; // characters of a note
const LONGEST_TEXT = 8000; // of any other text, as of an address
const LONGEST_KEY = 1000;
/** @type {Review} */
const NONE = { verdict: "", note: "", star: false, made: "" };
/** @type {readonly Opinion[]} */
export const VERDICTS = ["agree", "disagree", "unsure"];
/** @type {readonly ReviewedPlace["place"][]} */
export const PLACES = ["token", "round", "run"];

/** What a review says of its place in a run, besides which kind of place it is. */
const TEXTS = /** @type {const} */ ([
  ...["run", "trace", "method", "knobs", "models", "prompt", "sampling", "recorded"],
  ...["piece", "draft", "state", "why", "view"],
]);
const NUMBERS = /** @type {const} */ (["seed", "round", "position", "node"]);

/** @type {OwnReviews | null} */
let own = null;
/** They as this browser last kept them: what differs is a change made here. @type {OwnReviews} */
let base = { reviewer: "", last: "", items: {} };
/** The reviews of a second reviewer, until the page is left. @type {{reviews: Reviews | null}} */
export const second = { reviews: null };
/** @type {Set<(elsewhere: boolean) => void>} */
const listeners = new Set();

/** Hear of every change of this browser's reviews; `elsewhere`: in another tab. The answer ends it.
 * @param {(elsewhere: boolean) => void} hear */
export function onReviews(hear) {
  listeners.add(hear);
  return () => listeners.delete(hear);
}

/** @param {boolean} elsewhere */
function tell(elsewhere) {
  for (const hear of listeners) hear(elsewhere);
}

/** The reviews of this browser: the same object for every view. @returns {OwnReviews} */
export function load() {
  if (own) return own;
  own = read() ?? { reviewer: "", last: "", items: {} };
  base = { ...own, items: { ...own.items } };
  return own;
}

/** What this browser keeps; null where it keeps nothing that can be read. @returns {OwnReviews | null} */
function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
    return {
      reviewer: String(kept.reviewer ?? ""),
      last: String(kept.last ?? ""),
      items: Object.fromEntries(Object.entries(kept.items ?? {}).filter(([, one]) => isReview(one))),
    };
  } catch {
    return null;
  }
}

/** Whether what is kept under a name can be shown; an older or a damaged page may have left something else.
 * @param {unknown} one */
const isReview = (one) =>
  isObject(one) &&
  ["verdict", "note", "made"].every((name) => typeof one[name] === "string") &&
  (one.of === undefined || isObject(one.of));

/** @param {unknown} given @returns {given is Record<string, unknown>} */
const isObject = (given) => typeof given === "object" && given !== null;

/** Take up what other tabs have kept, under what was changed here since. @param {OwnReviews} reviews */
function merge(reviews) {
  const found = read();
  if (!found) return;
  const items = { ...found.items };
  for (const key of Object.keys({ ...base.items, ...reviews.items })) {
    if (reviews.items[key] === base.items[key]) continue;
    if (reviews.items[key]) items[key] = reviews.items[key];
    else delete items[key];
  }
  if (reviews.reviewer === base.reviewer) reviews.reviewer = found.reviewer;
  if (reviews.last === base.last) reviews.last = found.last;
  reviews.items = items;
  base = found;
}

/** Keep them beside what other tabs have kept; false when this browser refuses.
 * @param {OwnReviews} reviews @returns {boolean} */
export function keep(reviews) {
  merge(reviews);
  tell(false);
  try {
    localStorage.setItem(PLACE, JSON.stringify(reviews));
  } catch {
    return false;
  }
  base = { ...reviews, items: { ...reviews.items } };
  return true;
}

globalThis.addEventListener?.("storage", ({ key }) => {
  if (key !== null && key !== PLACE) return;
  if (own) merge(own);
  tell(true);
});

/** Change one item's review; one without verdict, note and star is forgotten.
 * @param {Reviews} reviews @param {string} key
 * @param {Partial<Review>} change */
export function change(reviews, key, change) {
  /** @type {Review} */
  const next = { ...(reviews.items[key] ?? NONE), ...change, made: new Date().toISOString() };
  if (next.verdict || next.note || next.star) reviews.items[key] = next;
  else delete reviews.items[key];
}

/** Take up the reviews of a file: of two of one item the later stays.
 * @param {Reviews} reviews @param {Reviews} found */
export function take(reviews, found) {
  for (const [key, one] of Object.entries(found.items))
    if ((reviews.items[key]?.made ?? "") <= one.made) reviews.items[key] = one;
  reviews.reviewer ||= found.reviewer;
}

/** JSON lines: a review with enough of what it is of to be read alone.
 * @param {Reviews} reviews @param {readonly Item[]} items
 * @returns {string} */
export function exportLines(reviews, items) {
  const known = new Map(items.map((item) => [item.key, item]));
  return Object.entries(reviews.items)
    .map(([key, { of, ...review }]) => {
      const about = of ?? labelOf(known.get(key));
      return `${JSON.stringify({ kind: "review", reviewer: reviews.reviewer, item: key, ...review, ...about })}\n`;
    })
    .join("");
}

/** @param {Item | undefined} item */
function labelOf(item) {
  if (!item) return {};
  return {
    task: item.task,
    prompt: item.prompt.text,
    position: item.label.t,
    target: item.label.target_piece,
    draft: item.label.draft_piece,
    important: item.label.important,
    score: item.label.score ?? null,
  };
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
      one.item.length <= LONGEST_KEY &&
      one.item !== "__proto__" &&
      (one.verdict === "" || VERDICTS.includes(one.verdict)) &&
      String(one.note ?? "").length <= LONGEST;
    if (!good)
      throw new Error(
        `Line ${i + 1} is no review: it needs an item, a verdict (${VERDICTS.join(", ")} or "") ` +
          `and at most ${LONGEST} characters of note.`,
      );
    const of = one.place === undefined ? undefined : placeIn(one, i + 1);
    reviewer ||= String(one.reviewer ?? "");
    items[one.item] = {
      verdict: one.verdict,
      note: String(one.note ?? ""),
      star: one.star === true,
      made: String(one.made ?? ""),
      ...(of && { of }),
    };
  });
  return { reviewer, items };
}

/** The place in a run that a line names. @param {Record<string, unknown>} one @param {number} line
 * @returns {ReviewedPlace} */
function placeIn(one, line) {
  const place = PLACES.find((known) => known === one.place);
  const texts = TEXTS.map((name) => [name, one[name] ?? ""]);
  const numbers = NUMBERS.map((name) => [name, one[name] ?? null]);
  const wrong =
    texts.find(([, text]) => typeof text !== "string" || text.length > LONGEST_TEXT) ??
    numbers.find(([, number]) => number !== null && !Number.isSafeInteger(number));
  if (!place || wrong)
    throw new Error(
      `Line ${line} is no review of a run: ${place && wrong ? wrong[0] : "place"} must be ` +
        `${!place ? PLACES.join(", ") : `a ${NUMBERS.some((name) => name === wrong?.[0]) ? "whole number" : "text"}`}.`,
    );
  return /** @type {ReviewedPlace} */ ({ place, ...Object.fromEntries(texts), ...Object.fromEntries(numbers) });
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
