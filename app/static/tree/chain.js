// @ts-check
// A chain, draft token by draft token: under each what both models thought of its place, most probable for the target
// first.

import { mapOf } from "../bars.js";
import { s } from "../dom.js";
import { FONT, label, linear, MONO, pieceOf, prob, sign } from "../draw.js";
import { nodeWords, rootOf } from "./figure.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {import("../types/trace.js").Node} Node
 * @typedef {import("./figure.js").Drawn} Drawn
 */

const ROW = 24;
const SHOWN = 10;
const TOP = 64;

/** True when every draft token follows the one before. @param {Pick<Round, "nodes">} round @returns {boolean} */
export const isChain = (round) => round.nodes.length > 0 && round.nodes.every((node, i) => node.parent === i - 1);

/** The entries under one draft token: the target's first choices, and the token itself. @param {Node} node */
function entries(node) {
  const p = mapOf(node.top_target);
  const q = mapOf(node.top_draft);
  if (node.p != null && !p.has(node.token)) p.set(node.token, node.p);
  if (node.q != null && !q.has(node.token)) q.set(node.token, node.q);
  const ids = [...(node.top_target ?? node.top_draft ?? [])].slice(0, SHOWN).map((entry) => entry[0]);
  if (!ids.includes(node.token)) ids.splice(ids.length < SHOWN ? ids.length : SHOWN - 1, 1, node.token);
  return ids.map((id) => ({ id, p: p.get(id) ?? null, q: q.get(id) ?? null }));
}

/** Draws the chain; `groups` gets each draft token's group, its first child is the ring.
 * @param {{run: Run, round: Round, width: number, groups: Map<number, SVGElement>}} given @returns {Drawn} */
export function chainFigure({ run, round, width, groups }) {
  const root = 74;
  const column = Math.max(92, Math.min(170, (width - root - 8) / round.nodes.length));
  const wide = root + column * round.nodes.length + 4;
  const tall = TOP + SHOWN * ROW + 26;
  const figure = s("svg.v-figure", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "none" });
  const y = 32;
  figure.append(
    s("circle", { cx: 6, cy: y, r: 4, fill: "var(--ink)" }),
    label(14, y - 8, rootOf(run, round, 8), { "font-family": MONO, fill: "var(--ink)" }),
  );
  figure.append(
    label(0, TOP + 11, "target p", { "font-size": 11, fill: "var(--target)" }),
    label(0, TOP + 22, "draft q", { "font-size": 11, fill: "var(--draft)" }),
  );
  const places = [{ index: -1, x: 0, y: 0, kids: 1, hidden: 0 }];
  let from = 12;
  round.nodes.forEach((node, i) => {
    const x = root + i * column;
    const kept = node.state === "accepted" || node.state === "relaxed";
    figure.append(
      s("path", {
        d: `M${from} ${y}H${x - 2}`,
        stroke: kept ? "var(--draft)" : "var(--line-2)",
        "stroke-width": kept ? 3 : 1,
        "stroke-dasharray": node.state === "discarded" ? "1.5 2.5" : null,
      }),
    );
    figure.append(label(x, 12, `position ${round.start + i}`, { "font-size": 11, fill: "var(--ink-3)" }));
    const group = s("g", {
      "data-node": i,
      id: `v-node-${i}`,
      role: "treeitem",
      "aria-selected": "false",
      "aria-level": i + 2,
      style: "cursor:pointer",
      "aria-description": nodeWords(round, i),
    });
    group.append(
      s("rect.v-ring", { x: x - 4, y: 17, width: column - 6, height: tall - 22, rx: 5, fill: "transparent" }),
    );
    group.append(sign(node.state, x + 5, y, 4.6));
    const room = Math.max(3, Math.floor((column - 34) / 7.2));
    const name = pieceOf(run, node.token, room);
    const struck = node.state === "rejected" || node.state === "vetoed" ? "line-through" : null;
    group.append(
      label(x + 15, y + 4, name, {
        "font-family": MONO,
        "font-size": 12,
        "font-weight": kept ? 700 : 400,
        fill: node.state === "discarded" ? "var(--ink-3)" : "var(--ink)",
        "text-decoration": struck,
      }),
    );
    from = x + 18 + name.length * 7.3;
    group.append(
      label(
        x + 1,
        y + 20,
        node.accept_prob != null
          ? `accept ${prob(node.accept_prob)}`
          : node.state === "discarded"
            ? "never tested"
            : "",
        { "font-size": 11 },
      ),
    );
    group.append(ladder(run, node, x, column - 14));
    figure.append(group);
    groups.set(i, group);
    places.push({ index: i, x, y: 0, kids: i + 1 < round.nodes.length ? 1 : 0, hidden: 0 });
  });
  const kids = [...round.nodes.map((_, i) => [i]), []];
  return { figure, places, wide, tall, kids };
}

/** What both models thought of a place. @param {Run} run @param {Node} node @param {number} x @param {number} width */
function ladder(run, node, x, width) {
  const group = s("g", { "aria-hidden": "true", opacity: node.state === "discarded" ? 0.55 : null });
  const list = entries(node);
  const high = Math.max(0.05, ...list.flatMap((entry) => [entry.p ?? 0, entry.q ?? 0]));
  const name = Math.min(58, width * 0.5);
  const length = linear(0, high, 0, width - name - 4);
  list.forEach((entry, i) => {
    const y = TOP + i * ROW;
    const own = entry.id === node.token;
    group.append(
      label(x + name - 4, y + 15, pieceOf(run, entry.id, Math.floor((name - 4) / 6.3)), {
        "text-anchor": "end",
        "font-family": MONO,
        "font-size": 11,
        "font-weight": own ? 700 : 400,
        fill: own ? "var(--ink)" : "var(--ink-2)",
      }),
    );
    group.append(
      s("rect", {
        x: x + name,
        y: y + 3,
        width: Math.max(0.5, length(entry.p ?? 0)),
        height: 8,
        fill: "var(--target)",
      }),
    );
    group.append(
      s("rect", {
        x: x + name,
        y: y + 12,
        width: Math.max(0.5, length(entry.q ?? 0)),
        height: 8,
        fill: "var(--draft)",
      }),
    );
  });
  const y = TOP + SHOWN * ROW + 12;
  group.append(
    s("path", { d: `M${x + name} ${y - 9}H${x + name + length(high)}`, stroke: "var(--line-2)" }),
    label(x + name, y, "0", { "font-size": 11, fill: "var(--ink-3)", "font-family": FONT }),
    label(x + name + length(high), y, prob(high), {
      "font-size": 11,
      "text-anchor": "end",
      fill: "var(--ink-3)",
      "font-family": FONT,
    }),
  );
  return group;
}
