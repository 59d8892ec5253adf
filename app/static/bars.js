// @ts-check
// Draft and target probabilities as mirrored bars on one order and one scale.

import { s } from "./dom.js";
import { FONT, fmt, label, linear, MONO, pieceOf, prob, SIGNS, sign } from "./draw.js";

/**
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {import("./types/trace.js").TopN} TopN
 * @typedef {{id: number, q: number|null, p: number|null, shared: boolean, cutQ?: number|null, cutP?: number|null}} Row
 *   `shared`: in both first-n lists; `cutQ`, `cutP`: the raw probability of a token that top-k or top-p has cut
 * @typedef {Omit<Row, "id"> & {id: null}} Other  all tokens that have no row
 * @typedef {{at: number, name: string}} Cut  where p has to reach
 * @typedef {object} Bars
 * @property {Run} run
 * @property {Row[]} rows
 * @property {TopN|null} draft
 * @property {TopN|null} target
 * @property {number} width
 * @property {number} height  of what the bars of the run take at most: fewer rows are farther apart
 * @property {number} n
 * @property {string} distribution  whose probabilities: raw or sampled
 * @property {number|null} candidate  id of the draft token
 * @property {number|null} emitted
 * @property {string|undefined} state  of the draft token
 * @property {string} origin  of the emitted token
 * @property {number|null} residual  where a correction was drawn from max(w p - q, 0): the weight w
 * @property {Cut|null} cut
 */

const DIGIT = 6.5; // pixels of a digit at a bar, at most
const MARK = 4; // and of half the mark of a draw
const ROW = 19;
const WIDEST = 42; // pixels from a row to the next where there are few
const TOP = 22;
const MOST = 10;
const MOST_CUT = 3; // cut tokens that have a row though they are neither drafted nor emitted
const FOOT = 24; // the axis
const ENOUGH = 20; // rounds that tell how long the lists of a run are

/** The tokens of a raw list that top-k or top-p took out of the distribution sampled from, with their raw probability:
 * a list of the sampled one that is shorter than the raw one is whole.
 * @param {TopN | null | undefined} sampled @param {TopN | null | undefined} raw
 * @param {{top_k?: unknown, top_p?: unknown}} sampling @returns {Map<number, number>} */
export function cutFrom(sampled, raw, { top_k, top_p }) {
  const cuts = Number(top_k ?? 0) > 0 || Number(top_p ?? 1) < 1;
  if (!cuts || !sampled || !raw || sampled.length >= raw.length) return new Map();
  const kept = mapOf(sampled);
  return new Map(raw.filter(([id]) => !kept.has(id)));
}

/** The same of both distributions shown at a node. @param {Run} run @param {Node | null} node
 * @param {string} distribution */
export function cutAt({ head }, node, distribution) {
  if (!node || !head || distribution !== "sampled") return undefined;
  return {
    draft: cutFrom(node.law_draft, node.top_draft, head.sampling),
    target: cutFrom(node.law_target, node.top_target, head.sampling),
  };
}

/** The bars to show: the union of both lists' first n, always with the named tokens, in one order.
 * @param {{draft: TopN|null, candidate: Node|null, target: TopN|null, n: number, order: string,
 *   keep: (number|undefined)[], cut?: {draft: Map<number, number>, target: Map<number, number>}}} given
 *   `candidate`: the draft token; `cut`: what top-k and top-p took out @returns {Row[]} */
