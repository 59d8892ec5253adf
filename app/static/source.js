/** Words for where a draft token comes from; an unknown kind is printed as it is. */

const times = (count) => (count === 1 ? "once" : count === 2 ? "twice" : `${count} times`);

/** Which text: this one, or an earlier trajectory, counted from 1. Older traces do not say how long ago it was. */
function text(source) {
  if (source.document !== undefined) return `text ${source.document + 1} of the fixed collection`;
  const own = source.ago === 0 || (source.ago === undefined && !source.trajectory);
  return own ? "this text" : `trajectory ${source.trajectory + 1}`;
}

/** Part and position in it. */
function position(source) {
  if (source.pos === undefined || source.pos < 0) return "";
  return `, position ${source.pos}${source.part ? ` of the ${source.part}` : ""}`;
}

const known = (source) => source.trajectory !== undefined || source.document !== undefined;
const seen = (source, where) =>
  source.times
    ? ` seen ${times(source.times)} in ${text(source)}${position(source)}`
    : `${source.seen ? ` seen ${times(source.seen)}` : ""}${known(source) ? `${source.seen ? "," : ""} ${where} in ${text(source)}${position(source)}` : ""}`;

const KINDS = {
  model: (source) => `${source.role ?? "draft"} model`,
  ngram: (source) => `${source.order ?? "n"}-gram${seen(source, "last")}`,
  table: (source) =>
    `distribution after ${source.order === 1 ? "this token" : `these ${source.order} tokens`}, seen ${times(source.count)}${known(source) ? `, last in ${text(source)}${position(source)}` : ""}`,
  automaton: (source) =>
    `match of ${source.match === 1 ? "1 token" : `${source.match ?? "?"} tokens`}${seen(source, "first")}`,
  adjacency: (source) =>
    `${source.choice ? `choice ${source.choice} of the target` : "what the target chose"} when it last read the token before${known(source) ? `, ${source.kept === false ? "as a draft token that was not accepted, after" : "in"} ${text(source)}${position(source)}` : ""}`,
  head: (source) => (source.index ? `head ${source.index}` : `draft head, level ${source.level ?? "?"}`),
};

/** @param {any} source @returns {string} */
export function sourceWords(source) {
  if (!source) return "";
  if (KINDS[source.kind]) return KINDS[source.kind](source);
  const rest = Object.entries(source)
    .filter(([name]) => name !== "kind")
    .map(([name, value]) => `${name} ${value}`);
  return [source.kind, ...rest].filter(Boolean).join(", ");
}
