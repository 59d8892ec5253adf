// @ts-check
// Drawing helpers shared by the views: scales, numbers, text of pieces, the sign of each state, tooltip.

import { apart, h, marks, num, s } from "./dom.js";

/**
 * @typedef {{label: string, colour: string, d: string, fill: boolean, wide?: boolean, dash?: boolean}} Look
 *   of a sign: what it means, a colour variable, a path in the unit box
 */

/** Text in an SVG figure, in the figure font.
 * @param {number} x @param {number} y @param {string} text @param {import("./types/dom.js").Attributes} [attrs]
 * @returns {SVGTextElement} */
export function label(x, y, text, attrs = {}) {
  return s("text", { x, y, text, "font-size": 11, fill: "var(--ink-2)", "font-family": FONT, ...attrs });
}

export const FONT = "system-ui, 'DejaVu Sans', sans-serif";
export const MONO = "ui-monospace, 'DejaVu Sans Mono', monospace";

/** @param {number} d0 @param {number} d1 @param {number} r0 @param {number} r1 @returns {(x: number) => number} */
export function linear(d0, d1, r0, r1) {
  const slope = (r1 - r0) / (d1 - d0 || 1);
  return (x) => r0 + (x - d0) * slope;
}

/** Round tick values covering [low, high]; whole numbers only when `whole`.
 * @param {number} low @param {number} high @param {number} [count] @param {boolean} [whole] @returns {number[]} */
export function ticks(low, high, count = 5, whole = false) {
  const span = high - low || 1;
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const round = [1, 2, 5, 10].map((m) => m * power).find((candidate) => candidate >= raw * 0.999) ?? 10 * power;
  const step = whole ? Math.max(1, Math.round(round)) : round;
  const values = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6; i += 1)
    values.push(Number((i * step).toPrecision(12)));
  return values;
}

/** Words with the page's minus before numbers below 0. @param {string} text */
export const minus = (text) => text.replaceAll(/(?<![\w.])-(?=[\d.])/g, "−");

/** A number for reading: `digits` significant digits, a dash when unknown, no false precision near 0.
 * @param {number|null|undefined} x @param {number=} digits @returns {string} */
export function fmt(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  if (Math.abs(x) < 1e-3) return x > 0 ? "<0.001" : "−0";
  const text = Math.abs(x) >= 10 ** digits ? Math.round(x).toString() : Number(x.toPrecision(digits)).toString();
  return minus(text);
}

/** A probability with two decimals, more for small ones.
 * @param {number|null|undefined} p @returns {string} */
export function prob(p) {
  if (p === null || p === undefined || Number.isNaN(p)) return "–";
  if (p === 0) return "0";
  if (p === 1) return "1";
  if (p < 0.0005) return "<0.001";
  if (p >= 0.9995) return ">0.999";
  return p.toFixed(p < 0.0095 || p > 0.995 ? 3 : 2);
}

// Kinds of numbers, each with one form on the whole page; engine/analysis/words.py gives the same.

/** A share: "42 %", "4.2 %"; "100 %" is all, short of which "99.8 %".
 * @param {number|null|undefined} share @returns {string} */
export function percent(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  if (share > 0 && share < 0.0005) return "<0.1 %";
  if (share > 0.9995 && share < 1) return ">99.9 %";
  const near = share < 0.0995 ? share > 0 : share >= 0.995 && share < 1;
  return `${(share * 100).toFixed(near ? 1 : 0)} %`;
}

/** A ratio of speeds: "1.83×". @param {number|null|undefined} ratio */
export const times = (ratio) => `${num(ratio)}×`;

/** Tokens a target call: "4.50". @param {number|null|undefined} tau */
export const perCall = (tau) => num(tau);

/** What a judge gives a draft token: "0.31", "0.017". @param {number|null|undefined} score */
export const importance = (score) => (score != null && score < 0.095 ? fmt(score, 2) : prob(score));

/** An entropy or a gap in nats: "1.30", "0.083". @param {number|null|undefined} value */
export const nats = (value) => (value != null && Math.abs(value) < 0.1 ? fmt(value, 2) : num(value));

/** Tokens a second: "214", "21.4". @param {number|null|undefined} speed */
export const perSecond = (speed) => num(speed, (speed ?? 0) >= 100 ? 0 : 1);

/** A text cut to `limit` characters. @param {string} text @param {number} limit */
export const cut = (text, limit) =>
  text.length > limit ? `${text.slice(0, Math.max(3, Math.floor(limit) - 1))}…` : text;

/** A token's text with its white space made visible, cut to `limit` characters.
 * @param {string|undefined} piece @param {number} [limit] @returns {string} */
export function shown(piece, limit = 18) {
  if (piece === undefined || piece === null) return "?";
  const text = [...marks(piece)];
  return apart(text.length > limit ? `${text.slice(0, limit - 1).join("")}…` : text.join(""));
}

/** The text of a token id in a run, its white space made visible.
 * @param {Pick<import("./types/store.js").Run, "pieces">} run @param {number} id @param {number} [limit]
 * @returns {string} */
export function pieceOf(run, id, limit = 18) {
  const piece = run.pieces.get(id);
  return piece === undefined ? `#${id}` : shown(piece, limit);
}

/** A sentence of the engine: what stands between backticks becomes code.
 * @param {string} text @returns {(Node|string)[]} */
export function rich(text) {
  return String(text)
    .split("`")
    .map((part, i) => (i % 2 ? h("code", { text: part }) : part));
}

