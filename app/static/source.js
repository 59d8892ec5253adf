// @ts-check
// Words for where a draft token comes from; an unknown kind is printed as it is.

/**
 * @typedef {object} Source what a drafter recorded of a draft token's origin; which fields are there depends on the
 * kind
 * @property {string} kind
 * @property {string} [role]
 * @property {number} [common] of another tokenizer: share of its distribution on pieces that the target knows
 * @property {number} [document]
 * @property {number} [trajectory]
 * @property {number} [ago]
 * @property {number} [pos]
 * @property {string} [part]
 * @property {number} [times]
 * @property {number} [seen]
 * @property {number} [order]
 * @property {number} [count]
 * @property {number} [round] in which a window gave it
 * @property {number} [match]
 * @property {number} [choice]
 * @property {boolean} [kept]
 * @property {number} [index]
 * @property {number} [level]
 * @property {number} [step]
 * @property {number[]} [passage] ids of the text that it was copied from
 * @property {number} [here] its place in that passage
 */

/** What a node's record says of its origin. @param {import("./types/trace.js").Node | null | undefined} node */
export const sourceOf = (node) => /** @type {Source | null} */ (/** @type {unknown} */ (node?.source ?? null));

/** How often, in words. @param {number | undefined} count @returns {string} */
export const times = (count) => (count === 1 ? "once" : count === 2 ? "twice" : `${count} times`);

/**
 * Which text: this one, or an earlier trajectory, counted from 1.
 * @param {Source} source
 */
function text(source) {
  if (source.document !== undefined) return `text ${source.document + 1} of the fixed collection`;
  return source.ago === 0 ? "this text" : `trajectory ${(source.trajectory ?? 0) + 1}`;
}

/** Part and position in it. @param {Source} source */
function position(source) {
  if (source.pos === undefined || source.pos < 0) return "";
  return `, position ${source.pos}${source.part ? ` of the ${source.part}` : ""}`;
}

/** @param {Source} source */
const known = (source) => source.trajectory !== undefined || source.document !== undefined;
/** @param {Source} source */
const place = (source) => `${text(source)}${position(source)}`;

/** How often, and where `first` or `last`. @param {Source} source @param {string} where */
function seen(source, where) {
  if (source.times) return ` seen ${times(source.times)} in ${place(source)}`;
  const often = source.seen ? ` seen ${times(source.seen)}` : "";
  return known(source) ? `${often}${often && ","} ${where} in ${place(source)}` : often;
}

/** @type {Record<string, (source: Source) => string>} */
const KINDS = {
  model: (source) => {
    const model = `${source.role ?? "draft"} model`;
    if (source.common === undefined) return model;
    const common = Math.round(100 * source.common);
    return `${model} with a tokenizer of its own, ${common} % of whose distribution is on common pieces`;
  },
  text: (source) => `text of the ${source.role ?? "draft"} model, cut by the target's tokenizer`,
  ngram: (source) => `${source.order ?? "n"}-gram${seen(source, "last")}`,
  table: (source) => {
    const context = source.order === 1 ? "this token" : `these ${source.order} tokens`;
    const last = known(source) ? `, last in ${place(source)}` : "";
    return `distribution after ${context}, seen ${times(source.count)}${last}`;
  },
  automaton: (source) =>
    `match of ${source.match === 1 ? "1 token" : `${source.match ?? "?"} tokens`}${seen(source, "first")}`,
  counts: (source) => {
    const after = source.match === 1 ? "1 token" : `${source.match ?? "?"} tokens`;
    const last = known(source) ? `, last in ${place(source)}` : "";
    return `${source.count ?? "?"} of ${times(source.seen)} after ${after}${last}`;
  },
  adjacency: (source) => {
    const choice = source.choice ? `choice ${source.choice} of the target` : "what the target chose";
    const as = source.kept === false ? "as a draft token that was not accepted, after" : "in";
    return `${choice} when it last read the token before${known(source) ? `, ${as} ${place(source)}` : ""}`;
  },
  pool: (source) => {
    const often = source.seen && source.seen > 1 ? `, seen ${times(source.seen)}` : "";
    if (source.part !== "window") return `n-gram after this token${often}, last in ${place(source)}`;
    return `n-gram of the window${often}, last in round ${source.round}${source.ago ? ` of ${text(source)}` : ""}`;
  },
  head: (source) => (source.index ? `head ${source.index}` : `draft head, level ${source.level ?? "?"}`),
};

/** @param {Source | null} source @param {string} [given] what the prompt is called @returns {string} */
export function sourceWords(source, given = "prompt") {
  if (!source) return "";
  if (KINDS[source.kind]) return KINDS[source.kind](source.part === "prompt" ? { ...source, part: given } : source);
  const rest = Object.entries(source)
    .filter(([name]) => name !== "kind")
    .map(([name, value]) => `${name} ${value}`);
  return [source.kind, ...rest].filter(Boolean).join(", ");
}
