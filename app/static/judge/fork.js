// @ts-check
// One mismatch, both ways: the prompt, the text so far, the two tokens, what followed each, and the two answers.

import { h, visible } from "../dom.js";
import { importance } from "../draw.js";
import { flagMark } from "../flagmarks.js";
import { icon } from "../icons.js";
import { before, firstDifference, pieceOfLabel } from "../mined.js";

const CONTEXT = 240; // characters of the text so far

/** @param {import("../types/workshop.js").Item} item @returns {HTMLElement} */
export function forkView(item) {
  const { label, prompt } = item;
  const at = firstDifference(label.target_text, label.draft_text);
  const said = before(item);
  const cut = said.length > CONTEXT ? `…${said.slice(-CONTEXT)}` : said;
  const what = label.important ? "Important: the answer changes." : "Not important: the answer stays.";
  const score =
    label.score == null
      ? null
      : h(
          "span.badge.judge",
          { title: "What the judge says of this swap: probability that it is important" },
          `judge ${importance(label.score)}`,
        );
  return h(
    "div.fork",
    {},
    h(
      "header",
      {},
      flagMark("mined", label.important),
      h("b", {}, what),
      h("span.quiet", {}, `position ${label.t}`),
      score,
      label.unlikely
        ? h("span.badge", { title: "The target gives this token almost no probability; it was not tried" }, "not tried")
        : null,
      label.retokenized
        ? h("span.badge", { title: "The server's text gave other token ids" }, label.retokenized)
        : null,
    ),
    h(
      "details",
      {},
      h("summary", {}, "Prompt"),
      h("p.forktext", {}, prompt.text || "The text of the prompt is not in this file."),
    ),
    h("p.forktext.sofar", { role: "group", "aria-label": "Text so far" }, cut),
    h(
      "div.ways",
      {},
      way("target", "The target's token", label, at),
      way("draft", "The draft's token instead", label, at),
    ),
    h(
      "p.quiet",
      {},
      at < 0
        ? "After the swap the target writes the same text again."
        : "Shaded: the first place where the two continuations differ. " +
            "After the swapped token the target itself goes on.",
    ),
  );
}

/** What one token led to; `at` is where the texts first differ.
 * @param {"target" | "draft"} who @param {string} title @param {import("../types/mining.js").Label} label
 * @param {number} at */
function way(who, title, label, at) {
  const [text, answer] = [label[`${who}_text`], label[`${who}_answer`]];
  const end = at < 0 ? -1 : wordEnd(text, at);
  const same = label.target_answer === label.draft_answer;
  return h(
    `section.way.${who}`,
    { "aria-label": title },
    h("h3", {}, title),
    h(
      "p.forktext",
      {},
      h("b.swap", {}, visible(pieceOfLabel(label, who))),
      ...(at < 0
        ? [text]
        : [text.slice(0, at), h("mark", { title: "first difference" }, text.slice(at, end) || "∅"), text.slice(end)]),
    ),
    h(
      "p.answer",
      {},
      h("span.quiet", {}, "answer "),
      h("b", {}, answer ?? "none found"),
      who === "draft" ? h("span.quiet", {}, same ? " (the same)" : " (another)") : null,
    ),
  );
}

/** @param {string} text @param {number} at */
function wordEnd(text, at) {
  let end = at;
  while (end < text.length && /[\w.]/.test(text[end])) end += 1;
  return Math.max(end, Math.min(text.length, at + 1));
}

/** Buttons to the item before and after. @param {() => void} back @param {() => void} on @param {string} words */
export function stepper(back, on, words) {
  return h(
    "div.stepper",
    { role: "group", "aria-label": "Mismatches" },
    h("button", { onclick: back, "aria-label": "Previous mismatch", title: "Previous (k or ↑)" }, icon("back")),
    h("span.quiet", {}, words),
    h("button", { onclick: on, "aria-label": "Next mismatch", title: "Next (j or ↓)" }, icon("forward")),
  );
}
