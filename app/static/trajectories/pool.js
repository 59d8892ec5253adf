// @ts-check
// Pooled results of many problems: means with 95 % intervals by trajectory, and the tables; or how to make them.

import { commandline, commandlines } from "../commandline.js";
import { count, h } from "../dom.js";
import { minus, perCall, percent, perSecond } from "../draw.js";
import { plotted } from "../plot.js";
import { table } from "./rows.js";

/**
 * @typedef {import("../types/analysis.js").Interval} Interval
 * @typedef {import("../types/measured.js").TrajectoryResults} Results
 * @typedef {import("../types/measured.js").TrajectoryPart} Part
 * @typedef {(label: string) => string} Name
 */

const COMMANDS = [
  "python -m engine trajectories compare --items 50 --n 8",
  "python -m engine trajectories ablation --items 50 --n 4",
  "python -m engine trajectories results",
];
/** @param {Interval | null | undefined} value @param {(value: number) => string} say */
export const interval = (value, say) =>
  !value
    ? "–"
    : value.low == null || value.high == null
      ? say(value.mean)
      : `${say(value.mean)} (${say(value.low)} to ${say(value.high)})`;
/** Of probabilities, and of how far they are apart. @param {number} value */
export const chance = (value) => minus(value.toFixed(3));
/** Of tokens a call, and of how far they are apart. @param {number} value */
export const each = (value) => minus(value.toFixed(2));
/** @template T @param {readonly T[]} items */
const unique = (items) => [...new Set(items)];

/** @param {Results | null} results @returns {HTMLElement} */
export function drawPool(results) {
  if (!results) {
    return h(
      "section.pool",
      {},
      h("h3", {}, "Over many problems"),
      h(
        "p.quiet",
        {},
        "Not measured yet on this target. These commands make what belongs here, means with intervals over at least " +
          "50 problems:",
      ),
      commandlines(COMMANDS),
    );
  }
  const name = (/** @type {string} */ label) => results.names[label] ?? label;
  const body = h("section.pool", {}, h("h3", {}, "Over many problems"), chart(results, name));
  body.append(
    lengths(
      "Tokens a target call over the first k trajectories, mean over problems with its 95 % interval",
      results.compare,
      name,
    ),
    gaps(results.compare, name),
    results.ablation
      ? lengths("Ablation: how the children of a node are chosen, each with its own tree", results.ablation, name)
      : "",
    results.trees ? lengths("Heuristic against optimised tree", results.trees, name) : "",
    acceptance(results.acceptance),
    overlap(results.overlap),
    h("p.quiet", {}, `Measured ${results.created} by `, commandline(results.commands.join("; "))),
  );
  return body;
}

/** The i-th trajectory alone: the server's figure, and its numbers as a table. @param {Results} results
 * @param {Name} name */
function chart({ compare, figure }, name) {
  const cells = compare.by_trajectory;
  const ticks = unique(cells.map((cell) => cell.trajectory));
  const n = Math.max(...cells.map((cell) => cell.problems));
  const { settings } = compare;
  /** @param {string} method @param {number} i */
  const at = (method, i) => cells.find((cell) => cell.method === method && cell.trajectory === i)?.tau;
  return h(
    "div",
    {},
    plotted(figure, {
      caption:
        `Mean over ${n} held-out problems (${settings.family}), whiskers: 95 % t-interval over problems. ` +
        `Temperature ${settings.temperature}, at most ${count(settings.max_new_tokens, "token")}.`,
      stem: settings.family,
    }),
    h(
      "details",
      {},
      h("summary", {}, "As a table"),
      table(
        "Tokens a target call of the i-th trajectory",
        ["method", ...ticks.map(String)],
        unique(cells.map((cell) => cell.method)).map((method) => [
          name(method),
          ...ticks.map((i) => interval(at(method, i), perCall)),
        ]),
      ),
    ),
  );
}

/** @param {string} title @param {Part} part @param {Name} name */
function lengths(title, part, name) {
  const [methods, ks] = [unique(part.over_k.map((cell) => cell.method)), unique(part.over_k.map((cell) => cell.k))];
  /** @param {string} method @param {number | undefined} k */
  const cell = (method, k) => part.over_k.find((one) => one.method === method && one.k === k);
  const rows = methods.map((method) => [
    name(method),
    ...ks.map((k) => interval(cell(method, k)?.tau, perCall)),
    perSecond(cell(method, ks.at(-1))?.tokens_per_s),
    percent(part.accuracy[method]?.[String(ks.at(-1))]),
  ]);
  return table(
    `${title}; n = ${Math.max(...part.over_k.map((one) => one.problems))}`,
    ["method", ...ks.map((k) => `k = ${k}`), `tokens/s, k = ${ks.at(-1)}`, "majority right"],
    rows,
  );
}

/** @param {Part} part @param {Name} name */
function gaps(part, name) {
  if (!part.differences.length) return "";
  const [first] = part.differences;
  return table(
    `${name(first.a)} less another method over ${first.k} trajectories, paired over problems (95 % interval)`,
    ["less", "tokens a call"],
    part.differences.map((gap) => [name(gap.b), interval(gap.difference, each)]),
  );
}

/** @param {Results["acceptance"]} report */
export function acceptance(report) {
  if (!report) return "";
  const problems = count(Math.max(...Object.values(report).map((row) => row.difference?.n ?? 0)), "problem");
  return table(
    "Probability that the first draft token is accepted, replayed on the same texts: most probable token against a " +
      `drawn one (95 % interval over ${problems})`,
    ["of", "positions", "deterministic", "stochastic", "difference"],
    Object.entries(report).map(([name, row]) => [
      name,
      row.n,
      interval(row.deterministic, chance),
      interval(row.stochastic, chance),
      interval(row.difference, chance),
    ]),
  );
}

/** @param {Results["overlap"]} rows */
function overlap(rows) {
  if (!rows?.length) return "";
  const counts = unique(rows.map((row) => row.trajectories));
  const orders = unique(rows.map((row) => row.order));
  /** @param {number} n @param {number} k */
  const cell = (n, k) => rows.find((row) => row.order === n && row.trajectories === k);
  return table(
    "Share of n-grams that occur at several places of the first k trajectories / of the last one's that occurred in " +
      `an earlier one; mean over ${count(rows[0].problems, "problem")}`,
    ["n", ...counts.map((k) => `k = ${k}`)],
    orders.map((n) => [
      n,
      ...counts.map((k) => `${percent(cell(n, k)?.repeated)} / ${percent(cell(n, k)?.seen_before)}`),
    ]),
  );
}
