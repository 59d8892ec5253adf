// @ts-check
// The tracks of a band: what each reads of a run, its scale, and how it is painted on a canvas or anything like it.

import { columns } from "../columns.js";
import { FONT, pieceOf } from "../draw.js";
import { flagged, flagsAt } from "../flags.js";
import { linesOf, overlapN } from "../thresholds.js";
import { cells } from "./axis.js";
import { firstFrom } from "./bands.js";
import { numberTrack } from "./numbertracks.js";
import { paintFlag, paintPlus, paintVeto } from "./signs.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../columns.js").Column} Column
 * @typedef {import("../types/pen.js").Pen} Pen
 * @typedef {{run: Run, band: import("./bands.js").Band, list: Column[], first: number, last: number, px: number,
 *   scroll: number, y: number, height: number, top: number, widest: number, ink: import("../types/pen.js").Ink,
 *   sampled: boolean, knobs?: Readonly<Record<string, unknown>>}} View
 *   columns first..last at `px` pixels each, `scroll` pixels of them left of x = 0; `top` is the scale's upper end
 * @typedef {(column: Column, run: Run) => number | null | undefined} Read
 * @typedef {{id: string, name: string, title: string, height: number, none: string, label: (run: Run) => string,
 *   has: (run: Run) => boolean, top: (run: Run) => number, paint: (ctx: Pen, view: View) => void}} Track
 * @typedef {{bars: typeof bars, base: typeof base, extent: typeof extent}} Tools what a track of any number is made
 * with
 */

const xOf = (/** @type {View} */ view, /** @type {number} */ pos) => pos * view.px - view.scroll;

/** @type {WeakMap<Run, Map<string, {seen: number, top: number}>>} */
const extents = new WeakMap();

/** The largest value of a run, -Infinity when it has none; only new columns are read.
 * @param {Run} run @param {string} id @param {Read} read @returns {number} */
export function extent(run, id, read) {
  const states = extents.get(run) ?? new Map();
  extents.set(run, states);
  const list = columns(run);
  const state = states.get(id) ?? { seen: 0, top: -Infinity };
  for (; state.seen < list.length; state.seen += 1) {
    const value = read(list[state.seen], run);
    if (value != null) state.top = Math.max(state.top, value);
  }
  states.set(id, state);
  return state.top;
}

const hTarget = (/** @type {Column} */ column) => column.token.h_target ?? column.node?.h_target ?? null;
const hDraft = (/** @type {Column} */ column) => column.token.h_draft ?? column.node?.h_draft ?? null;
const keep = (/** @type {Column} */ column) => column.node?.accept_prob ?? null;
const common = (/** @type {Column} */ column) => column.node?.overlap ?? null;
const judged = (/** @type {Column} */ column) => column.node?.judge ?? null;

/** Bars from the track's base; where columns are narrower than a pixel the highest of them stands.
 * @param {Pen} ctx @param {View} view @param {Read} read @param {string|((column: Column) => string)} colour */
function bars(ctx, view, read, colour) {
  const { run, list, first, last, px, scroll, y, height, top, ink } = view;
  const gap = px >= 4 ? 1 : 0;
  for (const [x0, x1, from, end] of cells(first, last, px, scroll)) {
    let best = null;
    let at = from;
    for (let i = from; i < end; i += 1) {
      const value = read(list[i], run);
      if (value != null && (best === null || value > best)) {
        best = value;
        at = i;
      }
    }
    if (best === null) continue;
    const tall = Math.max(1, Math.round((Math.min(top, Math.max(0, best)) / top) * height));
    ctx.fillStyle = ink(typeof colour === "function" ? colour(list[at]) : colour);
    ctx.fillRect(x0, y + height - tall, Math.max(1, x1 - x0 - gap), tall);
  }
}

/** A level stroke a column: the value's height.
 * @param {Pen} ctx @param {View} view @param {Read} read @param {string} colour */
