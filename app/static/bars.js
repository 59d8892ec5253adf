// @ts-check
// Draft and target probabilities as mirrored bars on one order and one scale.

import { s } from "./dom.js";
import { FONT, fmt, label, linear, MONO, pieceOf, prob, SIGNS, sign } from "./draw.js";

/**
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {import("./types/trace.js").TopN} TopN
 * @typedef {{id: number, q: number|null, p: number|null, shared: boolean}} Row  `shared`: in both first-n lists
 * @typedef {Omit<Row, "id"> & {id: null}} Other  all tokens that have no row
 * @typedef {{at: number, name: string}} Cut  where p has to reach
 * @typedef {object} Bars
 * @property {Run} run
 * @property {Row[]} rows
 * @property {TopN|null} draft
 * @property {TopN|null} target
 * @property {number} width
 * @property {number} n
 * @property {string} distribution  whose probabilities: raw or sampled
 * @property {number|null} candidate  id of the draft token
 * @property {number|null} emitted
 * @property {string|undefined} state  of the draft token
 * @property {string} origin  of the emitted token
 * @property {boolean} residual
 * @property {Cut|null} cut
 */

const ROW = 19;
const TOP = 22;
const MOST = 10;
export const BARS_HEIGHT = TOP + (MOST + 1) * ROW + 24;

/** The bars to show: the union of both lists' first n, always with the named tokens, in one order.
 * @param {{draft: TopN|null, candidate: Node|null, target: TopN|null, n: number, order: string,
 *   keep: (number|undefined)[]}} given `candidate`: the draft token @returns {Row[]} */
export function barRows({ draft, target, candidate, n, order, keep }) {
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
  while (ids.length > MOST)
    ids.splice(
      ids.findLastIndex((id) => !must.includes(id)),
      1,
    );
  return ids.map((id) => ({
    id,
    q: draft ? (q.get(id) ?? null) : null,
    p: target ? (p.get(id) ?? null) : null,
    shared: shared.has(id),
  }));
}

/** Probabilities by token id. @param {TopN | null | undefined} list @returns {Map<number, number>} */
export const mapOf = (list) => new Map((list ?? []).map(([id, share]) => [id, share]));

/** Draws the bars. @param {Bars} given @returns {SVGSVGElement} */
export function barFigure(given) {
  const { rows, width, run } = given;
  const middle = Math.min(132, Math.max(92, width * 0.22));
  const half = (width - middle) / 2;
  const figure = s("svg.v-figure", {
    viewBox: `0 0 ${width} ${BARS_HEIGHT}`,
    width,
    height: BARS_HEIGHT,
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
    const y = TOP + i * ROW;
    const line = s("g", { "data-token": row.id });
    const chosen = row.id !== null && row.id === given.emitted;
    const proposed = row.id !== null && row.id === given.candidate;
    if (chosen || proposed) line.append(s("rect", { x: 0, y, width, height: ROW, fill: "var(--hover)" }));
    const name = row.id === null ? "other tokens" : pieceOf(run, row.id, 14);
    line.append(
      label(half + middle / 2, y + 13, name, {
        "text-anchor": "middle",
        "font-family": row.id === null ? FONT : MONO,
        "font-size": 11.5,
        "font-weight": chosen || proposed ? 700 : 400,
        fill: row.id === null ? "var(--ink-3)" : "var(--ink)",
      }),
    );
    if (proposed) line.append(sign(given.state ?? "target", half + 8, y + ROW / 2, 4));
    if (chosen && !proposed) line.append(sign(given.origin, half + middle - 8, y + ROW / 2, 4));
    const faint = row.id === null ? 0.45 : 1;
    if (given.draft) bar(line, left, y, length(row.q ?? 0), "left", "--draft", faint);
    if (given.target) bar(line, right, y, length(row.p ?? 0), "right", "--target", faint);
    if (given.residual && row.id !== null && row.p !== null && row.p > (row.q ?? 0)) {
      const from = length(row.q ?? 0);
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
        label(left - length(row.q ?? 0) - 4, y + 13, value(row.q, row.id), { "text-anchor": "end", "font-size": 10.5 }),
      );
    if (given.target)
      line.append(label(right + length(row.p ?? 0) + 4, y + 13, value(row.p, row.id), { "font-size": 10.5 }));
    if (proposed && given.cut !== null)
      line.append(cutLine(right + length(Math.min(high, given.cut.at)), y, given.cut));
    figure.append(line);
  });
  brackets(figure, rows, half, middle);
  foot(figure, given, high, length, left, right);
  return figure;
}

/** @param {number | null} x @param {number | null} id */
const value = (x, id) => (x === null ? (id === null ? "" : "–") : prob(x));

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
          : "no draft distribution recorded",
      { "text-anchor": "end", fill: draft ? "var(--draft)" : "var(--ink-3)", "font-weight": 600 },
    ),
  );
  figure.append(
    label(
      half + middle + 6,
      13,
      target ? `target p${half > 170 ? ` (${distribution}, top ${target.length})` : ""}` : "target not computed here",
      { fill: target ? "var(--target)" : "var(--ink-3)", "font-weight": 600 },
    ),
  );
}

/** Brackets round the tokens that both first-n lists contain.
 * @param {SVGElement} figure @param {Row[]} rows @param {number} half @param {number} middle */
function brackets(figure, rows, half, middle) {
  rows.forEach((row, i) => {
    if (!row.shared) return;
    const open = !rows[i - 1]?.shared;
    const close = !rows[i + 1]?.shared;
    const y = TOP + i * ROW;
    for (const [x, dir] of [
      [half - 1, 1],
      [half + middle + 1, -1],
    ]) {
      const from = `M${x + 4 * dir} ${y + 1.5}${open ? `H${x}` : `M${x} ${y}`}`;
      const d = `${from}V${close ? y + ROW - 1.5 : y + ROW}${close ? `H${x + 4 * dir}` : ""}`;
      figure.append(s("path", { d, fill: "none", stroke: "var(--ink-3)", "stroke-width": 1 }));
    }
  });
}

/** @param {SVGElement} figure @param {Bars} given @param {number} high @param {(share: number) => number} length
 * @param {number} left @param {number} right */
function foot(figure, given, high, length, left, right) {
  const { width } = given;
  const y = TOP + (MOST + 1) * ROW + 4;
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
  const list = rows.slice(0, 5).map((row) => `${pieceOf(run, row.id)} draft ${prob(row.q)} target ${prob(row.p)}`);
  const what = candidate === null ? "" : `Draft token ${pieceOf(run, candidate)}, ${SIGNS[state ?? ""]?.label}. `;
  return `${what}Emitted ${emitted === null ? "nothing" : pieceOf(run, emitted)}. ${list.join("; ")}`;
}
