// @ts-check
// The keys, and how to read the page.

import { h } from "./dom.js";
import { addressOf, follow } from "./learn/places.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").Lab} Lab
 */

/** @type {[keys: string[], what: string][]} */
export const KEYS = [
  [["←", "→"], "previous, next token; in a tree with the focus there the token before it, the first after it"],
  [["↑", "↓"], "lane above, below; in a tree the other tokens of one place, and Enter folds what follows"],
  [["Home", "End"], "first, last token"],
  [["Shift", "←", "→"], "mark a range of positions from the token on, in all lanes"],
  [["[", "]"], "previous, next round"],
  [["space"], "play or pause"],
  [[",", "."], "one target call back, on"],
  [["<", ">"], "one event of a round back, on: draft, verify, decide"],
  [["r"], "next rejection"],
  [["v"], "next veto"],
  [["d"], "next divergence from the reference"],
  [["i"], "next important token"],
  [["s"], "to the text that a draft token was copied from"],
  [["e"], "open or fold what is to run"],
  [["n"], "review this token: verdict, note, star"],
  [["g"], "ghosts: rejected draft tokens at their place"],
  [["w"], "blanks, newlines and tabs"],
  [["Esc"], "close what is open over the page, else clear the range, else the selection; in another room, to Compare"],
  [["1", "2", "3", "4"], "text, score, trees, shares"],
  [["h"], "hide or show the details"],
  [["+", "-"], "in the score: zoom; with the focus there W and S zoom too, A and D pan, Enter folds a band"],
  [["Ctrl", "Enter"], "run"],
  [["?"], "this page"],
];

/** A term and its words, in lines of the source. @type {[term: string, ...lines: string[]][]} */
const WORDS = [
  [
    "Round",
    "One cycle: the draft proposes, the target checks all draft tokens in one call, the rule decides.",
    "A thin bar marks where a round starts.",
  ],
  ["τ", "Tokens a target call. Plain decoding has exactly 1."],
  [
    "Correction, bonus",
    "A round ends with a token of the target's own, unless the text ends first: a correction after a rejected draft",
    "token, a bonus when all were accepted.",
  ],
  [
    "Guarantee",
    "Lossless: the target alone would have emitted the same (in distribution, when sampling).",
    "Lossy: the rule trades that for speed.",
  ],
  [
    "Fair clocks",
    "Lanes of a live run take turns, one round each and never two at once; a lane's clock runs only during its own",
    "round.",
    "Drawing is not counted.",
  ],
  [
    "Wall clock",
    "Replays the recorded time of every round. Step runs the engine ahead and shows one target call at a time.",
  ],
];

/** @param {string} term @param {...(string | Node)} text */
const entry = (term, ...text) => h("div", {}, h("dt", {}, term), h("dd", {}, ...text));

/** Every word of the glossary as a link to it. @param {HTMLElement} spot @param {Store} store @param {Lab} lab */
async function drawWords(spot, store, lab) {
  const { words } = await lab.api.get("glossary").catch(() => ({ words: [] }));
  spot.replaceChildren(
    ...words.map(({ term, anchor }) => h("li", {}, h("a", { href: addressOf("glossary", anchor) }, term))),
  );
  spot.addEventListener("click", (event) => {
    follow(event, store);
    if (event.defaultPrevented) spot.closest("dialog")?.close();
  });
}

/** @param {HTMLElement} body @param {Store} store @param {Lab} lab */
export function drawHelp(body, store, lab) {
  const words = h("ul.wordlinks");
  const keys = KEYS.map(([names, what]) => {
    const caps = names.map((name) => h("kbd", {}, name));
    return h("div", {}, h("dt", {}, caps), h("dd", {}, what));
  });
  body.append(
    h("dl.keys", {}, keys),
    h("h3", {}, "Reading the page"),
    h(
      "dl.words",
      {},
      WORDS.map(([term, ...lines]) => entry(term, lines.join(" "))),
    ),
    h("h3", {}, "Every word, in the glossary"),
    words,
  );
  drawWords(words, store, lab);
}
