// @ts-check
// The verdict on one mismatch or place: agree, disagree, or unsure; a note; a star.

import { h } from "../dom.js";
import { VERDICTS } from "./reviews.js";

const KEYS = { agree: "a", disagree: "d", unsure: "u" };
const WORDS = { agree: "Agree", disagree: "Disagree", unsure: "Unsure" };

/**
 * @typedef {object} Asked
 * @property {string} key of what is reviewed
 * @property {string} question
 * @property {string} note what the note is on
 * @property {string} told the line below
 * @property {boolean} keys whether a, d, u, s and n work here
 */

/**
 * @param {Asked} asked
 * @param {Pick<import("../types/workshop.js").Workshop, "reviews" | "review">} ctx
 * @returns {HTMLElement}
 */
export function reviewPanel({ key, question, note: noteOn, told, keys }, ctx) {
  const review = ctx.reviews.items[key] ?? { verdict: "", note: "", star: false };
  const hint = (/** @type {string} */ text, /** @type {string} */ name) => (keys ? `${text} (${name})` : text);
  /** @type {HTMLTextAreaElement} */
  const note = h("textarea", {
    rows: 2,
    maxlength: 4000,
    "aria-label": noteOn,
    placeholder: hint("Note", "n"),
    oninput: () => ctx.review(key, { note: note.value }, true),
  });
  note.value = review.note;
  note.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !keys) return; // a drawer closes
    event.preventDefault(); // leaves the note, not the room
    event.stopPropagation();
    const list = note.closest("[data-room]")?.querySelector("[role=listbox]");
    if (list instanceof HTMLElement) list.focus();
    else note.blur();
  });
  return h(
    "section.review",
    { "aria-label": "Your review" },
    h(
      "div.row",
      {},
      h("span", {}, question),
      h(
        "div.segments",
        { role: "group", "aria-label": "Verdict" },
        VERDICTS.map((verdict) =>
          h(
            "button",
            {
              "aria-pressed": String(review.verdict === verdict),
              title: hint(WORDS[verdict], KEYS[verdict]),
              onclick: () => ctx.review(key, { verdict: review.verdict === verdict ? "" : verdict }),
            },
            WORDS[verdict],
          ),
        ),
      ),
      h(
        "button.star",
        {
          "aria-pressed": String(review.star),
          "aria-label": "Star",
          title: hint("Star", "s"),
          onclick: () => ctx.review(key, { star: !review.star }),
        },
        review.star ? "★" : "☆",
      ),
    ),
    note,
    h("p.quiet", {}, told),
  );
}
