// @ts-check
// The window that the target read beside a draft: what it predicted of the coming tokens, a row for each pass ago,
// below the text that it came to be.

import { h } from "../dom.js";
import { pieceOf } from "../draw.js";
import { givenOf } from "../looks.js";
import { word } from "../words.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {{piece: string, came: boolean}} Place  came: the text has this token there
 * @typedef {{first: number, text: string[], ages: string[], rows: (Place | null)[][], read: number,
 *   came: number}} Window
 */

const SHORT = 9; // characters of a piece

/** The window of a round by positions of the text, from the first that the round decides on; null without one.
 * @param {Run} run @param {Round | null | undefined} round @returns {Window | null} */
export function windowOf(run, round) {
  const levels = round?.extras.window;
  if (!round || !levels?.length) return null;
  const starts = levels.map((_, level) => Math.max(level - 1, 0));
  const width = Math.max(...levels.map((tokens, level) => tokens.length + (starts[level] ?? 0)));
  const there = Array.from({ length: width }, (_, i) => run.tokens[round.start + i]);
  const rows = levels.map((tokens, level) =>
    there.map((token, i) => {
      const id = tokens[i - (starts[level] ?? 0)];
      return id === undefined ? null : { piece: pieceOf(run, id, SHORT), came: token?.token === id };
    }),
  );
  const drawn = round.index < Number(run.head?.knobs.ngram ?? 0) - 1; // level 0 is still what the window began with
  const places = rows.flat().filter((place) => place !== null);
  return {
    first: round.start,
    text: there.map((token) => (token ? pieceOf(run, token.token, SHORT) : "")),
    ages: rows.map((_, level) => (level === 0 && drawn ? givenOf(run) : age(rows.length - level))),
    rows,
    read: places.length,
    came: places.filter((place) => place.came).length,
  };
}

/** When a level was predicted, in words: the newest in the pass before this one. @param {number} passes ago */
const age = (passes) => (passes === 1 ? "last pass" : `${passes} passes ago`);

/** As a table that can be folded. @param {Window} window @param {boolean} open */
export function windowTable({ first, text, ages, rows, read, came }, open) {
  const cell = (/** @type {Place | null} */ place) =>
    place ? h(place.came ? "td.came" : "td", {}, place.came ? h("b", {}, place.piece) : place.piece) : h("td");
  return h(
    "details.v-window",
    { open },
    h("summary", {}, `Window: ${read} tokens read beside the draft, ${came} of them as in the text`),
    h("p.v-told", {}, `The text from position ${first} on, and what the `, word("window", "window"), " holds for it"),
    h(
      "div.v-scroll",
      { tabindex: 0, role: "group", "aria-label": "The window by places of the text" },
      h(
        "table",
        {},
        h("tr", {}, h("th", { scope: "row" }, "text"), ...text.map((piece) => h("td", {}, piece))),
        ...rows.map((row, level) => h("tr", {}, h("th", { scope: "row" }, ages[level]), ...row.map(cell))),
      ),
    ),
  );
}
