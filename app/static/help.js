// The keys, and how to read the page.

import { h } from "./dom.js";

export const KEYS = [
  [["←", "→"], "previous, next token"],
  [["↑", "↓"], "lane above, below"],
  [["[", "]"], "previous, next round"],
  [["space"], "play or pause"],
  [[",", "."], "one target call back, on"],
  [["r"], "next rejection"],
  [["v"], "next veto"],
  [["d"], "next divergence from the reference"],
  [["i"], "next important token"],
  [["s"], "to the text that a guess was copied from"],
  [["n"], "note on this token"],
  [["g"], "ghosts: refused guesses at their place"],
  [["w"], "blanks, newlines and tabs"],
  [["Esc"], "clear the selection"],
  [["1", "2", "3", "4"], "text, score, trees, shares"],
  [["h"], "hide or show the details"],
  [["+", "-"], "in the score: zoom; there W and S zoom too, A and D pan, Enter folds a band"],
  [["Ctrl", "Enter"], "run"],
  [["?"], "this page"],
];

const WORDS = [
  [
    "Round",
    "One cycle: the draft guesses, the target checks all guesses in one call, the rule decides. A thin bar marks where a round starts.",
  ],
  ["τ", "Tokens a target call. Plain decoding has exactly 1."],
  [
    "Correction, bonus",
    "Every round ends with a token of the target's own: a correction after a refused guess, a bonus when all were kept.",
  ],
  [
    "Guarantee",
    "Lossless: the target alone would have emitted the same (in law, when sampling). Lossy: the rule trades that for speed.",
  ],
  [
    "Fair clocks",
    "Lanes take turns, one round each and never two at once; a lane's clock runs only during its own round. Drawing is not counted.",
  ],
  [
    "Wall clock",
    "Replays the recorded time of every round. Step runs the engine ahead and shows one target call at a time.",
  ],
];

export function drawHelp(body) {
  body.append(
    h(
      "dl.keys",
      {},
      KEYS.map(([keys, what]) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            keys.map((key) => h("kbd", {}, key)),
          ),
          h("dd", {}, what),
        ),
      ),
    ),
    h("h3", {}, "Reading the page"),
    h(
      "dl.words",
      {},
      WORDS.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))),
    ),
  );
}
