/** Figures of pooled runs: rank of the last kept guess, tokens a call and cumulative entropy by that rank. */

import { bar, frame, keyLine, line, marker, point } from "./charts.js";
import { s } from "./dom.js";
import { fmt, label, percent, ticks } from "./draw.js";

const QUARTER = 0.25;

/** Rows of a figure's columns as objects. @param {Object<string, any[]>} columns @returns {any[]} */
export const rowsOf = (columns) =>
  (columns[Object.keys(columns)[0]] ?? []).map((_, i) =>
    Object.fromEntries(Object.entries(columns).map(([name, list]) => [name, list[i]])),
  );

const across = (drawn) => [-0.5, Math.max(4, drawn.size) - 0.5];
const early = (drawn, rank) => (rank <= QUARTER * drawn.size ? "--draft" : "--draft-2");
const step = (chart, rank) => ({ x0: chart.x(rank - 0.42), x1: chart.x(rank + 0.42) });

/** Figure 1c: how often each rank. @param {any} drawn @param {any} how {width, height, small, title, high} @returns {SVGElement} */
export function ranksFigure(drawn, { width, height, small = false, title, high }) {
  const rows = rowsOf(drawn.ranks);
  const top = high ?? highest(drawn);
  const chart = frame({
    width,
    height,
    small,
    title,
    x: across(drawn),
    y: [0, top * 1.15],
    xName: "rank of the last kept guess (TCR)",
    yName: "share of rounds",
    xWhole: true,
    yFormat: percent,
  });
  for (const { tcr, rounds } of rows) {
    const share = rounds / drawn.rounds;
    bar(chart, {
      ...step(chart, tcr),
      value: share,
      colour: tcr === 0 ? "--neutral" : early(drawn, tcr),
      lines: [tcr === 0 ? "none kept" : `rank ${tcr}`, `${rounds} of ${drawn.rounds} rounds, ${percent(share)}`],
    });
  }
  marker(chart, QUARTER * drawn.size, `${percent(within(drawn))} within a quarter of N`);
  if (!small) inset(chart, drawn);
  return chart.figure;
}

/** Share of the rounds whose last kept guess ranks within a quarter of N. @param {any} drawn @returns {number} */
export const within = (drawn) => drawn.quantiles.share[drawn.quantiles.quantile.indexOf(QUARTER)];

/** The largest share of one rank. @param {any} drawn @returns {number} */
export const highest = (drawn) => Math.max(...drawn.ranks.rounds, 0) / Math.max(1, drawn.rounds);

/** Figure 1e, inside 1c: the share of rounds within each part of N. */
function inset(chart, drawn) {
  const { quantile, share } = drawn.quantiles;
  const [width, row] = [Math.min(128, (chart.right - chart.left) * 0.42), 13];
  const [left, top] = [chart.right - width, chart.top + 34];
  const box = s(
    "g",
    {},
    s("rect", {
      x: left - 40,
      y: top - 14,
      width: width + 44,
      height: quantile.length * row + 20,
      fill: "var(--panel)",
      stroke: "var(--line)",
      rx: 4,
    }),
  );
  box.append(label(left - 34, top - 3, "rounds within the first … of N", { "font-size": 9.5, fill: "var(--ink-3)" }));
  quantile.forEach((part, i) => {
    const y = top + 4 + i * row;
    box.append(label(left - 6, y + 8.5, percent(part), { "text-anchor": "end", "font-size": 10 }));
    box.append(
      s("rect", {
        x: left,
        y: y + 1.5,
        width: Math.max(0.5, (width - 40) * share[i]),
        height: row - 4,
        fill: part <= QUARTER ? "var(--draft)" : "var(--draft-2)",
      }),
    );
    box.append(label(left + (width - 40) * share[i] + 4, y + 8.5, percent(share[i]), { "font-size": 10 }));
  });
  chart.figure.append(box);
}

/** Figure 1d: mean tokens a call by rank. @param {any} drawn @param {any} how {width, height} @returns {SVGElement} */
export function lengthFigure(drawn, { width, height }) {
  const rows = rowsOf(drawn.ranks);
  const top = Math.max(2, ...rows.map((row) => row.tau));
  const chart = frame({
    width,
    height,
    title: "Tokens a call by rank",
    x: across(drawn),
    y: [0, top * 1.1],
    xName: "rank of the last kept guess (TCR)",
    yName: "tokens a call",
    xWhole: true,
  });
  for (const { tcr, tau, rounds } of rows)
    bar(chart, {
      ...step(chart, tcr),
      value: tau,
      colour: tcr === 0 ? "--neutral" : early(drawn, tcr),
      opacity: rounds < 3 ? 0.45 : null,
      lines: [tcr === 0 ? "none kept" : `rank ${tcr}`, `${fmt(tau)} tokens a call, mean of ${rounds}`],
    });
  line(
    chart,
    [
      [1, 2],
      [Math.min(drawn.size - 1, top - 1), Math.min(drawn.size, top)],
    ],
    { stroke: "var(--ink-3)", "stroke-dasharray": "4 3", "stroke-width": 1.25 },
  );
  marker(chart, QUARTER * drawn.size, "");
  return chart.figure;
}