function levels(ctx, view, read, colour) {
  const { run, list, first, last, px, scroll, y, height, top, ink } = view;
  ctx.fillStyle = ink(colour);
  for (const [x0, x1, from, end] of cells(first, last, px, scroll)) {
    let best = null;
    for (let i = from; i < end; i += 1) {
      const value = read(list[i], run);
      if (value != null && (best === null || value > best)) best = value;
    }
    if (best === null) continue;
    const at = y + height - Math.round((Math.min(top, Math.max(0, best)) / top) * height);
    ctx.fillRect(x0, Math.min(y + height - 2, at - 1), x1 - x0, 2);
  }
}

/** Dashed lines where a rule compares. @param {Pen} ctx @param {View} view @param {string} row */
function thresholds(ctx, view, row) {
  const { run, y, height, top, ink, first, last } = view;
  for (const line of linesOf(run, row, view.knobs)) {
    if (line.value > top) continue;
    const at = Math.round(y + height - (line.value / top) * height) + 0.5;
    ctx.strokeStyle = ink("--judge");
    ctx.lineWidth = 1;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(Math.max(0, xOf(view, first)), at);
    ctx.lineTo(xOf(view, last), at);
    ctx.stroke();
    ctx.setLineDash([]);
  }
}

/** @param {Pen} ctx @param {View} view */
function base(ctx, view) {
  ctx.fillStyle = view.ink("--line");
  ctx.fillRect(
    Math.max(0, xOf(view, view.first)),
    view.y + view.height,
    xOf(view, view.last) - Math.max(0, xOf(view, view.first)),
    1,
  );
}

const BAR = 13;
const FILL = /** @type {Record<string, string>} */ ({
  accepted: "--draft-2",
  relaxed: "--judge",
  target: "--neutral",
  bonus: "--target-soft",
});

/** @param {Pen} ctx @param {View} view */
function paintSpans(ctx, view) {
  const { band, run, list, first, last, px, y, ink } = view;
  const gap = px >= 3 ? 1 : 0;
  const wide = px >= 26;
  for (let i = firstFrom(band.spans, first); i < band.spans.length && band.spans[i].from < last; i += 1) {
    const { from, to, kind } = band.spans[i];
    const x = xOf(view, from) + gap;
    const w = Math.max(0.5, (Math.min(to, last) - from) * px - 2 * gap);
    if (kind === "correction" || kind === "vetoed") box(ctx, view, x, w, kind);
    else if (kind === "target") {
      ctx.fillStyle = ink("--neutral");
      ctx.globalAlpha = 0.55;
      ctx.fillRect(x, wide ? y + BAR : y + 4, w, wide ? 2 : BAR - 8); // below the text where there is some
      ctx.globalAlpha = 1;
    } else {
      ctx.fillStyle = ink(px < 3 && kind === "bonus" ? "--target-2" : FILL[kind]);
      ctx.beginPath();
      ctx.roundRect(x, y, w, BAR, Math.min(3, w / 2));
      ctx.fill();
      if (kind === "bonus" && px >= 6 && !wide) paintPlus(ctx, x + w / 2, y + BAR / 2, Math.min(3, px / 4), ink);
      if (kind === "relaxed" && px >= 6) {
        ctx.fillStyle = ink("--panel");
        ctx.fillRect(x + 2, y + BAR - 3, w - 4, 1);
      }
    }
  }
  for (
    let i = firstFrom(band.overhangs, first);
    i < band.overhangs.length && band.overhangs[i].from < last + 40;
    i += 1
  ) {
    const { from, to } = band.overhangs[i];
    ctx.fillStyle = ink("--draft-2");
    ctx.globalAlpha = 0.45;
    ctx.fillRect(xOf(view, from), y + BAR + 3, Math.max(1, (to - from) * px - gap), 2);
    ctx.globalAlpha = 1;
  }
  if (!wide) return;
  ctx.font = `11px ${FONT}`;
  ctx.textAlign = "center";
  for (let i = first; i < last; i += 1) {
    const text = pieceOf(run, list[i].token.token, Math.max(2, Math.floor((px - 4) / 6.6)));
    ctx.fillStyle = ink(list[i].token.origin === "relaxed" ? "--panel" : "--ink");
    ctx.fillText(text, xOf(view, i) + px / 2, y + BAR - 3);
  }
}