export function barRows({ draft, target, candidate, n, order, keep, cut }) {
  const q = mapOf(draft);
  const p = mapOf(target);
  if (candidate?.q != null && !q.has(candidate.token)) q.set(candidate.token, candidate.q);
  if (candidate?.p != null && !p.has(candidate.token)) p.set(candidate.token, candidate.p);
  const first = (/** @type {TopN | null} */ list) => (list ?? []).slice(0, n).map((entry) => entry[0]);
  const shared = new Set(first(draft).filter((id) => first(target).includes(id)));
  const must = keep.filter((id) => id !== undefined);
  const [main, second] = order === "draft" && draft ? [q, p] : target ? [p, q] : [q, p];
  const ids = [...new Set([...first(target), ...first(draft), ...must])];
  const spare = [...(target ?? []), ...(draft ?? [])].sort((a, b) => b[1] - a[1]);
  for (const [id] of spare) if (ids.length < MOST && !ids.includes(id)) ids.push(id);
  ids.sort((a, b) => (main.get(b) ?? -1) - (main.get(a) ?? -1) || (second.get(b) ?? -1) - (second.get(a) ?? -1));
  const gone = [...(cut?.target ?? []), ...(cut?.draft ?? [])].sort((a, b) => b[1] - a[1]).map(([id]) => id);
  const fresh = [...new Set(gone)].filter((id) => !ids.includes(id)).slice(0, MOST_CUT);
  while (ids.length + fresh.length > MOST)
    ids.splice(
      ids.findLastIndex((id) => !must.includes(id)),
      1,
    );
  return [...ids, ...fresh].map((id) => ({
    id,
    q: draft ? (q.get(id) ?? null) : null,
    p: target ? (p.get(id) ?? null) : null,
    shared: shared.has(id),
    ...(cut && { cutQ: cut.draft.get(id) ?? null, cutP: cut.target.get(id) ?? null }),
  }));
}

/** Pixels from a row to the next, where the bars have some height to fill; one more row is that of the other tokens.
 * @param {readonly unknown[]} rows @param {number} height */
export const stepOf = (rows, height) => Math.max(ROW, Math.min(WIDEST, (height - TOP - FOOT) / (rows.length + 1)));

/** The height that the bars of a run take at most, from how long its lists are: the page below keeps its place.
 * @param {Run} run */
export function barsHeight({ rounds }) {
  let [q, p] = [0, 0];
  for (const { nodes, tokens } of rounds.slice(0, ENOUGH)) {
    for (const node of nodes ?? []) q = Math.max(q, node.top_draft?.length ?? 0);
    for (const one of [...(nodes ?? []), ...(tokens ?? [])]) p = Math.max(p, one.top_target?.length ?? 0);
  }
  return TOP + (Math.min(MOST, q + p) + 1) * ROW + FOOT;
}

/** Probabilities by token id. @param {TopN | null | undefined} list @returns {Map<number, number>} */
export const mapOf = (list) => new Map((list ?? []).map(([id, share]) => [id, share]));

/** The column of names: its pixels, and how many letters leave the signs at both sides their room.
 * @param {number} width of all */
export function middleOf(width) {
  const middle = Math.min(140, Math.max(116, width * 0.22));
  return { middle, letters: Math.floor((middle - 32) / 7.2) };
}