/** Figure 4: tokens a call as bars, cumulative entropy as a line on its own scale, by rank.
 * @param {any} drawn @param {any} how {width, height} @returns {SVGElement} */
export function entropyFigure(drawn, { width, height }) {
  const rows = rowsOf(drawn.entropy);
  const top = Math.max(2, ...rows.map((row) => row.tau)) * 1.1;
  const high = Math.max(0.5, ...rows.map((row) => row.phi)) * 1.1;
  const chart = frame({
    width,
    height,
    key: true,
    rightPad: 46,
    title: "Tokens a call and cumulative entropy by rank",
    x: across(drawn),
    y: [0, top],
    xName: "rank of the last kept guess (TCR)",
    yName: "tokens a call",
    xWhole: true,
  });
  for (const { tcr, tau, phi, rounds } of rows)
    bar(chart, {
      ...step(chart, tcr),
      value: tau,
      colour: tcr === 0 ? "--neutral" : "--draft-2",
      opacity: rounds < 3 ? 0.45 : null,
      lines: [
        tcr === 0 ? "none kept" : `rank ${tcr}`,
        `${fmt(tau)} tokens a call, entropy ${fmt(phi)} nats`,
        `mean of ${rounds} rounds`,
      ],
    });
  const scaled = (phi) => (phi / high) * top;
  line(
    chart,
    rows.map((row) => [row.tcr, scaled(row.phi)]),
    { stroke: "var(--target)" },
  );
  for (const row of rows)
    point(chart, row.tcr, scaled(row.phi), { shape: "square", colour: "--target", size: 2.2 }).setAttribute(
      "pointer-events",
      "none",
    );
  for (const tick of ticks(0, high, 4))
    chart.figure.append(
      label(chart.right + 6, chart.y(scaled(tick)) + 3.5, fmt(tick), { "font-size": 10, fill: "var(--target)" }),
    );
  chart.figure.append(
    label(0, 0, "cumulative entropy, nats", {
      "text-anchor": "middle",
      fill: "var(--target)",
      transform: `translate(${width - 5} ${(chart.top + chart.bottom) / 2}) rotate(-90)`,
    }),
  );
  keyLine(chart.figure, chart.left, 10, [
    { words: "tokens a call", colour: "--draft-2", shape: "bar" },
    { words: "cumulative entropy", colour: "--target", shape: "square" },
  ]);
  return chart.figure;
}

/** Table 1's numbers with a spread, as bars with their interval: one row a method.
 * @param {any[]} methods @param {{name: string, read: (row: any) => any, unit: string}} what @param {number} width @returns {SVGElement} */
export function spreadFigure(methods, what, width) {
  const rows = methods.map((row) => [row, what.read(row)]).filter(([, value]) => value);
  const [row, top] = [22, 16];
  const height = top + rows.length * row + 6;
  const names = Math.min(190, width * 0.42);
  const high = Math.max(...rows.map(([, value]) => value.high ?? value.mean)) * 1.05;
  const x = (value) => names + (value / high) * (width - names - 46);
  const figure = s("svg.v-figure", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": what.name,
  });
  figure.append(label(names, 10, what.name, { "font-weight": 600, fill: "var(--ink)" }));
  if (what.one)
    figure.append(
      s("line", { x1: x(1), x2: x(1), y1: top, y2: height - 4, stroke: "var(--line-2)", "stroke-dasharray": "4 3" }),
    );
  rows.forEach(([method, value], i) => {
    const y = top + i * row;
    const room = Math.floor(names / 6.1);
    const words = method.label.length > room ? `${method.label.slice(0, room - 1)}…` : method.label;
    const name = label(names - 6, y + 14, words, { "text-anchor": "end", fill: "var(--ink)" });
    name.append(s("title", { text: method.label }));
    figure.append(
      name,
      s("rect", {
        x: names,
        y: y + 5,
        width: Math.max(0.5, x(value.mean) - names),
        height: row - 10,
        fill: method.guarantee === "reference" ? "var(--neutral)" : "var(--draft-2)",
      }),
    );
    const end = value.high ?? value.mean;
    if (value.low !== null)
      figure.append(
        s("path", {
          d: `M${x(value.low)} ${y + row / 2}H${x(value.high)}M${x(value.low)} ${y + 7}v${row - 14}M${x(value.high)} ${y + 7}v${row - 14}`,
          stroke: "var(--ink)",
          "stroke-width": 1.25,
          fill: "none",
        }),
      );
    figure.append(label(x(end) + 5, y + 14, fmt(value.mean), { fill: "var(--ink)" }));
  });
  return figure;
}
