// @ts-check
// What a run promises, in three classes; and whether its drafter did anything at all.

/** Arithmetic in which a pass over several tokens and passes over one round differently, so that a near-tie may tip. */
const ROUNDED = ["bfloat16", "float16"];

/**
 * @param {Pick<import("../types/store.js").Run, "card" | "head">} run
 * @returns {{name: string, words: string}}
 */
export function guaranteeOf({ card, head }) {
  if (card.guarantee === "reference")
    return { name: "reference", words: "The target alone. The others are compared with it." };
  if (card.guarantee === "lossy")
    return { name: "lossy", words: "Lossy by design: may emit what the target alone would not, faster, at a price." };
  const dtype = (head?.dtype ?? "").replace("torch.", "");
  if (ROUNDED.includes(dtype))
    return {
      name: "lossless up to rounding",
      words: `Exact up to rounding: in ${dtype} a pass over several tokens rounds otherwise than passes over one, so near-ties may differ.`,
    };
  return {
    name: "lossless",
    words: "Exact: emits what the target alone would emit (the same distribution, when sampling).",
  };
}

/**
 * What to say of a run that drafted nothing though its method drafts; empty while it may still begin to.
 * @param {Pick<import("../types/store.js").Run, "card" | "rounds" | "sums" | "end">} run
 */
export function draftedNothing({ card, rounds, sums, end }) {
  const silent = card.guarantee !== "reference" && end !== null && rounds.length > 0 && sums.drafted.at(-1) === 0;
  if (!silent) return "";
  return `Drafted nothing: in ${rounds.length} target ${rounds.length === 1 ? "call" : "calls"} there was no draft to check. Its figures are those of plain decoding.`;
}
