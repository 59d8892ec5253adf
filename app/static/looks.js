// @ts-check
// Where a token looked in the source that an encoder read: shares of the attention, added up by words. No DOM here.

import { percent } from "./draw.js";

/**
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {{text: string, from: number, to: number}} Word the places [from, to) of the source
 */

const MOST = 3; // words that are named

/** What a run's model was given: a source that an encoder read, or a prompt. @param {Pick<Run, "head">} run */
export const givenOf = ({ head }) => (head?.source ? "source" : "prompt");

/** The words of a run's source; none of a decoder-only model's run. @param {Pick<Run, "head">} run @returns {Word[]} */
export function wordsOf({ head }) {
  /** @type {Word[]} */
  const words = [];
  const pieces = head?.prompt_pieces.slice(0, head.source) ?? [];
  pieces.forEach((piece, at) => {
    const last = words.at(-1);
    if (!last || /^(\s|<.+>$)/.test(piece) || /(\s|^<.+>)$/.test(last.text))
      words.push({ text: piece, from: at, to: at + 1 });
    else {
      last.text += piece;
      last.to = at + 1;
    }
  });
  return words;
}

/** The share of each word, from 0 to 1. @param {readonly Word[]} words
 * @param {import("./types/trace.js").TopN | null | undefined} looks */
export const sharesOf = (words, looks) =>
  words.map(({ from, to }) =>
    (looks ?? []).reduce((sum, [place, share]) => (place >= from && place < to ? sum + share : sum), 0),
  );

/** The words that were looked at most, in words. @param {Pick<Run, "head">} run
 * @param {import("./types/trace.js").TopN} looks */
export function lookedAt(run, looks) {
  const words = wordsOf(run);
  const shares = sharesOf(words, looks);
  return words
    .map(({ text }, i) => ({ text: text.trim() || text, share: shares[i] }))
    .filter(({ share }) => share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, MOST)
    .map(({ text, share }) => `${text} ${percent(share)}`)
    .join(", ");
}