/** The sign of each state of a draft token and of each origin of a token. @type {Record<string, Look>} */
export const SIGNS = {
  accepted: { label: "accepted", colour: "--draft", d: "M-.72 0a.72.72 0 1 0 1.44 0a.72.72 0 1 0-1.44 0z", fill: true },
  relaxed: {
    label: "accepted by the relaxed rule",
    colour: "--judge",
    d: "M-.9 0a.9.9 0 1 0 1.8 0a.9.9 0 1 0-1.8 0zM-.34 0a.34.34 0 1 0 .68 0a.34.34 0 1 0-.68 0z",
    fill: false,
  },
  rejected: { label: "rejected", colour: "--target", d: "M-.75-.75L.75.75M.75-.75L-.75.75", fill: false, wide: true },
  vetoed: {
    label: "vetoed",
    colour: "--judge",
    d: "M-.85 0a.85.85 0 1 0 1.7 0a.85.85 0 1 0-1.7 0zM-.6.6L.6-.6",
    fill: false,
    wide: true,
  },
  discarded: {
    label: "discarded",
    colour: "--neutral",
    d: "M-.7 0a.7.7 0 1 0 1.4 0a.7.7 0 1 0-1.4 0z",
    fill: false,
    dash: true,
  },
  drafted: {
    label: "drafted, not yet verified",
    colour: "--draft",
    d: "M-.72 0a.72.72 0 1 0 1.44 0a.72.72 0 1 0-1.44 0z",
    fill: false,
  },
  verified: {
    label: "verified, not yet decided",
    colour: "--draft",
    d: "M-.85-.85H.85V.85H-.85zM-.4 0a.4.4 0 1 0 .8 0a.4.4 0 1 0-.8 0z",
    fill: false,
  },
  correction: { label: "correction", colour: "--target", d: "M-.78-.78H.78V.78H-.78z", fill: false, wide: true },
  bonus: { label: "bonus", colour: "--target", d: "M0-.9V.9M-.9 0H.9", fill: false, wide: true },
  target: { label: "target", colour: "--neutral", d: "M-.7 0H.7", fill: false, wide: true },
  placed: { label: "written in place", colour: "--placed-4", d: "M-.7-.7H.7V.7H-.7z", fill: true },
  draft: { label: "written by the draft model alone", colour: "--draft-2", d: "M-.7 0H.7", fill: false, wide: true },
};

/** The sign's name of an emitted token: its node's state, or its origin; light recordings have no nodes.
 * @param {import("./types/trace.js").Token | null | undefined} token
 * @param {import("./types/trace.js").Node | null | undefined} node @returns {string} */
export function stateOf(token, node) {
  if (token?.node == null) return token?.origin ?? node?.state ?? "target";
  return node?.state ?? (token.origin === "draft" ? "accepted" : token.origin);
}

/** The sign as an SVG group centred at (x, y) with radius r.
 * @param {string} state @param {number} x @param {number} y @param {number} r @returns {SVGPathElement} */
export function sign(state, x, y, r) {
  const look = SIGNS[state] ?? SIGNS.target;
  const colour = `var(${look.colour})`;
  return s("path", {
    d: look.d,
    transform: `translate(${x} ${y}) scale(${r})`,
    fill: look.fill ? colour : "none",
    stroke: colour,
    "stroke-width": (look.wide ? 2.2 : 1.4) / r,
    "stroke-dasharray": look.dash ? `${1.6 / r} ${1.6 / r}` : null,
    "stroke-linecap": look.dash ? null : "round",
  });
}

/** A key to signs: one small figure and word each. @param {string[]} states @returns {HTMLElement} */
export function legend(states) {
  return h(
    "span.v-legend",
    {},
    ...states.map((state) =>
      h(
        "span",
        {},
        s("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, sign(state, 0, 0, 5)),
        SIGNS[state].label,
      ),
    ),
  );
}

/** @type {HTMLElement | null} */
let tipBox = null;

/** Shows a small box near a point of the page; the first line is bold. A line is a text or an element.
 * @param {number} x @param {number} y @param {(string|Node)[]} lines */
export function showTip(x, y, lines) {
  if (!tipBox?.isConnected) {
    tipBox = h("div.v-tip", { role: "tooltip" });
    (document.querySelector("[data-lab]") ?? document.body).append(tipBox); // inside the main landmark
  }
  const { style } = tipBox;
  tipBox.replaceChildren(...lines.filter(Boolean).map((line, i) => h(i ? "div" : "b", {}, line)));
  style.display = "block";
  const box = tipBox.getBoundingClientRect();
  style.left = `${Math.max(4, Math.min(x + 12, window.innerWidth - box.width - 8))}px`;
  style.top = `${y + 16 + box.height > window.innerHeight ? Math.max(4, y - box.height - 10) : y + 16}px`;
}

/** Hides the box of showTip. */
export function hideTip() {
  if (tipBox) tipBox.style.display = "none";
}

/** Gives an element a tooltip on hover and keyboard focus.
 * @param {GlobalEventHandlers & Element} node @param {() => string[]} lines */
export function tip(node, lines) {
  node.addEventListener("pointermove", (/** @type {PointerEvent} */ event) =>
    showTip(event.clientX, event.clientY, lines()),
  );
  node.addEventListener("pointerleave", hideTip);
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    showTip(box.left, box.bottom - 8, lines());
  });
  node.addEventListener("blur", hideTip);
}
