// Token chips and ghosts: one span each, its sign from the token's origin or the guess's state. No layout here.

import { h, visible } from "./dom.js";

const WORDS = {
  draft: "accepted guess",
  relaxed: "kept by the lossy rule",
  correction: "correction by the target",
  bonus: "bonus token of the target",
  target: "target",
  rejected: "rejected guess",
  discarded: "guess never tested",
  vetoed: "vetoed guess",
};
const MAX_GHOSTS = 3;

/** The name of a sign in words, for labels and legends. */
export const signText = (name) => WORDS[name] ?? name;

/** A chip of a token. A boxed sign keeps its leading blank outside the box. */
export function tokenChip(key, token, whitespace) {
  const text = whitespace ? marked(token.piece) : shown(token.piece);
  const chip = h(`span.k.${token.origin}`, {
    "data-i": token.pos,
    id: `k-${key}-${token.pos}`,
    role: "option",
    "aria-label": `${visible(token.piece)}, ${signText(token.origin)}, position ${token.pos}, round ${token.round}`,
  });
  if (token.origin === "draft" || token.origin === "target" || token.origin === "relaxed") chip.textContent = text;
  else {
    const [, lead, body, tail] = text.match(/^( *)(.*?)(\s*)$/s);
    if (body) chip.append(lead, h("b", { text: body }), tail);
    else
      chip.append(
        h("b", { text: whitespace ? text : visible(token.piece) }),
        tail.includes("\n") && !whitespace ? tail : "",
      );
  }
  return chip;
}

/** Spans of the guesses refused (and those after them) where a round's own token stands; many siblings are counted. */
export function ghostChips(round, whitespace) {
  const kept = new Set(round.path);
  const tip = round.path.at(-1) ?? -1;
  const ghosts = [];
  const refused = round.nodes
    .map((node, i) => [node, i])
    .filter(([node, i]) => !kept.has(i) && node.parent === tip && node.state !== "discarded");
  refused.sort((a, b) => (b[0].q ?? 0) - (a[0].q ?? 0));
  for (const [node, i] of refused.slice(0, MAX_GHOSTS)) ghosts.push(ghost(round, node, i, whitespace));
  for (const [node, i] of tail(round, refused[0]?.[1] ?? tip, kept)) ghosts.push(ghost(round, node, i, whitespace));
  const more = round.nodes.length - kept.size - ghosts.length;
  if (more > 0)
    ghosts.push(
      h("span.g.more", {
        "data-r": round.index,
        text: ` +${more}`,
        title: `${more} more guesses in this round's tree`,
      }),
    );
  return ghosts;
}

/** The first child of each level below a refused guess: what the draft would have said next. */
function tail(round, from, kept) {
  const out = [];
  let parent = from;
  for (let i = from + 1; i < round.nodes.length && out.length < 8; i++) {
    if (round.nodes[i].parent !== parent || kept.has(i)) continue;
    if (round.nodes[i].state === "discarded") out.push([round.nodes[i], i]);
    parent = i;
  }
  return out;
}

function ghost(round, node, i, whitespace) {
  const text = node.piece ?? round.textOf(node.token);
  const label = `${visible(text)}, ${signText(node.state)}, round ${round.index}`;
  return h(`span.g.${node.state}`, {
    "data-r": round.index,
    "data-n": i,
    "aria-label": label,
    role: "option",
    text: shown(whitespace ? marked(text) : text).replaceAll("\n", whitespace ? "" : "↵"),
  });
}

/** Half characters of byte pieces get a visible replacement; everything else stays as it is. */
const shown = (piece) => (piece === "" ? "\u200b" : piece.replaceAll("\ufffd", "◇"));

/** Blanks as marks; a zero-width space lets the line break after them, a newline still breaks. */
const marked = (piece) => visible(piece).replaceAll("·", "·\u200b").replaceAll("→", "→\t").replaceAll("↵", "↵\n");
