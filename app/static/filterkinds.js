// @ts-check
// The filters that charts set, as data, so that a link can hold them (filters.js keeps the table).

import { percent } from "./draw.js";
import { kinds, numbers } from "./filters.js";
import { tcrOf } from "./numbers.js";

/** @type {Record<string, string>} */
const WHO = { h_draft: "H(draft)", h_target: "H(target)" };
/** @param {number} value */
const plain = (value) => Number(value.toPrecision(6)).toString();

kinds.set("depth", {
  takes: ({ depth }) => numbers(depth),
  make: ({ depth }) => ({
    label: `position ${depth} of the draft`,
    test: (_run, round, node, token) => (node ? node.depth : token ? token.pos - round.start + 1 : -1) === depth,
  }),
});
kinds.set("kept", {
  takes: ({ kept }) => numbers(kept),
  make: ({ kept }) => ({
    label: `rounds that accepted ${kept}`,
    test: (_run, round) => round.accepted === kept,
  }),
});
kinds.set("entropy", {
  takes: ({ field, low, high }) => Object.hasOwn(WHO, field) && numbers(low, high),
  make: ({ field, low, high }) => ({
    label: `${WHO[field]} ${plain(low)} to ${plain(high)} nats`,
    test: (_run, _round, node, token) => {
      const of = (/** @type {{h_draft?: number, h_target?: number} | null | undefined} */ item) =>
        item?.[/** @type {"h_draft" | "h_target"} */ (field)];
      const value = of(node) ?? of(token) ?? null;
      return value !== null && value >= low && value < high;
    },
  }),
});
kinds.set("probability", {
  takes: ({ low, high }) => numbers(low, high),
  make: ({ low, high }) => ({
    label: `draft probability ${percent(low)} to ${percent(high)}`,
    test: (_run, round, node, token) => {
      const q = (node ?? round.nodes?.[token?.node ?? -1])?.q ?? null;
      return q !== null && q >= low && (q < high || high === 1);
    },
  }),
});
kinds.set("tcr", {
  takes: ({ low, high }) => numbers(low, high),
  make: ({ low, high }) => ({
    label: `rank of the last accepted ${low === high ? low : `${low} to ${high}`}`,
    test: (_run, round) => {
      const rank = tcrOf(round);
      return rank !== null && rank >= low && rank <= high;
    },
  }),
});

export { makeFilter } from "./filters.js";
