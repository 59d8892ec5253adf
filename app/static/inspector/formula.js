// @ts-check
// What decided on a draft token as a formula: in symbols, and beside that with the token's own numbers. The exact test
// comes from the decision's reason, the rest from the condition that the rule declares. Plain data; mathml.js draws it.

import { samples } from "../columns.js";
import { fmt, minus, pieceOf } from "../draw.js";
import { choose, evaluate, holds } from "../rules.js";
import { knobsOf, numbersOf, thresholdOf } from "../thresholds.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/trace.js").Node} Node
 * @typedef {import("../types/threshold.js").Condition} Condition
 * @typedef {import("../types/threshold.js").Expression} Expression
 * @typedef {import("../words.js").Anchor} Anchor
 *
 * @typedef {{tag: string, of: string | readonly Formula[]}} Formula an element of MathML
 * @typedef {{about: string, symbols: Formula, numbers: Formula, holds: boolean | null}} Line
 * @typedef {{sign: Formula, words: string, anchor: Anchor | null}} Entry of the legend
 */

/** @param {string} tag @returns {(...of: (string | Formula)[]) => Formula} */
const element =
  (tag) =>
  (...of) => ({ tag, of: typeof of[0] === "string" ? of[0] : /** @type {Formula[]} */ (of) });
const [mi, mn, mo, mtext, mrow, msub, mfrac] = ["mi", "mn", "mo", "mtext", "mrow", "msub", "mfrac"].map(element);
const msup = element("msup");
/** @param {string} name @param {readonly Formula[]} of */
const called = (name, of) => mrow(mi(name), mo("("), ...of.flatMap((one, i) => (i ? [mo(","), one] : [one])), mo(")"));

/** Signs of recorded numbers. @type {Readonly<Record<string, Entry>>} */
const SIGNS = {
  p: { sign: mi("p"), words: "the target's probability", anchor: "distribution" },
  q: { sign: mi("q"), words: "the draft's probability", anchor: "distribution" },
  u: { sign: mi("u"), words: "the draw", anchor: "draw" },
  p_left: { sign: msub(mi("p"), mtext("left")), words: "the target's share of what is left", anchor: "residual" },
  h: { sign: mi("H"), words: "entropy of the distribution that is sampled from, nats", anchor: "entropy" },
  h_draft: { sign: msub(mi("H"), mtext("draft")), words: "the draft's entropy, nats", anchor: "entropy" },
  h_target: { sign: msub(mi("H"), mtext("target")), words: "the target's entropy, nats", anchor: "entropy" },
  overlap: { sign: mi("O"), words: "share of common first choices", anchor: "overlap" },
  rank: { sign: mi("r"), words: "rank of the draft token with the target", anchor: null },
  gap: { sign: mi("Δ"), words: "gap to the target's first choice, nats", anchor: "margin" },
  confidence: { sign: mi("C"), words: "the draft's confidence", anchor: "confidence" },
  score: { sign: mi("s"), words: "the judge's importance", anchor: "importance" },
  best: { sign: mi("S"), words: "log-probability of the path with its best next token, nats", anchor: null },
  last: { sign: msub(mi("S"), mi("N")), words: "that of the last path that goes on, nats", anchor: null },
  mass: { sign: mi("m"), words: "mass that the next token would leave, sum of max(w p − q, 0)", anchor: "residual" },
  weight: { sign: mi("w"), words: "weight of the block up to here, min(1, weight before × p/q)", anchor: null },
  reward: { sign: mi("R"), words: "the step's score by the reward model", anchor: "reward-model" },
};
const ROUGH = { "<=": "≤", ">=": "≥", "<": "<", ">": ">" };

/** The lines of a decision, and what their signs mean. @param {Run} run @param {Node | null} node
 * @returns {{lines: Line[], legend: Entry[]}} */
export function formulaOf(run, node) {
  const threshold = thresholdOf(run);
  const search = outdone(node);
  if (search) return { lines: [search], legend: [SIGNS.best, SIGNS.last] };
  /** @type {Set<string>} */
  const used = new Set();
  /** @type {Line[]} */
  const lines = [];
  if (!node || node.state === "discarded" || !node.reason) return { lines, legend: [] };
  const asked = samples(run) ? drawn(node, used) : greedy(run, node);
  const exact = threshold?.effect === "decide" ? null : asked;
  if (exact) lines.push(exact);
  const knobs = knobsOf(run);
  const numbers = numbersOf(node);
  if (threshold && isAsked(threshold.effect, node)) {
    const found = holds(threshold.condition, knobs, numbers);
    const about = { veto: "veto", override: "accept all the same", decide: "accept" }[threshold.effect];
    const symbols = condition(threshold.condition, { knobs, node: numbers, used });
    if (symbols)
      lines.push({
        about,
        symbols,
        numbers: condition(threshold.condition, { knobs, node: numbers, numbers }) ?? symbols,
        holds: found,
      });
  }
  return { lines, legend: Object.keys(SIGNS).flatMap((name) => (used.has(name) ? [SIGNS[name]] : [])) };
}

