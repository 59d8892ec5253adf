// @ts-check
/** What a rule's declared condition (engine/threshold) says of a recorded node under some knobs. Knows no rule by name.
 * The same meaning as engine/threshold/evaluate.py; tests/vectors hold the two together.
 *
 * A number may be there, may be null (the decision looked for it and there was none), or may be missing (undefined: not
 * recorded). A comparison with null does not hold; one with a missing number is unknown (null). */

/** @typedef {import("./types/threshold.js").Threshold} Threshold */
/** @typedef {import("./types/threshold.js").Condition} Condition */
/** @typedef {import("./types/threshold.js").Expression} Expression */
/** @typedef {import("./types/threshold.js").Recorded} Recorded */
/** @typedef {import("./types/threshold.js").Compare} Compare */
/** @typedef {Readonly<Record<string, unknown>>} Knobs */
/** @typedef {{readonly reason?: Readonly<Record<string, unknown>> | null, readonly [field: string]: unknown}} Numbers
 * A node of a trace, or anything with its fields. */
/** @typedef {{name: string, field: string, value: number | null, sign: string, limit: number | null, knob: string,
 *   holds: boolean | null}} Term A comparison in force with its numbers; `knob` is the knob that is the limit,
 *   or "". */

/** @typedef {number | null | undefined} Value */

/** The part that the knobs choose. @template T @param {T | import("./types/threshold.js").Switch<T>} part
 * @param {Knobs} knobs @returns {T} */
export function choose(part, knobs) {
  /** @type {unknown} */
  let found = part;
  while (typeof found === "object" && found !== null && "switch" in found) {
    const one = /** @type {import("./types/threshold.js").Switch<T>} */ (found);
    const own = one.cases.find(([value]) => value === knobs[one.switch]);
    found = own ? own[1] : one.otherwise;
  }
  return /** @type {T} */ (found);
}

/** Whether a condition holds at a node; null where the trace cannot tell.
 * @param {Condition} given @param {Knobs} knobs @param {Numbers} node @returns {boolean | null} */
export function holds(given, knobs, node) {
  const condition = choose(given, knobs);
  if ("compare" in condition) return compared(condition, knobs, node);
  if ("absent" in condition) {
    const found = read(condition.absent, knobs, node);
    return found === undefined ? null : found === null;
  }
  if ("all" in condition) {
    const parts = condition.all.map((part) => holds(part, knobs, node));
    return parts.includes(false) ? false : parts.includes(null) ? null : true;
  }
  if (!("any" in condition)) throw new Error("a switch was not resolved");
  const parts = condition.any.map((part) => holds(part, knobs, node));
  return parts.includes(true) ? true : parts.includes(null) ? null : false;
}

/** @param {Compare} one @param {Knobs} knobs @param {Numbers} node @returns {boolean | null} */
function compared(one, knobs, node) {
  const left = evaluate(one.left, knobs, node);
  const right = evaluate(one.right, knobs, node);
  if (left === undefined || right === undefined) return null;
  if (left === null || right === null) return false;
  switch (one.compare) {
    case "<":
      return left < right;
    case "<=":
      return left <= right + one.tolerance;
    case ">":
      return left > right;
    default:
      return left >= right - one.tolerance;
  }
}

/** The value of an expression at a node. @param {Expression} given @param {Knobs} knobs @param {Numbers} node
 * @returns {Value} */
export function evaluate(given, knobs, node) {
  const expression = choose(given, knobs);
  if (typeof expression === "number") return expression;
  if ("knob" in expression) return numeric(knobs[expression.knob]);
  if ("number" in expression) {
    const found = read(expression, knobs, node);
    return found === null ? null : numeric(found);
  }
  if (!("op" in expression)) throw new Error("a switch was not resolved");
  const parts = expression.of.map((part) => evaluate(part, knobs, node));
  if (expression.op === "known") return parts.find((part) => part !== undefined && part !== null) ?? null;
  if (expression.op === "given") {
    if (parts[0] === undefined) return undefined;
    return parts[0] !== null && parts[0] >= 0 ? parts[0] : parts[1];
  }
  if (parts.includes(undefined)) return undefined;
  if (parts.includes(null)) return null;
  return OPS[expression.op](.../** @type {number[]} */ (parts));
}