/** Draws the bars. @param {Bars} given @returns {SVGSVGElement} */
export function barFigure(given) {
  const { rows, width, run } = given;
  const step = stepOf(rows, given.height);
  const { middle, letters } = middleOf(width);
  const half = (width - middle) / 2;
  const bottom = TOP + (rows.length + 1) * step;
  const height = bottom + FOOT;
  const figure = s("svg.v-figure", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": spoken(given),
  });
  /** @param {TopN | null} list @param {"q" | "p"} key */
  const rest = (list, key) => (list ? Math.max(0, 1 - rows.reduce((sum, row) => sum + (row[key] ?? 0), 0)) : null);
  /** @type {Other} */
  const other = { id: null, q: rest(given.draft, "q"), p: rest(given.target, "p"), shared: false };
  const high = Math.min(1, Math.max(0.1, ...[...rows, other].flatMap((row) => [row.q ?? 0, row.p ?? 0])) * 1.02);
  const length = linear(0, high, 0, half - 54);
  const left = half - 6;
  const right = half + middle + 6;
  head(figure, given, half, middle);
  [...rows, other].forEach((row, i) => {
    const y = TOP + i * step + (step - ROW) / 2;
    const line = s("g", { "data-token": row.id });
    const chosen = row.id !== null && row.id === given.emitted;
    const proposed = row.id !== null && row.id === given.candidate;
    if (chosen || proposed) line.append(s("rect", { x: 0, y, width, height: ROW, fill: "var(--hover)" }));
    const name = row.id === null ? "other tokens" : pieceOf(run, row.id, letters);
    line.append(
      label(half + middle / 2, y + 13, name, {
        "text-anchor": "middle",
        "font-family": row.id === null ? FONT : MONO,
        "font-size": 11.5,
        "font-weight": chosen || proposed ? 700 : 400,
        fill: row.id === null ? "var(--ink-3)" : "var(--ink)",
      }),
    );
    if (proposed) line.append(sign(given.state ?? "target", half + 9, y + ROW / 2, 4));
    if (chosen && !proposed) line.append(sign(given.origin, half + middle - 9, y + ROW / 2, 4));
    const faint = row.id === null ? 0.45 : 1;
    if (row.cutQ != null) outline(line, left, y, length(Math.min(high, row.cutQ)), "left", "--draft");
    if (row.cutP != null) outline(line, right, y, length(Math.min(high, row.cutP)), "right", "--target");
    if (given.draft) bar(line, left, y, length(row.q ?? 0), "left", "--draft", faint);
    if (given.target) bar(line, right, y, length(row.p ?? 0), "right", "--target", faint);
    const rest = given.residual !== null && row.id !== null ? given.residual * (row.p ?? 0) - (row.q ?? 0) : 0;
    if (rest > 0 && row.p !== null) {
      const from = length(row.p - rest);
      line.append(
        s("rect", {
          x: right + from,
          y: y + 4,
          width: Math.max(1, length(row.p) - from),
          height: ROW - 8,
          fill: "url(#v-hatch)",
          stroke: "var(--ink)",
          "stroke-width": 0.75,
        }),
      );
    }
    if (given.draft)
      line.append(
        label(left - length(row.cutQ == null ? (row.q ?? 0) : Math.min(high, row.cutQ)) - 4, y + 13, told(row, "q"), {
          "text-anchor": "end",
          "font-size": 10.5,
        }),
      );
    const mark = proposed && given.cut !== null ? right + length(Math.min(high, given.cut.at)) : null;
    if (given.target) {
      const end = right + length(row.cutP == null ? (row.p ?? 0) : Math.min(high, row.cutP)) + 4;
      line.append(label(clearOf(end, told(row, "p"), mark), y + 13, told(row, "p"), { "font-size": 10.5 }));
    }
    if (mark !== null && given.cut !== null) line.append(cutLine(mark, y, given.cut));
    figure.append(line);
  });
  brackets(figure, rows, half, middle, step);
  foot(figure, given, high, length, left, right, bottom);
  return figure;
}

/** @param {number | null} x @param {number | null} id */
const value = (x, id) => (x === null ? (id === null ? "" : "–") : prob(x));

/** Where a number begins: behind a mark that would go through it. @param {number} x where it would
 * @param {string} number @param {number | null} mark its x */
export const clearOf = (x, number, mark) =>
  mark !== null && mark > x - MARK && mark < x + number.length * DIGIT + MARK ? mark + MARK + 2 : x;

/** The number at a bar; of a token that was cut, what it had before. @param {Row | Other} row @param {"q" | "p"} key */
const told = (row, key) => {
  const cut = key === "q" ? row.cutQ : row.cutP;
  return cut == null ? value(row[key], row.id) : `cut, raw ${prob(cut)}`;
};

/** A bar of what top-k or top-p took away: an empty, dashed box. @param {SVGElement} line @param {number} x
 * @param {number} y @param {number} length @param {"left" | "right"} side @param {string} colour */
function outline(line, x, y, length, side, colour) {
  const wide = Math.max(length, 2);
  line.append(
    s("rect", {
      x: side === "left" ? x - wide : x,
      y: y + 4.5,
      width: wide,
      height: ROW - 9,
      fill: "none",
      stroke: `var(${colour})`,
      "stroke-dasharray": "2 2",
      "data-cut-token": true,
    }),
  );
}

/** @param {SVGElement} line @param {number} x @param {number} y @param {number} length @param {"left" | "right"} side
 * @param {string} colour @param {number} opacity */
function bar(line, x, y, length, side, colour, opacity) {
  line.append(
    s("rect", {
      x: side === "left" ? x - length : x,
      y: y + 4,
      width: Math.max(length, 0.5),
      height: ROW - 8,
      fill: `var(${colour})`,
      opacity,
    }),
  );
}

/** @param {number} x @param {number} y @param {Cut} cut */
function cutLine(x, y, cut) {
  return s(
    "g",
    { "data-cut": cut.name },
    s("line", { x1: x, x2: x, y1: y - 1, y2: y + ROW + 1, stroke: "var(--ink)", "stroke-width": 2 }),
    s("path", { d: `M${x - 4} ${y - 4}h8l-4 5z`, fill: "var(--ink)" }),
  );
}

