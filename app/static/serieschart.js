/** Several methods over trajectories on one chart: a colour and a shape each, names at the line ends, intervals where known. */

import { frame, line, point } from "./charts.js";
import { s } from "./dom.js";
import { fmt, label } from "./draw.js";

const LOOKS = [
  { colour: "--draft", shape: "disc" },
  { colour: "--target", shape: "square" },
  { colour: "--judge", shape: "diamond" },
  { colour: "--neutral", shape: "disc", hollow: true, dash: "5 3" },
  { colour: "--target", shape: "square", hollow: true, dash: "5 3" },
  { colour: "--draft", shape: "diamond", hollow: true, dash: "2 3" },
  { colour: "--judge", shape: "disc", hollow: true, dash: "2 3" },
];

/** @typedef {{x: number, y: number, low?: number|null, high?: number|null, lines?: string[]}} Point */

/** The figure. @param {{series: {name: string, points: Point[]}[], width: number, height: number, xName: string, yName: string, title: string, xTicks?: number[], xLast?: number, yFrom?: number, yTo?: number}} given
 * @returns {SVGElement} */
export function seriesChart({ series, width, height, xName, yName, title, xTicks, xLast = 1, yFrom = 0, yTo = 2 }) {
  const every = series.flatMap((one) => one.points);
  const xs = xTicks ?? every.map((one) => one.x);
  const top = Math.max(yTo, ...every.map((one) => one.high ?? one.y)) * 1.06;
  const narrow = width < 520;
  const pad = narrow ? 12 : 16 + 6.3 * Math.max(4, ...series.map((one) => one.name.length));
  const keyed = narrow ? 16 * series.length + 4 : 0;
  const chart = frame({
    width,
    height,
    title,
    x: [Math.min(1, ...xs) - 0.3, Math.max(xLast, ...xs) + 0.3],
    y: [yFrom, top],
    xName,
    yName,
    xWhole: true,
    xTicks,
    rightPad: pad,
  });
  const ends = [];
  series.forEach((one, i) => {
    const look = LOOKS[i % LOOKS.length];
    line(
      chart,
      one.points.map((at) => [at.x, at.y]),
      { stroke: `var(${look.colour})`, "stroke-dasharray": look.dash ?? null },
    );
    for (const at of one.points) {
      if (at.low != null)
        chart.plot.append(
          s("path", {
            d: `M${chart.x(at.x) - 3} ${chart.y(at.low)}h6m-3 0V${chart.y(at.high)}m-3 0h6`,
            stroke: `var(${look.colour})`,
            fill: "none",
            "pointer-events": "none",
          }),
        );
      point(chart, at.x, at.y, {
        ...look,
        lines: [
          `${one.name}, ${xName.split(" ")[0]} ${at.x}: ${fmt(at.y)}`,
          ...(at.low != null ? [`95 % interval ${fmt(at.low)} to ${fmt(at.high)}`] : []),
          ...(at.lines ?? []),
        ],
      });
    }
    if (one.points.length)
      ends.push({ y: chart.y(one.points.at(-1).y), x: chart.x(one.points.at(-1).x), name: one.name, look });
  });
  if (narrow) ends.forEach((end, i) => key(chart.figure, chart.left + 10, height + 8 + i * 16, end));
  else
    spread(ends, 13, chart.top + 4, chart.bottom).forEach((end) => {
      chart.figure.append(
        s("path", { d: `M${end.x + 6} ${end.y}L${chart.right + 4} ${end.at}`, stroke: "var(--line-2)", fill: "none" }),
        label(chart.right + 8, end.at + 4, end.name, { fill: `var(${end.look.colour})`, "font-weight": 600 }),
      );
    });
  chart.figure.setAttribute("viewBox", `0 0 ${width} ${height + keyed}`);
  chart.figure.setAttribute("height", height + keyed);
  return chart.figure;
}

function key(figure, x, y, { name, look }) {
  const chart = { plot: figure, x: (at) => at, y: (at) => at, small: true };
  figure.append(
    s("line", {
      x1: x - 9,
      x2: x + 9,
      y1: y,
      y2: y,
      stroke: `var(${look.colour})`,
      "stroke-width": 1.75,
      "stroke-dasharray": look.dash ?? null,
    }),
  );
  point(chart, x, y, { ...look, size: 3.5 });
  figure.append(
    label(x + 14, y + 4, name, {
      fill: `var(${look.colour})`,
      stroke: "var(--panel)",
      "stroke-width": 3,
      "paint-order": "stroke",
    }),
  );
}

/** Labels at least `gap` apart, each as near its line's end as can be. */
function spread(ends, gap, top, bottom) {
  const order = [...ends].sort((a, b) => a.y - b.y);
  let at = top - gap;
  for (const end of order) at = end.at = Math.max(at + gap, end.y);
  let low = bottom + gap;
  for (const end of order.reverse()) low = end.at = Math.min(low - gap, end.at);
  return order;
}
