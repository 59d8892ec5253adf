// @ts-check
// A large tree as a field of squares: columns are levels, children lie beside their parent, shade is how often a node
// was accepted.

import { s } from "../dom.js";
import { label, percent, tip } from "../draw.js";

const TOP = 22;

/** @param {import("../types/measured.js").InitialTree} initial @param {number} width @param {number} rounds */
export function heatTree(initial, width, rounds) {
  const { parents, ranks, counts } = initial;
  /** @type {number[]} */
  const depths = [];
  for (const parent of parents) depths.push(parent < 0 ? 1 : depths[parent] + 1);
  const levels = Math.max(...depths);
  const rows = places(parents);
  const tall = Math.max(...rows) + 1;
  const [step, row] = [(width - 12) / levels, Math.max(2.4, Math.min(9, 760 / tall))];
  const side = Math.min(step - 3, 26);
  const most = Math.log1p(Math.max(1, ...counts));
  const stays = new Set(initial.kept);
  const height = TOP + tall * row + 6;
  const figure = s("svg.v-figure", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": `Initial tree: ${counts.length} nodes, ${stays.size} stay`,
  });
  for (let depth = 1; depth <= levels; depth += width < 520 ? 3 : 1)
    figure.append(label(6 + (depth - 1) * step, 12, String(depth), { "font-size": 10, fill: "var(--ink-3)" }));
  const [edges, cells] = [s("g", { fill: "none", stroke: "var(--line)" }), s("g")];
  const at = (/** @type {number} */ i) => [6 + (depths[i] - 1) * step, TOP + rows[i] * row];
  parents.forEach((parent, i) => {
    const [x, y] = at(i);
    if (parent >= 0) {
      const [px, py] = at(parent);
      edges.append(
        s("path", {
          d: `M${px + side} ${py + row / 2}L${x} ${y + row / 2}`,
          stroke: stays.has(i) ? "var(--ink-3)" : "var(--line)",
          "stroke-width": stays.has(i) ? 1.2 : 0.6,
        }),
      );
    }
    const share = Math.log1p(counts[i]) / most;
    const cell = s("rect", {
      x,
      y: y + 0.4,
      width: side,
      height: Math.max(1.6, row - 0.8),
      fill: counts[i]
        ? `color-mix(in srgb, var(--draft) ${Math.round(12 + 88 * share)}%, var(--panel))`
        : "var(--neutral-soft)",
      stroke: stays.has(i) ? "var(--ink)" : "none",
      "stroke-width": 1,
      "data-node": i,
      "data-stays": String(stays.has(i)),
    });
    tip(cell, () => [
      `depth ${depths[i]}, rank ${ranks[i] + 1} among its siblings`,
      `accepted in ${counts[i]} of ${rounds} rounds (${percent(counts[i] / Math.max(1, rounds))})`,
      stays.has(i) ? "stays in the optimised tree" : "left out",
    ]);
    cells.append(cell);
  });
  figure.append(edges, cells);
  return figure;
}

/** A row for each node: leaves one under another, a first child on its parent's row.
 * @param {readonly number[]} parents */
function places(parents) {
  /** @type {number[][]} */
  const kids = parents.map(() => []);
  /** @type {number[]} */
  const roots = [];
  for (const [i, parent] of parents.entries()) (parent < 0 ? roots : kids[parent]).push(i);
  /** @type {number[]} */
  const rows = [];
  let next = 0;
  /** @param {number} i @param {number} row */
  const put = (i, row) => {
    rows[i] = row;
    kids[i].forEach((kid, j) => {
      if (j) next += 1;
      put(kid, j ? next : row);
    });
  };
  roots.forEach((root, j) => {
    if (j) next += 1;
    put(root, j ? next : 0);
  });
  return rows;
}
