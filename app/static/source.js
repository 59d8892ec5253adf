/** Words for where a guess comes from; an unknown kind is printed as it is. */

const KINDS = {
  model: () => "draft model",
  ngram: (source) => `${source.order ?? source.n ?? "n"}-gram${source.count ? `, seen ${source.count} times` : ""}`,
  automaton: (source) => `suffix match of ${source.match ?? source.length ?? "?"} tokens`,
  adjacency: () => "recycled candidates",
  head: (source) => `head ${source.index ?? "?"}`,
};

/** @param {any} source @returns {string} */
export function sourceWords(source) {
  if (!source) return "";
  if (KINDS[source.kind]) return KINDS[source.kind](source);
  const rest = Object.entries(source).filter(([name]) => name !== "kind").map(([name, value]) => `${name} ${value}`);
  return [source.kind, ...rest].filter(Boolean).join(", ");
}
