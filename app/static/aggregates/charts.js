// @ts-check
// Small SVG charts: a frame with axes, bars that filter, lines, points. Every axis has a name and a unit.

import { s } from "../dom.js";
import { FONT, fmt, label, linear, ticks, tip } from "../draw.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {{figure: SVGSVGElement, plot: SVGElement, x: (v: number) => number, y: (v: number) => number, left: number,
 *   right: number, top: number, bottom: number, small: boolean, whose: string}} Frame
 * @typedef {[low: number, high: number]} Range
 * @typedef {{name: string, filter: import("../types/store.js").Filter | null}} Pick a filter that a mark sets
 *
 * @typedef {object} Axes
 * @property {number} width
 * @property {number} height
 * @property {Range} x
 * @property {Range} y
 * @property {string} xName
 * @property {string} yName
 * @property {boolean} [xWhole] ticks at whole numbers alone
 * @property {boolean} [yWhole]
 * @property {number[]} [xTicks]
 * @property {number[]} [yTicks]
 * @property {(value: number) => string} [xFormat]
 * @property {(value: number) => string} [yFormat]
 * @property {boolean} [small] without ticks and names
 * @property {boolean} [key] room for a key above
 * @property {number} [rightPad]
 * @property {number} [leftPad]
 * @property {string} [title]
 * @property {string} [whose] the lane, which the names of its marks begin with
 *
 * @typedef {object} Bar
 * @property {number} x0 pixels
 * @property {number} x1
 * @property {number} value
 * @property {number} [base]
 * @property {string} colour a variable
 * @property {string[]} [lines] of its tooltip
 * @property {Pick} [pick]
 * @property {Store} [store]
 * @property {number} [opacity]
 * @property {boolean} [outline]
 */