/** A correction is a box; one that a veto led to carries the veto's sign.
 * @param {Pen} ctx @param {View} view @param {number} x @param {number} w @param {string} kind */
function box(ctx, view, x, w, kind) {
  const { y, px, ink } = view;
  const colour = kind === "vetoed" ? "--judge" : "--target";
  if (px < 4) {
    ctx.fillStyle = ink(colour);
    ctx.fillRect(x, y, Math.max(1, w), BAR);
    return;
  }
  ctx.strokeStyle = ink(colour);
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.roundRect(x + 0.75, y + 0.75, Math.max(1, w - 1.5), BAR - 1.5, 2.5);
  ctx.stroke();
  if (kind === "vetoed" && px < 26) paintVeto(ctx, x + w / 2, y + BAR / 2, Math.min(3.6, px / 3), ink);
}

/** @param {Pen} ctx @param {View} view */
function paintTree(ctx, view) {
  const { band, first, last, px, y, height, widest, ink } = view;
  const middle = y + height / 2;
  const tall = (/** @type {number} */ n) => Math.max(2, (Math.log2(1 + n) / Math.log2(1 + widest)) * height);
  for (let i = firstFrom(band.drafts, first); i < band.drafts.length && band.drafts[i].from < last; i += 1) {
    const draft = band.drafts[i];
    for (let depth = 0; depth < draft.breadth.length; depth += 1) {
      const pos = draft.from + depth;
      const n = draft.breadth[depth];
      if (!n || pos < first || pos >= last) continue;
      const own = pos < draft.to;
      ctx.fillStyle = ink(own ? "--draft-2" : "--neutral");
      ctx.globalAlpha = own ? 0.6 : 0.16;
      const h = tall(n);
      ctx.fillRect(xOf(view, pos), middle - h / 2, Math.max(0.5, px - (px >= 4 ? 1 : 0)), h);
    }
    ctx.globalAlpha = 1;
    if (!draft.accepted) continue;
    ctx.fillStyle = ink("--draft");
    ctx.fillRect(xOf(view, draft.from), middle - 1, Math.max(1, draft.accepted * px - (px >= 4 ? 1 : 0)), 2);
  }
}

/** @param {Pen} ctx @param {View} view */
function paintTcr(ctx, view) {
  const { band, first, last, px, y, height, ink } = view;
  for (let i = firstFrom(band.drafts, first); i < band.drafts.length && band.drafts[i].from < last; i += 1) {
    const { from, to, rank, size } = band.drafts[i];
    if (rank === null) continue;
    const share = Math.min(1, rank / size);
    const x0 = Math.round(xOf(view, from));
    const x1 = Math.max(x0 + 1, Math.round(xOf(view, to)) - (px >= 3 ? 1 : 0));
    ctx.fillStyle = ink("--line");
    ctx.fillRect(x0, y + height, x1 - x0, 1);
    const tall = Math.max(rank === 0 ? 1 : 2, share * height);
    ctx.fillStyle = ink(rank === 0 ? "--neutral" : share <= 0.25 ? "--draft" : "--draft-2");
    const wide = Math.min(x1 - x0, Math.max(2, Math.min(7, px)));
    ctx.fillRect(x1 - wide, y + height - tall, wide, tall);
  }
}

/** @param {Pen} ctx @param {View} view */
function paintImportance(ctx, view) {
  const { run, list, first, last, px, y, height, ink } = view;
  const size = Math.max(0.5, Math.min(1, px / 9));
  bars(ctx, { ...view, y: y + 6, height: height - 6, top: 1 }, judged, "--judge");
  thresholds(ctx, { ...view, y: y + 6, height: height - 6, top: 1 }, "judge");
  for (let i = first; i < last; i += 1)
    for (const { kind, important } of flagsAt(run, list[i].pos))
      paintFlag(ctx, kind, important, xOf(view, i) + px / 2, y, size, ink);
}