/** @type {Record<"add" | "sub" | "mul" | "min" | "max" | "exp", (...numbers: number[]) => number>} */
const OPS = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  min: Math.min,
  max: Math.max,
  exp: Math.exp,
};

/** A recorded number: the reason's own, else the node's field; undefined where it was not recorded.
 * @param {Recorded} one @param {Knobs} knobs @param {Numbers} node @returns {unknown} */
function read(one, knobs, node) {
  const reason = node.reason ?? {};
  if (Object.hasOwn(reason, one.number)) return reason[one.number];
  const field = choose(one.field, knobs);
  return field === "" ? undefined : (node[field] ?? undefined);
}

/** A number as a trace writes it, infinite ones included. @param {unknown} value @returns {number | undefined} */
function numeric(value) {
  if (value === "Infinity") return Infinity;
  if (value === "-Infinity") return -Infinity;
  return typeof value === "number" ? value : undefined;
}

/** The comparisons that these knobs leave in a condition, with their numbers at a node.
 * @param {Condition} condition @param {Knobs} knobs @param {Numbers} node @returns {Term[]} */
export function terms(condition, knobs, node) {
  return inForce(condition, knobs).map((one) => {
    const left = choose(one.left, knobs);
    const recorded = typeof left === "object" && "number" in left ? left : null;
    return {
      name: recorded?.number ?? "",
      field: recorded ? choose(recorded.field, knobs) : "",
      value: evaluate(one.left, knobs, node) ?? null,
      sign: one.compare,
      limit: evaluate(one.right, knobs, node) ?? null,
      knob: knobOf(one.right, knobs),
      holds: holds(one, knobs, node),
    };
  });
}

/** @param {Condition} given @param {Knobs} knobs @returns {Compare[]} */
function inForce(given, knobs) {
  const condition = choose(given, knobs);
  if ("compare" in condition) return [condition];
  if ("all" in condition) return condition.all.flatMap((part) => inForce(part, knobs));
  if ("any" in condition) return condition.any.flatMap((part) => inForce(part, knobs));
  return [];
}

/** The knob that an expression is under these knobs; "" for a calculation. @param {Expression} given
 * @param {Knobs} knobs @returns {string} */
function knobOf(given, knobs) {
  const expression = choose(given, knobs);
  if (typeof expression !== "object") return "";
  if ("knob" in expression) return expression.knob;
  if (!("op" in expression) || expression.op !== "given") return "";
  return knobOf(expression.of[(evaluate(expression.of[0], knobs, {}) ?? -1) >= 0 ? 0 : 1], knobs);
}

/** The knobs that a declaration compares or calculates with, each once. @param {Threshold} threshold
 * @returns {string[]} */
export function settings(threshold) {
  /** @type {Set<string>} */
  const found = new Set();
  collect(threshold.condition, (part) => {
    if (typeof part.knob === "string") found.add(part.knob);
  });
  return [...found];
}

/** What a recorded number is taken at, such as the n of overlap@n. @param {Threshold | null} threshold
 * @param {string} name @param {Knobs} knobs @param {number} usual @returns {number} */
export function takenAt(threshold, name, knobs, usual) {
  let found = usual;
  collect(threshold?.condition ?? null, (part) => {
    if (part.number === name && part.at) found = evaluate(/** @type {Expression} */ (part.at), knobs, {}) ?? found;
  });
  return found;
}

/** Every part of a declaration, what a number is taken at aside. @param {unknown} part
 * @param {(part: Readonly<Record<string, unknown>>) => void} see */
function collect(part, see) {
  if (Array.isArray(part)) for (const one of part) collect(one, see);
  else if (typeof part === "object" && part !== null) {
    see(/** @type {Readonly<Record<string, unknown>>} */ (part));
    for (const [name, one] of Object.entries(part)) if (name !== "at") collect(one, see);
  }
}

/** Whether the tested node's fate depends on the condition: a veto of a token that is rejected anyway changes nothing
 * when greedy, and an override is asked only where the exact rule rejects.
 * @param {Threshold} threshold @param {Knobs} knobs @param {boolean} greedy @param {string} state @returns {boolean} */
export function matters(threshold, knobs, greedy, state) {
  const strict = state === "accepted" || state === "vetoed";
  if (threshold.effect === "veto") return !greedy || choose(threshold.bars, knobs) !== "proposed" || strict;
  return threshold.effect === "decide" || !strict;
}