/** A frame with axes. @param {Axes} given @returns {Frame} */
export function frame(given) {
  const { width, height, small = false, whose = "" } = given;
  const left = small ? 6 : (given.leftPad ?? 46);
  const top = small ? 18 : given.key ? 24 : 12;
  const right = width - (small ? 6 : (given.rightPad ?? 12));
  const bottom = height - (small ? 8 : 34);
  const x = linear(given.x[0], given.x[1], left, right);
  const y = linear(given.y[0], given.y[1], bottom, top);
  const figure = s("svg.v-figure", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": given.title ?? "",
  });
  const axes = s("g");
  const plot = s("g");
  if (!small) {
    for (const tick of given.yTicks ?? ticks(given.y[0], given.y[1], 4, given.yWhole)) {
      axes.append(
        s("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), stroke: "var(--line)" }),
        label(left - 6, y(tick) + 3.5, (given.yFormat ?? fmt)(tick), {
          "text-anchor": "end",
          "font-size": 10,
          fill: "var(--ink-3)",
        }),
      );
    }
    for (const tick of given.xTicks ??
      ticks(given.x[0], given.x[1], Math.max(2, Math.floor((right - left) / (given.xWhole ? 34 : 60))), given.xWhole)) {
      axes.append(
        label(x(tick), bottom + 13, (given.xFormat ?? fmt)(tick), {
          "text-anchor": "middle",
          "font-size": 10,
          fill: "var(--ink-3)",
        }),
      );
    }
    axes.append(label((left + right) / 2, height - 4, given.xName, { "text-anchor": "middle" }));
    axes.append(
      label(0, 0, given.yName, {
        "text-anchor": "middle",
        transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)`,
      }),
    );
  } else if (given.title) axes.append(label(left, 11, given.title, { "font-size": 10.5, fill: "var(--ink)" }));
  axes.append(s("line", { x1: left, x2: right, y1: bottom, y2: bottom, stroke: "var(--line-2)" }));
  figure.append(axes, plot);
  return { figure, plot, x, y, left, right, top, bottom, small, whose };
}

/** A bar that sets a filter when chosen. @param {Frame} chart @param {Bar} given @returns {SVGElement} */
export function bar(chart, { x0, x1, value, base = 0, colour, lines, pick, store, opacity, outline }) {
  const y0 = chart.y(base);
  const y1 = chart.y(value);
  const mark = s("rect", {
    x: x0,
    y: Math.min(y0, y1),
    width: Math.max(0.5, x1 - x0),
    height: Math.max(value === base ? 0 : 0.75, Math.abs(y0 - y1)),
    fill: outline ? "none" : `var(${colour})`,
    stroke: outline ? `var(${colour})` : null,
    "stroke-width": outline ? 1.5 : null,
    opacity: opacity ?? null,
  });
  if (chart.small || !lines) {
    chart.plot.append(mark);
    return mark;
  }
  const area = s("rect", {
    x: x0 - 1,
    y: chart.top,
    width: x1 - x0 + 2,
    height: chart.bottom - chart.top,
    fill: "transparent",
  });
  const group = s("g.v-pick", {}, area, mark);
  tip(group, () => lines);
  if (pick && store) pickable(chart, group, store, pick);
  chart.plot.append(group);
  return group;
}

/** Makes a mark set or clear a named filter, by mouse and keyboard.
 * @param {Frame} chart it is in @param {SVGElement} group @param {Store} store @param {Pick} pick */
export function pickable({ figure, whose }, group, store, { name, filter }) {
  if (!filter) return;
  const active = store.filters.get(name)?.label === filter.label;
  group.setAttribute("tabindex", "0");
  group.setAttribute("role", "button");
  group.setAttribute("aria-pressed", String(active));
  group.setAttribute("aria-label", whose ? `${whose}: ${filter.label}` : filter.label);
  figure.setAttribute("role", "group"); // a picture hides what is in it from assistive tools
  const toggle = () => store.setFilter(name, store.filters.get(name)?.label === filter.label ? null : filter);
  group.addEventListener("click", toggle);
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    toggle();
  });
}

/** Says that a lane goes on beyond the end of the x axis: dashes, and how far.
 * @param {Frame} chart @param {import("../numbers.js").Beyond} beyond */
export function goesOn(chart, beyond) {
  if (!beyond) return;
  const { figure, right, bottom, small } = chart;
  const end = Number(figure.getAttribute("width"));
  const group = s(
    "g.goeson",
    {},
    s("line", {
      x1: right,
      x2: small ? end : end - 6,
      y1: bottom,
      y2: bottom,
      stroke: "var(--ink-3)",
      "stroke-dasharray": "2 2",
    }),
  );
  if (!small) {
    group.append(label(right + 6, bottom + 13, `to ${beyond.to}`, { "font-size": 10 }));
    group.append(s("rect", { x: right, y: bottom - 12, width: end - right, height: 28, fill: "transparent" }));
    tip(group, () => [beyond.of, ...beyond.said]);
  }
  figure.append(group);
}

/** A line through [x, y] pairs; a null y breaks it. @param {Frame} chart
 * @param {(readonly [number, number|null])[]} points @param {import("../types/dom.js").Attributes} [attrs] */
export function line(chart, points, attrs = {}) {
  let d = "";
  let open = false;
  for (const [x, y] of points) {
    if (y === null || y === undefined) {
      open = false;
      continue;
    }
    d += `${open ? "L" : "M"}${chart.x(x).toFixed(1)} ${chart.y(y).toFixed(1)}`;
    open = true;
  }
  chart.plot.append(
    s("path", {
      d,
      fill: "none",
      "stroke-width": 1.75,
      "stroke-linejoin": "round",
      "pointer-events": "none",
      ...attrs,
    }),
  );
}

/** A point: a disc, a square or a diamond. @param {Frame} chart @param {number} x @param {number} y
 * @param {{shape?: "disc" | "square" | "diamond", colour: string, size?: number, hollow?: boolean, lines?: string[],
 *   opacity?: number}} look @returns {SVGElement} */
export function point(chart, x, y, { shape = "disc", colour, size = 4, hollow = false, lines, opacity }) {
  const [cx, cy] = [chart.x(x), chart.y(y)];
  const d =
    shape === "square"
      ? `M${cx - size} ${cy - size}h${2 * size}v${2 * size}h${-2 * size}z`
      : shape === "diamond"
        ? `M${cx} ${cy - size * 1.3}L${cx + size * 1.3} ${cy}L${cx} ${cy + size * 1.3}L${cx - size * 1.3} ${cy}z`
        : `M${cx - size} ${cy}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0z`;
  const mark = s("path", {
    d,
    fill: hollow ? "var(--panel)" : `var(${colour})`,
    stroke: `var(${colour})`,
    "stroke-width": 1.5,
    opacity,
  });
  if (lines && !chart.small) tip(mark, () => lines);
  chart.plot.append(mark);
  return mark;
}

/** A vertical rule with words at its top. @param {Frame} chart @param {number} x @param {string} words
 * @param {{colour?: string, dy?: number}} [look] */
export function marker(chart, x, words, { colour = "--judge", dy = 9 } = {}) {
  chart.plot.append(
    s("line", {
      x1: chart.x(x),
      x2: chart.x(x),
      y1: chart.top,
      y2: chart.bottom,
      stroke: `var(${colour})`,
      "stroke-width": 1.25,
      "stroke-dasharray": "5 3",
      "pointer-events": "none",
    }),
  );
  if (chart.small || !words) return;
  const [before, behind] = [chart.x(x) - chart.left, chart.right - chart.x(x)];
  const needed = words.length * 5.8;
  const end = behind < needed && behind < before;
  const lines = needed > Math.max(before, behind) ? words.split("; ") : [words];
  for (const [i, line] of lines.entries())
    chart.plot.append(
      label(chart.x(x) + (end ? -4 : 4), chart.top + dy + 12 * i, line, {
        fill: `var(${colour})`,
        "font-size": 10.5,
        "text-anchor": end ? "end" : "start",
        stroke: "var(--panel)",
        "stroke-width": 3,
        "paint-order": "stroke",
      }),
    );
}

export const DOTS = "1.5 3"; // dashes of a dotted line

/** A key under a figure. @param {SVGElement} figure @param {number} x @param {number} y
 * @param {{words: string, colour: string, shape: string}[]} items */
export function keyLine(figure, x, y, items) {
  let at = x;
  for (const { words, colour, shape } of items) {
    if (shape === "bar" || shape === "box")
      figure.append(
        s("rect", {
          x: at,
          y: y - 8,
          width: 12,
          height: 8,
          fill: shape === "box" ? "none" : `var(${colour})`,
          stroke: `var(${colour})`,
        }),
      );
    else
      figure.append(
        s("line", {
          x1: at,
          x2: at + 14,
          y1: y - 4,
          y2: y - 4,
          stroke: `var(${colour})`,
          "stroke-width": 2,
          "stroke-dasharray": shape === "dash" ? "4 3" : shape === "dots" ? DOTS : null,
        }),
      );
    if (shape === "disc") figure.append(s("circle", { cx: at + 7, cy: y - 4, r: 3.5, fill: `var(${colour})` }));
    if (shape === "square")
      figure.append(s("rect", { x: at + 3.5, y: y - 7.5, width: 7, height: 7, fill: `var(${colour})` }));
    figure.append(label(at + 18, y, words, { "font-size": 10.5, "font-family": FONT }));
    at += 26 + words.length * 5.9;
  }
}