/** An override is asked only where the exact rule rejects. @param {string} effect @param {Node} node */
const isAsked = (effect, node) => effect !== "override" || node.state !== "accepted";

/** The chance that a block passes: at the draft's last token its weight. @param {boolean} last */
const passing = (last) =>
  last
    ? SIGNS.weight.sign
    : mfrac(SIGNS.mass.sign, mrow(SIGNS.mass.sign, mo("+"), mn("1"), mo("−"), SIGNS.weight.sign));

/** The draw against the chance of acceptance. @param {Node} node @param {Set<string>} used @returns {Line | null} */
function drawn({ reason, u: drew, accept_prob: chance }, used) {
  const u = reason?.u ?? drew;
  const { p, q, p_left: left, weight, ratio = chance } = reason ?? {};
  if (u == null || ratio == null || reason?.id === "veto") return null;
  const found = u < ratio;
  const sign = mo(found ? "<" : "≥");
  const digits = digitsFor(u, ratio);
  /** @param {string[]} names @param {Formula} symbols @param {Formula} numbers @returns {Line} */
  const line = (names, symbols, numbers) => {
    for (const name of names) used.add(name);
    const kept = mrow(SIGNS.u.sign, mo("<"), symbols);
    return { about: "accept", symbols: kept, numbers: mrow(number(u, digits), sign, numbers), holds: found };
  };
  if (weight != null) {
    const signs = ["u", "weight", ...(weight === ratio ? [] : ["mass"])];
    return { ...line(signs, passing(weight === ratio), number(ratio, digits)), about: "pass" };
  }
  if (left != null) return line(["u", "p_left"], SIGNS.p_left.sign, number(left, digits));
  if (p == null || q == null) return null;
  const chances = (/** @type {Formula} */ a, /** @type {Formula} */ b) => called("min", [mn("1"), mfrac(a, b)]);
  return line(
    ["u", "p", "q"],
    chances(SIGNS.p.sign, SIGNS.q.sign),
    mrow(chances(number(p), number(q)), mo("="), number(ratio, digits)),
  );
}

/** Whether a path goes on, where one ends. @param {Node | null} node @returns {Line | null} */
function outdone(node) {
  const { best, last } = node?.reason ?? {};
  if (best == null || last == null) return null;
  const digits = digitsFor(best, last);
  const found = best >= last;
  return {
    about: "go on",
    symbols: mrow(SIGNS.best.sign, mo("≥"), SIGNS.last.sign),
    numbers: mrow(number(best, digits), mo(found ? "≥" : "<"), number(last, digits)),
    holds: found,
  };
}

/** The draft token against the target's first choice. @param {Run} run @param {Node} node @returns {Line | null} */
function greedy(run, node) {
  const { strict, choice: left } = node.reason ?? {};
  const choice = node.state === "vetoed" ? strict : left; // before the veto, which is a line of its own
  if (choice === undefined) return null;
  const same = choice === node.token;
  return {
    about: "accept",
    symbols: mrow(mi("x"), mo("="), mtext("argmax\u00a0"), mi("p")),
    numbers: mrow(quoted(run, node.token), mo(same ? "=" : "≠"), quoted(run, choice)),
    holds: same,
  };
}

/** @param {Run} run @param {number} token */
const quoted = (run, token) => mtext(`“${pieceOf(run, token)}”`);

/**
 * How a condition of a node is written: with `used` in signs, which it notes there, with `numbers` in these.
 * @typedef {{knobs: Readonly<Record<string, unknown>>, node: import("../rules.js").Numbers, used?: Set<string>,
 *   numbers?: import("../rules.js").Numbers, digits?: number}} Way
 */

/** A condition; null where the knobs leave nothing of it. @param {Condition} given @param {Way} way
 * @returns {Formula | null} */
function condition(given, way) {
  const found = choose(given, way.knobs);
  if ("compare" in found) {
    const said = mo(ROUGH[found.compare]);
    if (!way.numbers) return mrow(expression(found.left, way), said, expression(found.right, way));
    const met = holds(found, way.knobs, way.numbers);
    const [left, right] = [found.left, found.right].map((side) => evaluate(side, way.knobs, way.numbers ?? {}));
    const near = { ...way, digits: digitsFor(left, right) };
    return mrow(
      worth(found.left, near, way.numbers),
      met === false ? mo(NOT[found.compare]) : said,
      worth(found.right, near, way.numbers),
    );
  }
  if ("absent" in found) {
    const there = way.numbers && holds(found, way.knobs, way.numbers) === false;
    return mrow(mtext(found.absent.number), mo(there ? "≠" : "="), mi("∅"));
  }
  const [parts, joint] = "all" in found ? [found.all, "∧"] : "any" in found ? [found.any, "∨"] : [[], ""];
  const written = parts.flatMap((part) => condition(part, way) ?? []);
  if (written.length < 2) return written[0] ?? null;
  const closed = written.map((part) => (isJoint(part) ? mrow(mo("("), part, mo(")")) : part));
  return mrow(...closed.flatMap((part, i) => (i ? [mo(joint), part] : [part])));
}

