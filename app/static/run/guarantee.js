// @ts-check
// What a method promises, in three classes that its card decides; and whether its drafter did anything at all.

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/card.js").Card} Card
 * @typedef {"reference" | "exact" | "greedy" | "changes" | "untold"} Class
 * @typedef {"reference" | "lossless" | "lossy" | "untold"} Sign as a badge is drawn
 * @typedef {{id: Class, sign: Sign, name: string, title: string, words: string, rounding: string}} Guarantee
 */

/** Arithmetic in which a pass over several tokens and passes over one round differently, so that a near-tie may tip. */
const ROUNDED = ["bfloat16", "float16"];

/** Name on a badge, the class in words, and how the badge is drawn.
 * @type {Readonly<Record<Class, readonly [name: string, title: string, sign: Sign]>>} */
const CLASSES = {
  reference: ["reference", "The reference", "reference"],
  exact: ["lossless", "Exact: the target's own distribution", "lossless"],
  greedy: ["lossless greedy", "Exact at temperature 0 only", "lossless"],
  changes: ["lossy", "Changes the output", "lossy"],
  untold: ["not told", "Measured elsewhere: its rule is not told", "untold"],
};

/**
 * The class of a card under some knobs: a knob at a value that voids the promise leaves it at temperature 0, and so
 * does a condition that only replaces the exact rule where something is drawn.
 * @param {Pick<Card, "guarantee" | "knobs" | "threshold">} card
 * @param {Readonly<Record<string, unknown>>} [set] their values, where they differ from the card's
 * @returns {Class}
 */
export function classOf({ guarantee, knobs, threshold }, set = {}) {
  if (/** @type {string} */ (guarantee) === "untold") return "untold"; // of an imported run, which has no card here
  if (guarantee === "reference") return "reference";
  if (guarantee === "lossy") return threshold?.sampled_only ? "greedy" : "changes";
  return voiding({ knobs }, set) ? "greedy" : "exact";
}

/** The knob whose value voids a promise.
 * @param {Pick<Card, "knobs">} card @param {Readonly<Record<string, unknown>>} set */
const voiding = ({ knobs }, set) =>
  (knobs ?? []).find((knob) => knob.lossy?.includes(String(set[knob.name] ?? knob.default)));

/** What a run promises: one that samples is lossy where its method is exact at temperature 0 only.
 * @param {Pick<Run, "card" | "head">} run @returns {Guarantee} */
export function guaranteeOf({ card, head }) {
  const set = /** @type {Readonly<Record<string, unknown>>} */ (head?.knobs ?? {});
  const told = classOf(card, set);
  const id = told === "greedy" && Number(head?.sampling?.temperature) > 0 ? "changes" : told; // of this very run
  const [name, title, sign] = CLASSES[id];
  const dtype = (head?.dtype ?? "").replace("torch.", "");
  const rounded = (id === "exact" || id === "greedy") && ROUNDED.includes(dtype);
  return {
    id,
    sign,
    name: rounded && id === "exact" ? `${name} up to rounding` : name,
    title,
    words: id === "untold" ? untold(head) : because(card, told, set),
    rounding: rounded
      ? `In ${dtype} a pass over several tokens rounds otherwise than passes over one, so near-ties may differ.`
      : "",
  };
}

/** What an engine's report leaves open. @param {Run["head"]} head */
const untold = (head) =>
  `${head?.extras?.served ?? "An engine"} reported this run. It does not tell ${head?.extras?.untold ?? "its rule"}.`;

const EXACT =
  "At temperature 0 a draft token stays only where it is the target's own first choice. When sampling it stays with " +
  "probability min(1, p/q), and a rejected one is replaced by a draw from what the target has beyond the draft: " +
  "accepted and replaced together follow the target's distribution. Siblings in a tree, drafts without a " +
  "distribution, and drafts that are tested as a whole have variants of this rule that do the same.";

/** Why, from what the card declares.
 * @param {Card} card @param {Class} id @param {Readonly<Record<string, unknown>>} set */
function because(card, id, set) {
  const { threshold } = card;
  if (card.writer === "nat") return "A network of its own writes the text, and no target checks it.";
  if (id === "reference") return "The target alone, one token a call. The others are compared with it.";
  if (id === "exact") return EXACT;
  const knob = voiding(card, set);
  if (card.guarantee === "lossless" && knob)
    return (
      `With ${knob.name} = ${set[knob.name] ?? knob.default} a rejected token is not replaced by the draw that ` +
      "makes the rule exact. At temperature 0 nothing is drawn, and the text is the target's."
    );
  const says = threshold?.says ?? "";
  if (id === "greedy")
    return (
      `When sampling, a draft token is ${says}: this is another distribution than the target's. At temperature ` +
      "0 the exact rule decides instead."
    );
  if (threshold?.effect === "veto")
    return (
      `The exact rule decides, but first a draft token is ${says}. What then takes its place is not what the ` +
      "target alone would give."
    );
  if (threshold?.effect === "override")
    return (
      `The exact rule decides, but a draft token that it rejects is ${says}. The target alone would have ` +
      "written another."
    );
  if (says)
    return `In place of the exact rule, a draft token is ${says}, even where the target alone would write another.`;
  return "Its rule may emit what the target alone would not.";
}

/**
 * What to say of a run that drafted nothing though its method drafts (a baseline does not); empty while it may still
 * begin to.
 * @param {Pick<Run, "card" | "rounds" | "sums" | "end">} run
 */
export function draftedNothing({ card, rounds, sums, end }) {
  const drafts = card.guarantee !== "reference" && card.family !== "baseline" && card.writer !== "nat";
  if (!drafts || end === null || !rounds.length || sums.drafted.at(-1) !== 0) return "";
  return (
    `Drafted nothing: in ${rounds.length} target ${rounds.length === 1 ? "call" : "calls"} there was no draft ` +
    "to check. Its figures are those of plain decoding."
  );
}
