// @ts-check
// Draws the tree of a round: edges under nodes, labels beside them.

import { count, s } from "../dom.js";
import { FONT, label, MONO, pieceOf, prob, SIGNS, sign } from "../draw.js";
import { givenOf } from "../looks.js";
import { layout } from "./layout.js";
import { letters } from "./letters.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/trace.js").Round} Round
 * @typedef {import("../types/trace.js").Node} Node
 * @typedef {import("./layout.js").Place} Place
 * @typedef {import("./layout.js").Stub} Stub
 *
 * @typedef {object} Drawn a draft on the page
 * @property {SVGSVGElement} figure
 * @property {readonly Pick<Place, "index" | "x" | "y" | "kids" | "hidden">[]} places
 * @property {readonly (readonly number[])[]} kids
 * @property {number} wide pixels
 * @property {number} tall
 *
 * @typedef {object} TreeState what a view keeps of its tree
 * @property {boolean} all nothing folds by itself
 * @property {Set<number>} open nodes that the reader unfolded
 * @property {Set<number>} shut and folded
 * @property {Map<number, SVGElement>} groups of the nodes; the first child is the ring
 * @property {Drawn | null} plan
 * @property {string} [prefix] of the groups' ids
 */

const LEFT = 12;
const ROWS = 40; // of a tree before its least probable branches fold
const WIDEST = 168; // pixels of a column
const NARROWEST = 78; // the words above it
const ROOT = 8; // letters of the token before the draft
const FAINT = 0.6; // of an edge to what was not accepted
const [STUB_LETTER, STUB_IN] = [6, 10]; // pixels of a letter of what was left out, and before its column
const GUTTER = 28; // between the words of a column and the signs of the next, for the edges

/** Sets `state.plan`, with its figure, and fills `state.groups`. A column is as wide as what stands in it.
 * @param {TreeState} state @param {number} room width in pixels; columns share what is left of it
 * @param {Run} run @param {Round} round
 * @param {{row: number, limit: number}} [fixed] a scale that several trees share, instead of one for the room */
export function buildTree(state, room, run, round, fixed) {
  const dense = round.nodes.length > 90;
  const row = fixed?.row ?? (dense ? 17 : 21);
  const limit = fixed?.limit ?? (state.all ? Infinity : ROWS);
  const packed = layout(round, { column: 1, row, limit, open: state.open, shut: state.shut });
  const columns = columnsOf(run, round, packed, room - LEFT);
  const lefts = [0];
  for (const width of columns) lefts.push(lefts[lefts.length - 1] + width);
  const places = packed.places.map((place) => ({ ...place, x: lefts[place.x] }));
  const stubs = packed.stubs.map((stub) => ({ ...stub, x: lefts[stub.x] }));
  const plan = { ...packed, places, stubs, width: lefts[packed.levels + 1] };
  const left = LEFT;
  const top = 28;
  const [wide, tall] = [plan.width + left, plan.height + top + 8];
  const figure = s("svg.v-figure", { viewBox: `0 0 ${wide} ${tall}`, role: "none" }); // its tokens are the tree's own
  const how = { run, round, left, top, row, columns };
  for (let depth = 1; depth <= plan.levels; depth += 1) {
    figure.append(
      label(left + lefts[depth], 12, `position ${round.start + depth - 1}`, {
        fill: "var(--ink-3)",
        "aria-hidden": "true",
      }),
    );
  }
  const edges = s("g", { fill: "none" });
  const thick = s("g", { fill: "none" });
  const nodes = s("g", { role: "none" }); // a group between a tree and its items would make them none
  /** @type {Map<number, {place: Place, width: number}>} places and the widths of their labels, parents first */
  const at = new Map();
  for (const place of plan.places) {
    const { group, width } = nodeFigure(state, how, place);
    nodes.append(group);
    at.set(place.index, { place, width });
    const parent = at.get(place.parent);
    if (parent) (kept(round.nodes[place.index]) ? thick : edges).append(edge(how, place, parent));
  }
  for (const stub of plan.stubs) {
    const parent = at.get(stub.parent);
    if (parent) nodes.append(stubFigure(how, stub, parent, edges));
  }
  figure.append(edges, thick, nodes);
  state.plan = { ...plan, wide, tall, figure };
}