/** Whether a formula joins others. @param {Formula} formula */
const isJoint = ({ of }) =>
  typeof of !== "string" && of.some((part) => part.tag === "mo" && (part.of === "∧" || part.of === "∨"));

/** What a comparison that is not met shows. */
const NOT = { "<=": ">", ">=": "<", "<": "≥", ">": "≤" };

/** An expression in numbers, and its value where it is a calculation. @param {Expression} given @param {Way} way
 * @param {import("../rules.js").Numbers} numbers */
function worth(given, way, numbers) {
  let found = choose(given, way.knobs);
  while (typeof found === "object" && "op" in found && CHOICES.has(found.op))
    found = choose(chosen(found, way), way.knobs);
  const written = expression(found, way);
  const calculated = typeof found === "object" && "op" in found;
  return calculated ? mrow(written, mo("="), number(evaluate(found, way.knobs, numbers), way.digits)) : written;
}

const CHOICES = new Set(["known", "given"]);

/** @param {Expression} given @param {Way} way @returns {Formula} */
function expression(given, way) {
  const found = choose(given, way.knobs);
  if (typeof found === "number") return number(found, way.digits);
  if ("knob" in found) return way.numbers ? number(evaluate(found, way.knobs, {}), way.digits) : mtext(found.knob);
  if ("number" in found) {
    if (way.numbers) return number(evaluate(found, way.knobs, way.numbers), way.digits);
    way.used?.add(found.number);
    return SIGNS[found.number]?.sign ?? mtext(found.number);
  }
  if (!("op" in found)) throw new Error("a switch was not resolved");
  if (CHOICES.has(found.op)) return expression(chosen(found, way), way);
  const parts = found.of.map((part) => expression(part, way));
  if (found.op === "exp") return msup(mi("e"), parts[0]);
  if (found.op === "min" || found.op === "max") return called(found.op, parts);
  if (found.op === "sub" && found.of[0] === 0) return mrow(mo("−"), parts[1]);
  const sign = { add: "+", sub: "−", mul: "·" }[/** @type {"add" | "sub" | "mul"} */ (found.op)];
  const inner = (/** @type {Formula} */ part, /** @type {Expression} */ of) =>
    isSum(of, way) ? mrow(mo("("), part, mo(")")) : part;
  return mrow(
    ...parts.flatMap((part, i) => {
      const one = sign === "·" || (sign === "−" && i) ? inner(part, found.of[i]) : part;
      return i ? [mo(sign), one] : [one];
    }),
  );
}

/** @param {Expression} given @param {Way} way */
function isSum(given, way) {
  const found = choose(given, way.knobs);
  return typeof found === "object" && "op" in found && (found.op === "add" || found.op === "sub");
}

/** Of expressions of which one is taken, that one. @param {import("../types/threshold.js").Op} op @param {Way} way
 * @returns {Expression} */
function chosen({ op, of }, { knobs, node }) {
  if (op === "given") return of[(evaluate(of[0], knobs, {}) ?? -1) >= 0 ? 0 : 1];
  return of.find((part) => evaluate(part, knobs, node) != null) ?? of[0];
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (/** @type {string} */ digits) => [...digits].map((digit) => RAISED[Number(digit)]).join("");

/** A number that is reckoned with: digits also where the page elsewhere says "<0.001".
 * @param {number} value @param {number} digits */
const written = (value, digits) =>
  value !== 0 && Math.abs(value) < 1e-3
    ? minus(String(Number(value.toPrecision(digits))).replace(/e-(\d+)$/, (_, exponent) => `·10⁻${power(exponent)}`))
    : fmt(value, digits);

/** One that is not quite 1 is not written as 1. @param {number | null | undefined} value @param {number} [digits] */
function number(value, digits = DIGITS) {
  if (value == null || Number.isInteger(value)) return mn(String(value ?? "?"));
  return mn(written(value, Math.max(digits, digitsFor(value, 1))));
}

const [DIGITS, MOST_DIGITS] = [3, 7];

/** Digits by which two numbers that differ can be told apart.
 * @param {number | null | undefined} a @param {number | null | undefined} b */
function digitsFor(a, b) {
  if (a == null || b == null || a === b) return DIGITS;
  let digits = DIGITS;
  while (digits < MOST_DIGITS && written(a, digits) === written(b, digits)) digits += 1;
  return digits;
}

/** A formula as text, for those who hear it and for tests. @param {Formula} math @returns {string} */
export const plainText = ({ tag, of }) => {
  if (typeof of === "string") return tag === "mo" && !"(),".includes(of) ? ` ${of} ` : of;
  const parts = of.map(plainText);
  if (tag === "mfrac") return `${parts[0]}/${parts[1]}`;
  if (tag === "msup") return `${parts[0]}^(${parts[1]})`;
  return parts.join(tag === "msub" ? "_" : "");
};
