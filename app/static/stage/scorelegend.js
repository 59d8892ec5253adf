// @ts-check
// The key to the score: the signs that are there, drawn as the score draws them, each with its word.

import { signName } from "../chips.js";
import { h } from "../dom.js";
import { FONT } from "../draw.js";
import { SvgContext } from "../figure.js";
import { flagKey } from "../flags.js";
import { linesOf } from "../thresholds.js";
import { paintFlag, paintStep } from "./signs.js";
import { BAR, paintOverhang, paintSpan, tcrColour } from "./trackpaint.js";
import { trackOf } from "./tracks.js";

/**
 * @typedef {import("../types/pen.js").Pen} Pen
 * @typedef {import("../types/pen.js").Ink} Ink
 * @typedef {import("./scorecontent.js").Content} Content
 * @typedef {{words: string, paint: (ctx: Pen, ink: Ink) => void}} Entry  a sign within `WIDE` by `TALL` pixels
 */

const [WIDE, TALL] = [16, 16];
const ROW = 18; // pixels of a row of the key in a saved score
const LETTER = 6.2; // and of a letter in it, at most
const SPANS = ["draft", "correction", "bonus", "relaxed", "vetoed", "target", "alone"];
const PX = 12; // pixels a position, as it were

/** @param {string} sign @returns {Entry} */
const span = (sign) => ({
  words: signName(sign),
  paint: (ctx, ink) => paintSpan(ctx, sign === "draft" ? "accepted" : sign, 1, 1.5, WIDE - 2, PX, ink),
});

/** @param {string} words @param {string} colour @param {number} tall @returns {Entry} */
const block = (words, colour, tall) => ({
  words,
  paint(ctx, ink) {
    ctx.fillStyle = ink(colour);
    ctx.fillRect(5, TALL - 2 - tall, 6, tall);
  },
});

/** @type {Record<"step" | "overhang" | "draft" | "target" | "drawn" | "path" | "limit" | "parts", Entry>} */
const OWN = {
  step: {
    words: "drafted step (dashed: rejected)",
    paint: (ctx, ink) => paintStep(ctx, 0, WIDE, TALL / 2 + 2, true, ink),
  },
  overhang: { words: "rejected draft tokens", paint: (ctx, ink) => paintOverhang(ctx, 0, TALL / 2, WIDE, ink) },
  draft: {
    words: "entropy of the draft",
    paint(ctx, ink) {
      ctx.fillStyle = ink("--draft-soft");
      ctx.fillRect(2, 4, WIDE - 4, TALL - 5);
      ctx.fillStyle = ink("--draft-2");
      ctx.fillRect(2, 4, WIDE - 4, 2);
    },
  },
  target: {
    words: "entropy of the target",
    paint(ctx, ink) {
      ctx.fillStyle = ink("--target");
      ctx.fillRect(1, TALL / 2, WIDE - 2, 2);
    },
  },
  drawn: {
    words: "number drawn",
    paint(ctx, ink) {
      ctx.fillStyle = ink("--ink");
      ctx.fillRect(4, TALL / 2, WIDE - 8, 2);
    },
  },
  path: {
    words: "draft breadth, line: accepted path",
    paint(ctx, ink) {
      ctx.fillStyle = ink("--draft-2");
      ctx.globalAlpha = 0.6;
      ctx.fillRect(1, 3, WIDE - 2, TALL - 6);
      ctx.globalAlpha = 1;
      ctx.fillStyle = ink("--draft");
      ctx.fillRect(1, TALL / 2 - 1, WIDE - 2, 2);
    },
  },
  limit: { words: "limit of the rule", paint: (ctx, ink) => dashed(ctx, ink, [0, TALL / 2, WIDE, TALL / 2], [4, 3]) },
  parts: {
    words: "another text from here on",
    paint: (ctx, ink) => dashed(ctx, ink, [WIDE / 2, 1, WIDE / 2, TALL], [2, 2]),
  },
};

