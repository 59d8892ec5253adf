// @ts-check
// The probability of acceptance and what was drawn: the strip, and where p has to reach in the bars.

import { s } from "../dom.js";
import { label, linear, prob } from "../draw.js";
import { SAYS } from "../run/phases.js";

/** @typedef {import("../types/trace.js").Node} Node */
/** @typedef {import("../types/trace.js").Round} Round */

/** Where p has to reach: the drawn u times q, when the run samples by ratio. @param {Node | null} node */
export function cutOf(node) {
  const [p, q] = [node?.reason?.p ?? node?.p, node?.reason?.q ?? node?.q];
  if (node?.u == null || q == null || p == null || node.accept_prob == null || node.reason?.weight != null) return null;
  const ratio = Math.min(1, p / q);
  return Math.abs(ratio - node.accept_prob) < 0.02 ? { at: node.u * q, name: "u times q" } : null;
}

/** Where a word lies in the middle of a stretch; beside the draw's arrow where that would cross it.
 * @param {number} from @param {number} to @param {number | null} arrow */
export function clear(from, to, arrow) {
  const middle = (from + to) / 2;
  if (arrow === null || Math.abs(arrow - middle) > 22) return middle;
  return arrow < middle ? Math.max(middle, (arrow + to) / 2) : Math.min(middle, (from + arrow) / 2);
}

/** The probability of acceptance as a strip, and what was drawn. @param {Node | null} node @param {Round} round
 * @param {number} width */
export function chanceStrip(node, round, width) {
  const height = 44; // the draw's words are above the bar
  const figure = s("svg.v-figure", { viewBox: `0 -4 ${width} ${height}`, width, height, role: "img" });
  const keep = node?.accept_prob;
  if (!node || keep == null) {
    const lines = untested(node, round);
    figure.append(
      ...lines.map((line, i) => label(0, 22 - 7 * (lines.length - 1) + 14 * i, line, { fill: "var(--ink-3)" })),
    );
    return figure;
  }
  const x = linear(0, 1, 6, width - 6);
  const draw = node.u == null ? null : x(node.u);
  figure.append(
    s("rect", { x: x(0), y: 10, width: Math.max(0, x(keep) - x(0)), height: 12, fill: "var(--draft)" }),
    s("rect", {
      x: x(keep),
      y: 10,
      width: Math.max(0, x(1) - x(keep)),
      height: 12,
      fill: "none",
      stroke: "var(--line-2)",
    }),
    label(x(0), 36, "0", { "font-size": 10, "text-anchor": "middle" }),
    label(x(1), 36, "1", { "font-size": 10, "text-anchor": "middle" }),
  );
  if (keep > 0.16)
    figure.append(
      label(clear(x(0), x(keep), draw), 19.5, "accept", {
        "font-size": 10,
        "text-anchor": "middle",
        fill: "var(--panel)",
        "font-weight": 600,
      }),
    );
  if (keep < 0.8)
    figure.append(label(clear(x(keep), x(1), draw), 19.5, "reject", { "font-size": 10, "text-anchor": "middle" }));
  if (keep > 0.08 && keep < 0.92)
    figure.append(label(x(keep), 36, prob(keep), { "font-size": 10, "text-anchor": "middle", fill: "var(--ink)" }));
  if (node.u != null)
    figure.append(
      s("path", { d: `M${x(node.u)} 25l-4-17h8z`, fill: "var(--ink)" }),
      label(Math.min(width - 26, Math.max(26, x(node.u))), 7, `drew ${prob(node.u)}`, {
        "font-size": 10,
        "text-anchor": "middle",
        fill: "var(--ink)",
      }),
    );
  else figure.append(label(x(0.5), 36, "greedy: nothing is drawn", { "font-size": 10, "text-anchor": "middle" }));
  figure.setAttribute(
    "aria-label",
    `accepted with probability ${prob(keep)}${node.u == null ? "" : `, drew ${prob(node.u)}`}`,
  );
  return figure;
}

/** Why there is no decision to draw, in lines. @param {Node | null} node
 * @param {Pick<Round, "drafted" | "nodes">} round */
export function untested(node, { drafted, nodes }) {
  if (!node && drafted && !nodes.length) return ["recorded lightly:", "without its numbers"];
  if (!node) return ["no draft token here:", "nothing to test"];
  return node.state in SAYS ? ["not decided yet"] : ["not tested:", "no decision was drawn"];
}
