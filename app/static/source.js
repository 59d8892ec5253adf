/** Words for where a guess comes from; an unknown kind is printed as it is. */

/** Where copied text stood: part, position, and text number where there are several. */
function place(source) {
  if (source.pos === undefined || source.pos < 0) return "";
  const where = source.document !== undefined ? `text ${source.document}` : source.trajectory > 0 ? `${source.part} ${source.trajectory}` : (source.part ?? "text");
  return `, from position ${source.pos} of the ${where}`;
}

const KINDS = {
  model: (source) => `${source.role ?? "draft"} model`,
  ngram: (source) => `${source.order ?? "n"}-gram${source.seen ? `, seen ${source.seen} times` : ""}${place(source)}`,
  table: (source) => `law of ${source.order}-token context, seen ${source.count} times${place(source)}`,
  automaton: (source) => `suffix match of ${source.match ?? "?"} tokens${place(source)}`,
  adjacency: () => "what last followed this token",
  head: (source) => (source.index ? `head ${source.index}` : `draft head, level ${source.level ?? "?"}`),
};

/** @param {any} source @returns {string} */
export function sourceWords(source) {
  if (!source) return "";
  if (KINDS[source.kind]) return KINDS[source.kind](source);
  const rest = Object.entries(source).filter(([name]) => name !== "kind").map(([name, value]) => `${name} ${value}`);
  return [source.kind, ...rest].filter(Boolean).join(", ");
}
