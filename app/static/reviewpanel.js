// @ts-check
// The verdict on one mismatch: agree with its label, disagree, or unsure; a note; a star.

import { h } from "./dom.js";
import { VERDICTS } from "./reviews.js";

const KEYS = { agree: "a", disagree: "d", unsure: "u" };
const WORDS = { agree: "Agree", disagree: "Disagree", unsure: "Unsure" };

/**
 * @param {import("./types/workshop.js").Item} item
 * @param {import("./types/workshop.js").Workshop} ctx
 * @returns {HTMLElement}
 */
export function reviewPanel(item, ctx) {
  const review = ctx.reviews.items[item.key] ?? { verdict: "", note: "", star: false };
  /** @type {HTMLTextAreaElement} */
  const note = h("textarea", {
    rows: 2,
    maxlength: 4000,
    "aria-label": "Note on this mismatch",
    placeholder: "Note (n)",
    oninput: () => ctx.review(item.key, { note: note.value }, true),
  });
  note.value = review.note;
  note.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // leaves the note, not the drawer
    event.stopPropagation();
    note.blur();
  });
  const done = ctx.all.filter((one) => ctx.reviews.items[one.key]?.verdict).length;
  return h(
    "section.review",
    { "aria-label": "Your review" },
    h(
      "div.row",
      {},
      h("span", {}, `Is this label right: ${item.label.important ? "important" : "not important"}?`),
      h(
        "div.segments",
        { role: "group", "aria-label": "Verdict" },
        VERDICTS.map((verdict) =>
          h(
            "button",
            {
              "aria-pressed": String(review.verdict === verdict),
              title: `${WORDS[verdict]} (${KEYS[verdict]})`,
              onclick: () => ctx.review(item.key, { verdict: review.verdict === verdict ? "" : verdict }),
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
          title: "Star (s)",
          onclick: () => ctx.review(item.key, { star: !review.star }),
        },
        review.star ? "★" : "☆",
      ),
    ),
    note,
    h(
      "p.quiet",
      {},
      `${done} of ${ctx.all.length} reviewed. Keys: j, k next and previous; a agree, d disagree, u unsure, ` +
        "s star, n note. Kept in this browser.",
    ),
  );
}
