// @ts-check
// Token chips and ghosts: one span each, its sign from the token's origin or the candidate's state. No layout here.

import { count, h, inText, marks, visible } from "./dom.js";
import { cellWords, isFresh, stepOf } from "./run/canvas.js";
import { mainLine } from "./run/phases.js";
import { textOf } from "./run.js";

/**
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {import("./types/trace.js").Token} Token
 */

/** @type {Record<string, string>} */
const WORDS = {
  draft: "accepted draft token",
  relaxed: "accepted by the lossy rule",
  correction: "correction by the target",
  bonus: "bonus token of the target",
  target: "target",
  alone: "written by the draft model alone",
  placed: "written in place",
  rejected: "rejected draft token",
  discarded: "discarded draft token",
  drafted: "drafted, not yet verified",
  verified: "verified, not yet decided",
  vetoed: "vetoed draft token",
};
const MAX_GHOSTS = 3;
const PLAIN = new Set(["draft", "target", "alone", "placed"]); // no box around the text

/** The signs in a word or two, as legends have them. @type {Record<string, string>} */
const NAMES = {
  draft: "accepted",
  correction: "correction",
  bonus: "bonus",
  relaxed: "relaxed",
  rejected: "rejected",
  vetoed: "vetoed",
  discarded: "discarded",
  target: "target alone",
  alone: "draft alone",
};

/** @param {string} name of a sign @returns {string} */
export const signName = (name) => NAMES[name] ?? name;

/** Whether a sign marks the body of a token alone. @param {string} name */
export const isBoxed = (name) => !PLAIN.has(name);

/** The name of a sign in words, for labels and legends. @param {string} name */
export const signText = (name) => WORDS[name] ?? name;

/** The sign of a token: its origin; a token of the draft model that was no draft has its own. @param {Token} token */
export const signOf = ({ origin, node }) => (origin === "draft" && node == null ? "alone" : origin);

/** A chip of a token. A boxed sign keeps its leading blank outside the box. @param {string} key @param {Token} token
 * @param {boolean} whitespace */
export function tokenChip(key, token, whitespace) {
  const text = whitespace ? marked(token.piece) : shown(token.piece);
  const sign = signOf(token);
  const chip = h(`span.k.${sign}`, {
    "data-i": token.pos,
    id: `k-${key}-${token.pos}`,
    role: "option",
    "aria-label": `${visible(token.piece)}, ${signText(sign)}, position ${token.pos}, round ${token.round}`,
  });
  if (PLAIN.has(sign)) chip.textContent = text;
  else chip.append(...boxed(token.piece, text, whitespace));
  return chip;
}

/** A chip of a place of a text that is written in place, as a round left it: coloured by the iteration that last wrote
 * it, marked where that was this one, a block where nothing stands.
 * @param {Run} run @param {number} at the round's index @param {number} pos @param {number} total iterations
 * @param {boolean} whitespace */
export function placeChip(run, at, pos, total, whitespace) {
  const round = run.rounds[at];
  const i = pos - round.start;
  const cell = round.canvas?.[i] ?? { token: round.tokens[i].token, iteration: round.extras.iteration ?? 1 };
  const text = textOf(run, cell.token);
  const open = cell.iteration === 0;
  const kind = open ? "open" : `w${stepOf(cell.iteration, total)}${isFresh(round, cell) ? ".fresh" : ""}`;
  return h(`span.k.placed.${kind}`, {
    "data-r": at,
    "data-p": pos,
    id: `k-${run.key}-${pos}`,
    role: "option",
    "aria-label": `${open ? "" : `${visible(text)}, `}${cellWords(round, cell)}, position ${pos}`,
    text: open ? "\u2003" : whitespace ? marked(text) : shown(text),
  });
}

/** The text with a box around its body, without the blanks that a line may end with; white space alone is boxed as
 * marks. @param {string} piece @param {string} text
 * @param {boolean} whitespace */
function boxed(piece, text, whitespace) {
  const [, lead = "", body = "", tail = ""] = text.match(/^( *)(.*?)(\s*)$/s) ?? [];
  if (body) return [lead, h("b", { text: body }), tail];
  const line = tail.includes("\n") && !whitespace ? tail : "";
  return [h("b", { text: whitespace ? text : marks(piece) }), line];
}

/**
 * Spans of the candidates rejected (and those after them) where a round's own token stands; many siblings are counted.
 * @param {Run} run
 * @param {Round} round
 * @param {boolean} whitespace
 */
export function ghostChips(run, round, whitespace) {
  const accepted = new Set(round.path);
  const end = round.path.at(-1) ?? -1;
  const tested = [...round.nodes.keys()].filter((i) => {
    const { parent, state } = round.nodes[i];
    return !accepted.has(i) && parent === end && state !== "discarded";
  });
  tested.sort((a, b) => (round.nodes[b].q ?? 0) - (round.nodes[a].q ?? 0));
  const places = [...tested.slice(0, MAX_GHOSTS), ...tail(round, tested[0] ?? end, accepted)];
  const ghosts = places.map((i) => ghost(run, round, i, whitespace));
  const more = round.nodes.length - accepted.size - ghosts.length;
  if (more > 0) {
    const title = `${count(more, "more draft token")} in this round`;
    ghosts.push(h("span.g.more", { "data-r": round.index, text: ` +${more}`, title }));
  }
  return ghosts;
}

/** The round that has begun, as a phrase and its likeliest draft tokens; more of a tree are counted. @param {Run} run
 * @param {Round} round @param {import("./types/store.js").Inside} inside @param {boolean} whitespace */
export function halfChips(run, round, inside, whitespace) {
  const line = mainLine(round);
  const more = round.nodes.length - line.length;
  const words =
    round.drafted === 0 ? (inside === "drafted" ? "no draft" : round.fed ? "target called" : "draft called") : inside;
  return [
    h("span.phase", { text: `round ${round.index}: ${words}` }),
    ...line.map((i) => ghost(run, round, i, whitespace)),
    ...(more > 0
      ? [h("span.g.more", { text: ` +${more}`, title: `${count(more, "more draft token")} in this tree` })]
      : []),
  ];
}

/** The first child of each level below a rejected candidate: what the draft would have said next. @param {Round} round
 * @param {number} from @param {Set<number>} accepted */
function tail(round, from, accepted) {
  const out = [];
  let parent = from;
  for (let i = from + 1; i < round.nodes.length && out.length < 8; i++) {
    if (round.nodes[i].parent !== parent || accepted.has(i)) continue;
    if (round.nodes[i].state === "discarded") out.push(i);
    parent = i;
  }
  return out;
}

/** @param {Run} run @param {Round} round @param {number} i @param {boolean} whitespace */
function ghost(run, round, i, whitespace) {
  const { token, state } = round.nodes[i];
  const text = textOf(run, token);
  return h(`span.g.${state}`, {
    "data-r": round.index,
    "data-n": i,
    id: `g-${run.key}-${round.index}-${i}`,
    "aria-label": `${visible(text)}, ${signText(state)}, round ${round.index}`,
    role: "option",
    text: whitespace ? marked(text).replaceAll("\n", "") : shown(text).replaceAll("\n", "↵"),
  });
}

/** What stands in running text; of nothing a place to point at. @param {string} piece */
const shown = (piece) => (piece === "" ? "\u200b" : inText(piece));

/** Blanks as marks; a zero-width space lets the line break after them, a newline still breaks. @param {string} piece */
const marked = (piece) => marks(piece).replaceAll("·", "·\u200b").replaceAll("→", "→\t").replaceAll("↵", "↵\n");
