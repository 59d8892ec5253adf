// Pooled results of many problems: means with 95 % intervals by trajectory, and the tables; or how to make them.

import { h } from "./dom.js";
import { fmt, percent } from "./draw.js";
import { seriesChart } from "./serieschart.js";
import { table } from "./trajectoryrows.js";

const COMMANDS = [
  "python -m engine trajectories compare --items 50 --n 8",
  "python -m engine trajectories ablation --items 50 --n 4",
  "python -m engine trajectories results",
];
const interval = (value) =>
  !value ? "–" : value.low == null ? fmt(value.mean) : `${fmt(value.mean)} [${fmt(value.low)}, ${fmt(value.high)}]`;
const unique = (items) => [...new Set(items)];

/** @param {any} results docs/results/trajectories.json, or null @param {any[]} cards of the catalogue */
export function drawPool(results, cards) {
  if (!results) {
    return h(
      "section.pool",
      {},
      h("h3", {}, "Over many problems"),
      h(
        "p.quiet",
        {},
        "Not measured yet on this target. These commands make what stands here, means with intervals over at least 50 problems:",
      ),
      h("pre.formula", {}, COMMANDS.join("\n")),
    );
  }
  const name = (label) => labelled(label, cards);
  const body = h("section.pool", {}, h("h3", {}, "Over many problems"), chart(results.compare, name));
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
    h("p.quiet", {}, `Measured ${results.created} by `, h("code", {}, results.commands.join("; "))),
  );
  return body;
}

/** "method:knob=value" as a title and its knobs. */
function labelled(label, cards) {
  const [method, ...knobs] = label.split(":");
  const title = cards.find((card) => card.name === method)?.title ?? method;
  return knobs.length
    ? `${title}, ${knobs.map((knob) => knob.split("=").at(-1).replaceAll("_", " ")).join(", ")}`
    : title;
}

/** The i-th trajectory alone, drawn at the width that the section has. */
function chart(part, name) {
  const methods = unique(part.by_trajectory.map((cell) => cell.method));
  const series = methods.map((method) => ({
    name: name(method),
    points: part.by_trajectory
      .filter((cell) => cell.method === method && cell.tau)
      .map((cell) => ({
        x: cell.trajectory,
        y: cell.tau.mean,
        low: cell.tau.low,
        high: cell.tau.high,
        lines: [`${cell.problems} problems`],
      })),
  }));
  const n = Math.max(...part.by_trajectory.map((cell) => cell.problems));
  const ticks = unique(part.by_trajectory.map((cell) => cell.trajectory));
  const title = "Tokens a target call of the i-th trajectory";
  const spot = h("div.pool-chart");
  new ResizeObserver(([entry]) =>
    spot.replaceChildren(
      seriesChart({
        series,
        width: Math.max(300, entry.contentRect.width),
        height: 290,
        title,
        xName: "trajectory",
        yName: "tokens a target call",
        xTicks: ticks,
      }),
    ),
  ).observe(spot);
  const { settings } = part;
  return h(
    "div",
    {},
    h("h4", {}, title),
    spot,
    h(
      "p.quiet",
      {},
      `Mean over ${n} held-out problems (${settings.family}), whiskers: 95 % t-interval over problems. Temperature ${settings.temperature}, at most ${settings.max_new_tokens} tokens.`,
    ),
    h(
      "details",
      {},
      h("summary", {}, "As a table"),
      table(
        title,
        ["method", ...ticks],
        series.map((one) => [one.name, ...ticks.map((i) => interval(pick(one, i)))]),
      ),
    ),
  );
}

const pick = (series, i) => {
  const at = series.points.find((point) => point.x === i);
  return at ? { mean: at.y, low: at.low, high: at.high } : null;
};

function lengths(title, part, name) {
  const [methods, ks] = [unique(part.over_k.map((cell) => cell.method)), unique(part.over_k.map((cell) => cell.k))];
  const cell = (method, k) => part.over_k.find((one) => one.method === method && one.k === k);
  const rows = methods.map((method) => [
    name(method),
    ...ks.map((k) => interval(cell(method, k)?.tau)),
    fmt(cell(method, ks.at(-1))?.tokens_per_s),
    percent(part.accuracy[method]?.[ks.at(-1)]),
  ]);
  return table(
    `${title}; n = ${Math.max(...part.over_k.map((one) => one.problems))}`,
    ["method", ...ks.map((k) => `k = ${k}`), `tokens/s, k = ${ks.at(-1)}`, "majority right"],
    rows,
  );
}

function gaps(part, name) {
  if (!part.differences.length) return "";
  const [first] = part.differences;
  return table(
    `${name(first.a)} less another method over ${first.k} trajectories, paired over problems (95 % interval)`,
    ["less", "tokens a call"],
    part.differences.map((gap) => [name(gap.b), interval(gap.difference)]),
  );
}

function acceptance(report) {
  if (!report) return "";
  return table(
    "Probability that the first guess is accepted, replayed on the same texts: most probable token against a drawn one (95 % interval over positions)",
    ["positions of", "n", "deterministic", "stochastic", "difference"],
    Object.entries(report).map(([name, row]) => [
      name,
      row.n,
      interval(row.deterministic),
      interval(row.stochastic),
      interval(row.difference),
    ]),
  );
}

function overlap(rows) {
  if (!rows?.length) return "";
  const counts = unique(rows.map((row) => row.trajectories));
  const orders = unique(rows.map((row) => row.order));
  const cell = (n, k) => rows.find((row) => row.order === n && row.trajectories === k);
  return table(
    `Share of n-grams that occur at several places of the first k trajectories / of the last one's that stood in an earlier one; mean over ${rows[0].problems} problems`,
    ["n", ...counts.map((k) => `k = ${k}`)],
    orders.map((n) => [
      n,
      ...counts.map((k) => `${percent(cell(n, k)?.repeated)} / ${percent(cell(n, k)?.seen_before)}`),
    ]),
  );
}
