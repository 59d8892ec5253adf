/** Draws the tree of a round: edges under nodes, labels beside them. */

import { s } from "./dom.js";
import { FONT, label, MONO, pieceOf, prob, SIGNS, sign } from "./draw.js";
import { layout } from "./treelayout.js";

/** Sets `state.plan`, with its figure, and fills `state.groups`.
 * @param {any} state the tree view's own @param {number} room width in pixels @param {any} run @param {any} round
 * @param {{column: number, row: number, limit: number}=} fixed a scale that several trees share, instead of one for the
 * room */
export function buildTree(state, room, run, round, fixed) {
  const count = round.nodes.length;
  const dense = count > 90;
  const row = fixed?.row ?? (dense ? 17 : 21);
  const limit = fixed?.limit ?? (state.all ? Infinity : dense ? 110 : 70);
  const deepest = Math.max(...round.nodes.map((node) => node.depth)) + (round.pruned?.length ? 1 : 0);
  const column = fixed?.column ?? Math.max(dense ? 124 : 116, Math.min(168, (room - 40) / (deepest + 1)));
  const plan = layout(round, { column, row, limit, open: state.open, shut: state.shut });
  const left = 12;
  const top = 28;
  state.plan = Object.assign(plan, { wide: plan.width + left, tall: plan.height + top + 8 });
  const at = new Map(plan.places.map((place) => [place.index, place]));
  const figure = s("svg.v-figure", { viewBox: `0 0 ${plan.wide} ${plan.tall}` });
  for (let depth = 1; depth <= plan.levels; depth += 1) {
    figure.append(
      label(left + depth * column, 12, `position ${round.start + depth - 1}`, {
        fill: "var(--ink-3)",
      }),
    );
  }
  const edges = s("g", { fill: "none" });
  const thick = s("g", { fill: "none" });
  const nodes = s("g");
  for (const place of plan.places) {
    nodes.append(nodeFigure(state, run, round, place, left, top, row, column));
    if (place.index >= 0)
      (kept(round.nodes[place.index]) ? thick : edges).append(edge(round, place, at.get(place.parent), left, top, row));
  }
  for (const stub of plan.stubs) nodes.append(stubFigure(run, stub, at.get(stub.parent), left, top, row, edges));
  figure.append(edges, thick, nodes);
  plan.figure = figure;
}

const kept = (node) => node.state === "accepted" || node.state === "relaxed";

/** From the end of the parent's label to the child's sign. */
function edge(round, place, parent, left, top, row) {
  const node = round.nodes[place.index];
  const x0 = left + parent.x + parent.label;
  const y0 = top + parent.y + row / 2 - 3;
  const x1 = left + place.x - 7;
  const y1 = top + place.y + row / 2 - 3;
  const bend = Math.max(place.x - 19 + left, x0 + 8);
  const d =
    y0 === y1
      ? `M${x0} ${y0}H${x1}`
      : `M${x0} ${y0}H${bend - 8}Q${bend} ${y0} ${bend} ${y0 + Math.sign(y1 - y0) * 6}V${y1 - Math.sign(y1 - y0) * 6}Q${bend} ${y1} ${bend + 6} ${y1}H${x1}`;
  return s("path", {
    d,
    stroke: kept(node) ? "var(--draft)" : "var(--line-2)",
    "stroke-width": kept(node) ? 3 : 1,
    "stroke-dasharray": node.state === "discarded" ? "1.5 2.5" : null,
  });
}