/** @type {Track[]} */
export const TRACKS = [
  {
    id: "spans",
    name: "Spans",
    title: "Accepted runs, corrections, bonus, relaxed, vetoed; below: rejected draft tokens",
    height: 18,
    none: "no tokens",
    label: () => "",
    has: () => true,
    top: () => 1,
    paint: paintSpans,
  },
  {
    id: "entropy",
    name: "Entropies",
    title:
      "Entropy of both distributions at the token's place, nats, one scale in all bands: " +
      "draft filled, target as a line",
    height: 28,
    none: "no entropies",
    label: () => "entropy, nats",
    has: (run) =>
      extent(run, "h", (column) => Math.max(hTarget(column) ?? -Infinity, hDraft(column) ?? -Infinity)) >= 0,
    top: (run) =>
      extent(run, "h", (column) => {
        const most = Math.max(hTarget(column) ?? -1, hDraft(column) ?? -1);
        return most < 0 ? null : most;
      }),
    paint(ctx, view) {
      base(ctx, view);
      bars(ctx, view, hDraft, "--draft-soft");
      levels(ctx, view, hDraft, "--draft-2");
      levels(ctx, view, hTarget, "--target");
      thresholds(ctx, view, "entropy");
    },
  },
  {
    id: "overlap",
    name: "Overlap",
    title: "Share of tokens that the first n choices of draft and target have in common",
    height: 12,
    none: "no overlap",
    label: (run) => `overlap@${overlapN(run)}`,
    has: (run) => extent(run, "overlap", common) >= 0,
    top: () => 1,
    paint(ctx, view) {
      base(ctx, view);
      bars(ctx, view, common, "--overlap");
      thresholds(ctx, view, "overlap");
    },
  },
  {
    id: "keep",
    name: "P(accept)",
    title: "Probability that the rule accepts the draft token; the dark stroke is the number drawn",
    height: 16,
    none: "no tests",
    label: () => "P(accept)",
    has: (run) => extent(run, "keep", keep) >= 0,
    top: () => 1,
    paint(ctx, view) {
      base(ctx, view);
      bars(ctx, view, keep, (column) => (column.ghost ? "--target-2" : "--draft-2"));
      if (view.sampled) levels(ctx, view, (column) => column.node?.u, "--ink");
    },
  },
  {
    id: "tree",
    name: "Trees",
    title: "Draft tokens at each depth of a round, one logarithmic scale in all bands; the line is the accepted path",
    height: 26,
    none: "no drafts",
    label: () => "draft breadth",
    has: (run) => run.rounds.some((round) => round.drafted > 0),
    top: () => 1,
    paint: paintTree,
  },
  {
    id: "tcr",
    name: "Terminal confidence rank",
    title:
      "Terminal confidence rank (TCR) of a round: the rank of its last accepted draft token, over N; " +
      "dark within the first quarter",
    height: 14,
    none: "no drafts",
    label: () => "TCR, rank / N",
    has: (run) => run.rounds.some((round) => round.drafted > 0),
    top: () => 1,
    paint: paintTcr,
  },
  {
    id: "importance",
    name: "Importance",
    title: "Flags: what swapping the token did to the answer (mined). Bars and triangles: what a judge thought",
    height: 20,
    none: "not judged",
    label: () => "importance",
    has: (run) => extent(run, "judge", judged) >= 0 || flagged(run),
    top: () => 1,
    paint: paintImportance,
  },
];

/** The track of an id; ids that are no track of the table name a recorded number. @param {string} id
 * @returns {Track} */
export function trackOf(id) {
  return TRACKS.find((track) => track.id === id) ?? numberTrack(id, { bars, base, extent });
}
