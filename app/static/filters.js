// Named filters as data, so that a link can hold them. Views may add kinds: kinds.set(kind, (spec) => filter).

const near = (round, node, token) => (token ? token.pos : node ? round.start + node.depth - 1 : round?.start);

/** kind -> (spec) -> {label, spec, test(run, round, node, token)} */
export const kinds = new Map([
  [
    "range",
    ({ range: [low, high] }) => ({
      label: `positions ${low} to ${high}`,
      range: [low, high],
      test: (_run, round, node, token) => near(round, node, token) >= low && near(round, node, token) <= high,
    }),
  ],
  [
    "sign",
    ({ sign }) => ({
      label: sign,
      test: (_run, _round, node, token) => (token ? token.origin === sign : false) || node?.state === sign,
    }),
  ],
]);

/** A filter from its spec, or null when nobody knows the kind. */
export function makeFilter(spec) {
  const make = kinds.get(spec?.kind);
  return make ? { spec, ...make(spec) } : null;
}

/** The spec of a filter that a view set; ranges are understood without one. */
export const specOf = (name, filter) => filter.spec ?? (filter.range ? { kind: "range", range: filter.range } : null);