function nodeFigure(state, run, round, place, left, top, row, column) {
  const x = left + place.x;
  const y = top + place.y + row / 2 - 3;
  const node = round.nodes[place.index];
  const root = place.index < 0;
  const group = s("g", {
    "data-node": place.index,
    id: `${state.prefix ?? "v-node-"}${place.index}`,
    role: "treeitem",
    "aria-level": place.depth + 1,
    style: "cursor:pointer",
  });
  const room = Math.floor((column - 62) / 7.2);
  place.label = 7;
  if (root) {
    const last = run.tokens[round.start - 1];
    group.append(s("circle", { cx: x, cy: y, r: 4, fill: "var(--ink)" }));
    group.append(
      backed(x - 2, y - 8, last ? pieceOf(run, last.token, Math.max(4, room + 4)) : "prompt", {
        "font-family": MONO,
        "font-size": 11,
        fill: "var(--ink)",
      }),
    );
    return group;
  }
  const name = pieceOf(run, node.token, Math.max(4, room));
  group.setAttribute(
    "aria-description",
    `${SIGNS[node.state].label}, draft ${prob(node.q)}${node.rank ? `, rank ${node.rank}` : ""}`,
  );
  group.append(
    s("rect.v-ring", {
      x: x - 9,
      y: y - row / 2 + 1.5,
      width: column - 20,
      height: row - 3,
      rx: 4,
      fill: "transparent",
    }),
  );
  group.append(sign(node.state, x, y, row > 16 ? 4.6 : 3.8));
  const faded = node.state === "discarded";
  const text = s("text", {
    x: x + 10,
    y: y + 4,
    "font-family": MONO,
    "font-size": 11.5,
    fill: faded ? "var(--ink-3)" : "var(--ink)",
    "font-weight": kept(node) ? 700 : 400,
  });
  const struck = node.state === "rejected" || node.state === "vetoed" ? "line-through" : null;
  const blank = name.startsWith("·") && name.length > 1 ? 1 : 0;
  if (blank) text.append(s("tspan", { text: "·", fill: "var(--ink-3)" }));
  text.append(s("tspan", { text: name.slice(blank), "text-decoration": struck }));
  // Drafters that copy give no probability; then the target's own is shown, in its colour.
  const number = node.q != null ? prob(node.q) : node.p != null && node.state !== "discarded" ? prob(node.p) : "";
  if (number)
    text.append(
      s("tspan", {
        dx: 2,
        text: ` ${number}`,
        "font-family": FONT,
        "font-weight": 400,
        "font-size": 11,
        fill: node.q != null ? "var(--ink-3)" : "var(--target)",
      }),
    );
  if (place.hidden)
    text.append(
      s("tspan", {
        dx: 2,
        text: ` +${place.hidden}`,
        "font-family": FONT,
        "font-weight": 600,
        "font-size": 11,
        fill: "var(--draft)",
        "data-unfold": place.index,
        "text-decoration": "underline",
      }),
    );
  group.append(text);
  const size = [7, 6.6];
  place.label =
    17 + name.length * size[0] + number.length * size[1] + (place.hidden ? 5 + 7 * `+${place.hidden}`.length : 0);
  state.groups.set(place.index, group);
  return group;
}

const backed = (x, y, text, attrs) =>
  label(x, y, text, { ...attrs, stroke: "var(--panel)", "stroke-width": 3, "paint-order": "stroke" });

function stubFigure(run, stub, parent, left, top, row, edges) {
  const x = left + stub.x - 14;
  const y = top + stub.y + row / 2 - 4;
  const y0 = top + parent.y + row / 2 - 3;
  edges.append(
    s("path", { d: `M${x - 8} ${y0}V${y}H${x}`, stroke: "var(--line-2)", "stroke-dasharray": "1.5 2.5" }),
    s("path", { d: `M${x} ${y - 4}v8`, stroke: "var(--ink-3)", "stroke-width": 1.5 }),
  );
  const causes = new Map();
  for (const candidate of stub.stub)
    causes.set(candidate.cause ?? "pruned", (causes.get(candidate.cause ?? "pruned") ?? 0) + 1);
  const words =
    stub.stub.length === 1
      ? `${pieceOf(run, stub.stub[0].token, 10)}: ${stub.stub[0].cause ?? "pruned"}`
      : [...causes].map(([cause, count]) => `${count} left out: ${cause}`).join(", ");
  const group = s("g", { "data-stub": JSON.stringify(stub.stub.slice(0, 8)) });
  group.append(label(x + 6, y + 3.5, words, { "font-size": 11, fill: "var(--ink-3)", "font-style": "italic" }));
  return group;
}
