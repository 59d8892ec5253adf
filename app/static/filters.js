// @ts-check
// Named filters as data, so that a link can hold them. Views may add kinds: kinds.set(kind, { takes, make }).

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

const KEPT = "accepted"; // state of a draft token, whose sign is "draft"

/** @typedef {{takes: (spec: any) => boolean, make: (spec: any) => Filter}} Kind specs come from links too: `any` until
 *   the kind takes one */
/** @param {readonly unknown[]} values */
export const numbers = (...values) => values.every((value) => Number.isFinite(value));

/** @type {Map<string, Kind>} */
export const kinds = new Map();
kinds.set("range", {
  takes: ({ range }) => Array.isArray(range) && range.length === 2 && numbers(...range),
  make: ({ range: [low, high] }) => ({
    label: `positions ${low} to ${high}`,
    range: [low, high],
    test(run, round, node, token) {
      const pos = placeOf(round, node, token) + forcedOf(run); // of the axis that all bands share
      return pos >= low && pos <= high;
    },
  }),
});
kinds.set("sign", {
  takes: ({ sign }) => typeof sign === "string",
  make: ({ sign }) => ({
    label: sign,
    test: (_run, _round, node, token) => token?.origin === sign || node?.state === (sign === "draft" ? KEPT : sign),
  }),
});

/** A filter from its spec; null when nobody knows the kind, or it takes no such spec.
 * @param {FilterSpec | null | undefined} spec @returns {Filter | null} */
export function makeFilter(spec) {
  const kind = spec ? kinds.get(spec.kind) : undefined;
  return spec && kind?.takes(spec) ? { spec, ...kind.make(spec) } : null;
}

/** The spec of a filter that a view set; ranges are understood without one. @param {Filter} filter
 * @returns {FilterSpec | null} */
export const specOf = (filter) => filter.spec ?? (filter.range ? { kind: "range", range: filter.range } : null);