/** @typedef {{run: Run, round: Round, left: number, top: number, row: number,
 *   columns: readonly number[]}} How `columns`: the width of each depth */

/** The width of each depth: of its widest words, and of half a column more where the room allows.
 * @param {Run} run @param {Round} round @param {import("./layout.js").Plan} packed @param {number} room */
function columnsOf(run, round, { places, stubs, levels }, room) {
  /** @type {number[]} */
  const columns = new Array(levels + 1).fill(NARROWEST);
  columns[0] = 7.2 * letters(rootOf(run, round, ROOT)) + 20;
  const atLeast = (/** @type {number} */ depth, /** @type {number} */ wide) => {
    columns[depth] = Math.min(WIDEST, Math.max(columns[depth], Math.ceil(wide) + GUTTER));
  };
  for (const { index, depth, hidden } of places)
    if (index >= 0) atLeast(depth, labelOf(run, round.nodes[index], hidden, WIDEST).width);
  for (const stub of stubs) atLeast(stub.x, STUB_LETTER * letters(stubWords(run, stub)) - STUB_IN);
  const left = (room - columns.reduce((sum, width) => sum + width, 0)) / columns.length;
  return columns.map((width) => width + Math.max(0, Math.min(NARROWEST / 2, left)));
}

/** What stands at the root. @param {Run} run @param {Round} round @param {number} letters */
export function rootOf(run, round, letters) {
  const last = run.tokens[round.start - 1];
  return last ? pieceOf(run, last.token, letters) : givenOf(run);
}

/** The words of a node, cut to a column, and how wide they are from its sign on.
 * @param {Run} run @param {Node} node @param {number} hidden @param {number} column */
function labelOf(run, node, hidden, column) {
  // Drafters that copy give no probability; then the target's own is shown, in its colour.
  const number = node.q != null ? prob(node.q) : node.p != null && node.state !== "discarded" ? prob(node.p) : "";
  const more = hidden ? 5 + 7 * `+${hidden}`.length : 0;
  const room = column - GUTTER - 21 - number.length * 6.6 - more;
  const most = Math.max(4, Math.floor(room / 7));
  let limit = 4 * most; // characters: some are marks on others
  let name = pieceOf(run, node.token, limit);
  while (letters(name) > most && limit > 2) name = pieceOf(run, node.token, --limit);
  return { name, number, width: 21 + letters(name) * 7 + number.length * 6.6 + more };
}

/** What a stub says. @param {Run} run @param {Stub} stub */
function stubWords(run, { pruned }) {
  const causes = [...new Set(pruned.map((one) => String(one.cause ?? "pruned")))].join(", ");
  const [only] = pruned;
  return pruned.length === 1
    ? `${pieceOf(run, Number(only.token), 10)}: ${causes}`
    : `${pruned.length} left out: ${causes}`;
}

/** @param {Node} node */
const kept = (node) => node.state === "accepted" || node.state === "relaxed";

/** From the end of the parent's label to the child's sign.
 * @param {How} how @param {Place} place @param {{place: Place, width: number}} parent */
function edge({ round, left, top, row }, place, parent) {
  const node = round.nodes[place.index];
  const x0 = left + parent.place.x + parent.width;
  const y0 = top + parent.place.y + row / 2 - 3;
  const x1 = left + place.x - 7;
  const y1 = top + place.y + row / 2 - 3;
  const bend = Math.max(place.x - 19 + left, x0 + 8);
  const turn = 6 * Math.sign(y1 - y0);
  const curve = `H${bend - 8}Q${bend} ${y0} ${bend} ${y0 + turn}V${y1 - turn}Q${bend} ${y1} ${bend + 6} ${y1}`;
  const d = `M${x0} ${y0}${y0 === y1 ? "" : curve}H${x1}`;
  return s("path", {
    d,
    stroke: kept(node) ? "var(--draft)" : "var(--ink-3)",
    "stroke-opacity": kept(node) ? null : FAINT,
    "stroke-width": kept(node) ? 3 : 1,
    "stroke-dasharray": node.state === "discarded" ? "1.5 2.5" : null,
  });
}