/** @param {Pen} ctx @param {Ink} ink @param {[number, number, number, number]} ends @param {number[]} dashes */
function dashed(ctx, ink, [x0, y0, x1, y1], dashes) {
  ctx.strokeStyle = ink("--judge");
  ctx.lineWidth = 1.25;
  ctx.setLineDash(dashes);
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** The signs that a score shows, in a fixed order. @param {Content} content @returns {Entry[]} */
export function entriesOf({ lanes, places }) {
  const shown = [...lanes.values()];
  const kinds = new Set(
    shown.flatMap(({ band }) => band.spans.map(({ kind }) => (kind === "accepted" ? "draft" : kind))),
  );
  const open = new Set(places.flatMap(({ tracks }) => tracks.map(({ id }) => id)));
  const there = (/** @type {string} */ id) => open.has(id) && shown.some(({ run }) => trackOf(id).has(run));
  const limits = shown.some(({ run }) =>
    ["entropy", "overlap", "steps", "importance"].some(
      (id) => there(id) && linesOf(run, { importance: "judge", steps: "reward" }[id] ?? id).length > 0,
    ),
  );
  const ranks = there("tcr")
    ? shown.flatMap(({ band }) =>
        band.drafts.flatMap(({ rank, size }) => (rank === null ? [] : [tcrColour(rank, rank / size)])),
      )
    : [];
  const tcr = [
    block("TCR in the first quarter", "--draft", 5),
    block("TCR beyond it", "--draft-2", 11),
    block("TCR 0: none accepted", "--neutral", 2),
  ].filter((_, i) => ranks.includes(["--draft", "--draft-2", "--neutral"][i]));
  return [
    ...SPANS.filter((sign) => kinds.has(sign)).map(span),
    ...(shown.some(({ band }) => band.overhangs.length) ? [OWN.overhang] : []),
    ...(shown.some(({ band }) => band.steps.length) ? [OWN.step] : []),
    ...(shown.some(({ parts }) => parts !== null) ? [OWN.parts] : []),
    ...(there("entropy") ? [OWN.draft, OWN.target] : []),
    ...(there("overlap") ? [block("overlap", "--overlap", 10)] : []),
    ...(there("keep") ? [block("P(accept)", "--draft-2", 11), block("P(accept) where rejected", "--target-2", 5)] : []),
    ...(there("keep") && shown.some(({ sampled }) => sampled) ? [OWN.drawn] : []),
    ...(limits ? [OWN.limit] : []),
    ...(there("tree") ? [OWN.path] : []),
    ...tcr,
    ...(there("importance") ? flagKey(shown.map(({ run }) => run)).map(flag) : []),
  ];
}

/** @param {{kind: "mined" | "judge", important: boolean, words: string}} one @returns {Entry} */
const flag = ({ kind, important, words }) => ({
  words,
  paint: (ctx, ink) => paintFlag(ctx, kind, important, WIDE / 2, kind === "judge" ? -7 : 3, 1, ink),
});

/** A sign of a token as a small figure. @param {string} sign */
export const signFigure = (sign) => figureOf(span(sign));

/** @param {Entry} entry */
function figureOf({ paint }) {
  const ctx = new SvgContext(WIDE, TALL);
  paint(ctx, (name) => `var(${name})`);
  for (const [name, value] of [
    ["width", WIDE],
    ["height", TALL],
    ["aria-hidden", "true"],
  ])
    ctx.figure.setAttribute(String(name), String(value));
  return ctx.figure;
}

/** The key beside the tools; it folds. */
export function scoreLegend() {
  const list = h("ul");
  /** @type {HTMLDetailsElement} */
  const element = h("details.signs", { open: true }, h("summary", {}, "Signs"), list);
  let stamp = "";
  let sized = false;
  return {
    element,
    /** @param {Content} content @param {boolean} narrow it begins folded where it would take many lines */
    draw(content, narrow) {
      if (!sized) element.open = !narrow;
      sized = true;
      const entries = entriesOf(content);
      const now = entries.map(({ words }) => words).join();
      if (now === stamp) return;
      stamp = now;
      list.replaceChildren(...entries.map((entry) => h("li", {}, figureOf(entry), entry.words)));
    },
  };
}

/** The signs of a saved score and their places, in rows. @param {readonly Entry[]} entries @param {number} width */
export function rowsOf(entries, width) {
  let [x, y] = [0, 0];
  const at = entries.map((entry) => {
    const room = WIDE + 6 + entry.words.length * LETTER + 14;
    if (x > 0 && x + room > width) [x, y] = [0, y + ROW];
    const place = { entry, x, y };
    x += room;
    return place;
  });
  return { at, height: entries.length ? y + ROW + 6 : 0 };
}

/** @param {Pen} ctx @param {ReturnType<typeof rowsOf>} rows @param {Ink} ink */
export function paintLegend(ctx, { at }, ink) {
  for (const { entry, x, y } of at) {
    ctx.translate(x, y);
    entry.paint(ctx, ink);
    ctx.font = `11px ${FONT}`;
    ctx.textAlign = "left";
    ctx.fillStyle = ink("--ink-2");
    ctx.fillText(entry.words, WIDE + 5, BAR - 1);
    ctx.translate(-x, -y);
  }
}
