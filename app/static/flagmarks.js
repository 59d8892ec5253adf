// @ts-check
// The signs of importance: a pennant for what a swap did, a triangle for what a judge thought; filled when important.

import { h, s } from "./dom.js";

/** Paths in a box of 10 by 10; `pole` is drawn as a line.
 * @type {Record<"mined" | "judge" | "review", {d: string, pole: string, words: [important: string, other: string]}>} */
export const FLAGS = {
  mined: {
    d: "M2.5 1H9L7.3 3.2L9 5.4H2.5z",
    pole: "M2.5 1V9.5",
    words: ["swapped and tried: the answer changed", "swapped and tried: the answer stayed"],
  },
  judge: {
    d: "M1.5 2H8.5L5 8.5z",
    pole: "",
    words: ["the judge rejected it as important", "the judge let it pass as not important"],
  },
  review: {
    d: "M5 0.8L6.3 3.7L9.4 4L7 6.1L7.7 9.2L5 7.6L2.3 9.2L3 6.1L0.6 4L3.7 3.7z",
    pole: "",
    words: ["starred in your review", "reviewed by you"],
  },
};

/** A sign as an inline figure. @param {keyof typeof FLAGS} kind @param {boolean} important @param {string} [title]
 * @returns {HTMLElement} */
export function flagMark(kind, important, title) {
  const { d, pole, words } = FLAGS[kind];
  const text = title ?? words[important ? 0 : 1];
  return h(
    `span.flagmark.${kind}${important ? "" : ".hollow"}`,
    { title: text, role: "img", "aria-label": text },
    s(
      "svg",
      { viewBox: "0 0 10 10", width: 11, height: 11, "aria-hidden": "true" },
      s("path", {
        d,
        fill: important ? "var(--judge)" : "var(--panel)",
        stroke: "var(--judge)",
        "stroke-width": 1.2,
        "stroke-linejoin": "round",
      }),
      pole ? s("path", { d: pole, stroke: "var(--judge)", "stroke-width": 1.4, fill: "none" }) : null,
    ),
  );
}