/** @param {SVGElement} figure @param {Bars} given @param {number} half @param {number} middle */
function head(figure, given, half, middle) {
  const { draft, target, distribution } = given;
  figure.append(
    s(
      "defs",
      {},
      s(
        "pattern",
        { id: "v-hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        s("rect", { width: 5, height: 5, fill: "var(--residual)" }),
        s("line", { x1: 0, y1: 0, x2: 0, y2: 5, stroke: "var(--target)", "stroke-width": 2 }),
      ),
    ),
  );
  figure.append(
    label(
      half - 6,
      13,
      draft
        ? `draft q${half > 170 ? ` (${distribution}, top ${draft.length})` : ""}`
        : given.candidate == null
          ? "no draft here"
          : half > 190
            ? "no draft distribution recorded"
            : half > 130
              ? "draft not recorded"
              : "q not recorded",
      { "text-anchor": "end", fill: draft ? "var(--draft)" : "var(--ink-3)", "font-weight": 600 },
    ),
  );
  figure.append(
    label(
      half + middle + 6,
      13,
      target
        ? `target p${half > 170 ? ` (${distribution}, top ${target.length})` : ""}`
        : half > 160
          ? "target not computed here"
          : "target not there",
      { fill: target ? "var(--target)" : "var(--ink-3)", "font-weight": 600 },
    ),
  );
}

/** Brackets round the tokens that both first-n lists contain.
 * @param {SVGElement} figure @param {Row[]} rows @param {number} half @param {number} middle @param {number} step */
function brackets(figure, rows, half, middle, step) {
  rows.forEach((row, i) => {
    if (!row.shared) return;
    const open = !rows[i - 1]?.shared;
    const close = !rows[i + 1]?.shared;
    const y = TOP + i * step;
    for (const [x, dir] of [
      [half - 1, 1],
      [half + middle + 1, -1],
    ]) {
      const from = `M${x + 4 * dir} ${y + 1.5}${open ? `H${x}` : `M${x} ${y}`}`;
      const d = `${from}V${close ? y + step - 1.5 : y + step}${close ? `H${x + 4 * dir}` : ""}`;
      figure.append(s("path", { d, fill: "none", stroke: "var(--ink-3)", "stroke-width": 1 }));
    }
  });
}

/** @param {SVGElement} figure @param {Bars} given @param {number} high @param {(share: number) => number} length
 * @param {number} left @param {number} right @param {number} bottom */
function foot(figure, given, high, length, left, right, bottom) {
  const { width } = given;
  const y = bottom + 4;
  for (const at of [0, high]) {
    const text = at === 0 ? "0" : fmt(at, 2);
    if (given.draft)
      figure.append(
        label(left - length(at), y + 12, text, { "text-anchor": "middle", "font-size": 10, fill: "var(--ink-3)" }),
      );
    if (given.target)
      figure.append(
        label(right + length(at), y + 12, text, { "text-anchor": "middle", "font-size": 10, fill: "var(--ink-3)" }),
      );
  }
  if (given.draft)
    figure.append(s("path", { d: `M${left} ${y}H${left - length(high)}`, stroke: "var(--line-2)", fill: "none" }));
  if (given.target)
    figure.append(s("path", { d: `M${right} ${y}H${right + length(high)}`, stroke: "var(--line-2)", fill: "none" }));
  figure.append(
    label(width / 2, y + 12, "probability", { "text-anchor": "middle", "font-size": 10, fill: "var(--ink-3)" }),
  );
}

/** @param {Bars} given */
function spoken({ run, rows, candidate, emitted, state }) {
  const list = rows
    .filter((row, i) => i < 5 || row.cutQ != null || row.cutP != null)
    .map((row) => `${pieceOf(run, row.id)} draft ${told(row, "q")} target ${told(row, "p")}`);
  const what = candidate === null ? "" : `Draft token ${pieceOf(run, candidate)}, ${SIGNS[state ?? ""]?.label}. `;
  return `${what}Emitted ${emitted === null ? "nothing" : pieceOf(run, emitted)}. ${list.join("; ")}`;
}