/** What is read out of a draft token after what stands there. @param {Round} round @param {number} index */
export function nodeWords(round, index) {
  const { state, depth, p, q, rank } = round.nodes[index];
  return [
    SIGNS[state].label,
    `position ${round.start + depth - 1}`,
    q == null ? "" : `draft ${prob(q)}`,
    p == null ? "" : `target ${prob(p)}`,
    rank ? `rank ${rank}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

/** A node with its label, and how wide that is. @param {TreeState} state @param {How} how @param {Place} place */
function nodeFigure(state, { run, round, left, top, row, columns }, place) {
  const x = left + place.x;
  const y = top + place.y + row / 2 - 3;
  const node = round.nodes[place.index];
  const root = place.index < 0;
  const group = s("g", {
    "data-node": place.index,
    id: `${state.prefix ?? "v-node-"}${place.index}`,
    role: "treeitem",
    "aria-selected": "false",
    "aria-level": place.depth + 1,
    "aria-label": root ? `After ${rootOf(run, round, ROOT)}` : null,
    "aria-description": root
      ? null
      : nodeWords(round, place.index) + (place.hidden ? `, ${count(place.hidden, "draft token")} folded` : ""),
    "aria-expanded": place.kids ? String(!place.hidden) : null,
    style: "cursor:pointer",
  });
  if (root) {
    group.append(s("circle", { cx: x, cy: y, r: 4, fill: "var(--ink)" }));
    group.append(
      backed(x - 2, y - 8, rootOf(run, round, ROOT), {
        "font-family": MONO,
        "font-size": 11,
        fill: "var(--ink)",
      }),
    );
    return { group, width: 7 };
  }
  const column = columns[place.depth];
  const { name, number, width } = labelOf(run, node, place.hidden, column);
  group.append(
    s("rect.v-ring", {
      x: x - 9,
      y: y - row / 2 + 1.5,
      width: width + 6,
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
  state.groups.set(place.index, group);
  return { group, width };
}

/** A text on a backing, so that edges do not cross it.
 * @param {number} x @param {number} y @param {string} text @param {import("../types/dom.js").Attributes} attrs */
const backed = (x, y, text, attrs) =>
  label(x, y, text, { ...attrs, stroke: "var(--panel)", "stroke-width": 3, "paint-order": "stroke" });

/** As many letters as a column of stubs holds; all of them are told where one points.
 * @param {string} words @param {number} column */
export function stubLabel(words, column) {
  const most = Math.floor((column - GUTTER + STUB_IN) / STUB_LETTER);
  if (letters(words) <= most) return words;
  const kept = [...words];
  while (kept.length && letters(kept.join("")) >= most) kept.pop();
  return `${kept.join("").trimEnd()}…`;
}

/** What was left out under a node, at the end of an edge from its label.
 * @param {How} how @param {Stub} stub @param {{place: Place, width: number}} parent @param {SVGElement} edges */
function stubFigure({ run, left, top, row, columns }, stub, parent, edges) {
  const x = left + stub.x - 14;
  const y = top + stub.y + row / 2 - 3;
  const y0 = top + parent.place.y + row / 2 - 3;
  const [x0, bend] = [left + parent.place.x + parent.width, x - 5];
  const d = `M${Math.min(x0, bend)} ${y0}H${bend}V${y}H${x}`;
  edges.append(
    s("path", { d, stroke: "var(--ink-3)", "stroke-opacity": FAINT, "stroke-dasharray": "1.5 2.5" }),
    s("path", { d: `M${x} ${y - 4}v8`, stroke: "var(--ink-3)", "stroke-width": 1.5 }),
  );
  const words = stubLabel(stubWords(run, stub), columns[parent.place.depth + 1]);
  const group = s("g", { "data-stub": JSON.stringify(stub.pruned.slice(0, 8)), "aria-hidden": "true" });
  group.append(label(x + 6, y + 3.5, words, { "font-size": 11, fill: "var(--ink-3)", "font-style": "italic" }));
  return group;
}
