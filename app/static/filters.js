// @ts-check
// Named filters as data, so that a link can hold them. Views may add kinds: kinds.set(kind, (spec) => filter).

import { forcedOf } from "./run.js";

/**
 * @typedef {import("./types/store.js").Filter} Filter
 * @typedef {import("./types/store.js").FilterSpec} FilterSpec
 * @typedef {import("./types/trace.js").Round} Round
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {import("./types/trace.js").Token} Token
 */

/** The response position of a token or candidate. @param {Round} round @param {Node | null} [node]
 * @param {Token | null} [token] */
const placeOf = (round, node, token) => (token ? token.pos : node ? round.start + node.depth - 1 : round.start);

/** Specs come from links too: `any` until a filter's maker has read one. @type {Map<string, (spec: any) => Filter>} */
export const kinds = new Map([
  [
    "range",
    ({ range: [low, high] }) => ({
      label: `positions ${low} to ${high}`,
      range: [low, high],
      test(run, round, node, token) {
        const pos = placeOf(round, node, token) + forcedOf(run); // of the axis that all bands share
        return pos >= low && pos <= high;
      },
    }),
  ],
  [
    "sign",
    ({ sign }) => ({
      label: sign,
      test: (_run, _round, node, token) => token?.origin === sign || node?.state === sign,
    }),
  ],
]);

/** A filter from its spec, or null when nobody knows the kind. @param {FilterSpec | null | undefined} spec
 * @returns {Filter | null} */
export function makeFilter(spec) {
  const make = spec && kinds.get(spec.kind);
  return make ? { spec, ...make(spec) } : null;
}

/** The spec of a filter that a view set; ranges are understood without one. @param {Filter} filter
 * @returns {FilterSpec | null} */
export const specOf = (filter) => filter.spec ?? (filter.range ? { kind: "range", range: filter.range } : null);
