// @ts-check
// How tracks are painted, on a canvas or anything like it.

import { FONT, pieceOf, prob } from "../draw.js";
import { flagged, flagsAt } from "../flags.js";
import { cellAt, isFresh, iterations, stepOf } from "../run/canvas.js";
import { linesOf } from "../thresholds.js";
import { cells } from "./axis.js";
import { firstFrom, fromOn } from "./bands.js";
import { paintFlag, paintPlus, paintStep, paintVeto } from "./signs.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../columns.js").Column} Column
 * @typedef {import("../types/pen.js").Pen} Pen
 * @typedef {{run: Run, band: import("./bands.js").Band, list: Column[], first: number, last: number, px: number,
 *   scroll: number, y: number, height: number, top: number, widest: number, ink: import("../types/pen.js").Ink,
 *   sampled: boolean, knobs?: Readonly<Record<string, unknown>>}} View
 *   columns first..last at `px` pixels each, `scroll` pixels of them left of x = 0; `top` is the scale's upper end
 * @typedef {(column: Column, run: Run) => number | null | undefined} Read
 */

/** The judge's importance of the draft token there. @param {Column} column */
export const judged = (column) => column.node?.judge ?? null;

const xOf = (/** @type {View} */ view, /** @type {number} */ pos) => pos * view.px - view.scroll;

/** The highest value of each cell that has one. @param {View} view @param {Read} read
 * @param {(x0: number, x1: number, tall: number, at: number) => void} draw with the value's height and its column */
function highest({ run, list, first, last, px, scroll, height, top }, read, draw) {
  cells(first, last, px, scroll, (x0, x1, from, to) => {
    let best = -Infinity;
    let at = from;
    for (let i = from; i < to; i += 1) {
      const value = read(list[i], run);
      if (value == null || value <= best) continue;
      best = value;
      at = i;
    }
    if (best > -Infinity) draw(x0, x1, Math.round((Math.min(top, Math.max(0, best)) / top) * height), at);
  });
}

/** Bars from the track's base; where columns are narrower than a pixel the highest of them stands. Bars that touch are
 * one shape, which takes half the time.
 * @param {Pen} ctx @param {View} view @param {Read} read @param {string|((column: Column) => string)} colour */
export function bars(ctx, view, read, colour) {
  const { list, px, y, height, ink } = view;
  const base = y + height;
  const colourOf = typeof colour === "string" ? () => colour : (/** @type {number} */ at) => colour(list[at]);
  if (px >= 4) {
    highest(view, read, (x0, x1, tall, at) => {
      ctx.fillStyle = ink(colourOf(at));
      ctx.fillRect(x0, base - Math.max(1, tall), Math.max(1, x1 - x0 - 1), Math.max(1, tall));
    });
    return;
  }
  let end = Number.NaN;
  let painted = "";
  const fill = () => {
    if (!painted) return;
    ctx.lineTo(end, base);
    ctx.fill();
  };
  highest(view, read, (x0, x1, tall, at) => {
    const next = colourOf(at);
    if (next !== painted) {
      fill();
      ctx.fillStyle = ink(next);
      ctx.beginPath();
      ctx.moveTo(x0, base);
    } else if (x0 !== end) {
      ctx.lineTo(end, base);
      ctx.moveTo(x0, base);
    }
    ctx.lineTo(x0, base - Math.max(1, tall));
    ctx.lineTo(x1, base - Math.max(1, tall));
    painted = next;
    end = x1;
  });
  fill();
}

/** A level stroke a column: the value's height; neighbours of one height are one stroke.
 * @param {Pen} ctx @param {View} view @param {Read} read @param {string} colour */
export function levels(ctx, view, read, colour) {
  const { y, height, ink } = view;
  ctx.fillStyle = ink(colour);
  let from = 0;
  let end = 0;
  let top = 0;
  const stroke = () => end > from && ctx.fillRect(from, top, end - from, 2);
  highest(view, read, (x0, x1, tall) => {
    const next = Math.min(y + height - 2, y + height - tall - 1);
    if (x0 !== end || next !== top) {
      stroke();
      from = x0;
      top = next;
    }
    end = x1;
  });
  stroke();
}

const DASHES = 7; // pixels of a dash and its gap

/** Dashed lines where a rule compares. @param {Pen} ctx @param {View} view @param {string} row */
export function thresholds(ctx, view, row) {
  const { run, y, height, top, ink, first, last } = view;
  for (const line of linesOf(run, row, view.knobs)) {
    if (line.value > top) continue;
    const at = Math.round(y + height - (line.value / top) * height) + 0.5;
    ctx.strokeStyle = ink("--judge");
    ctx.lineWidth = 1;
    ctx.setLineDash([4, DASHES - 4]);
    ctx.beginPath();
    ctx.moveTo(Math.floor((first * view.px) / DASHES) * DASHES - view.scroll, at); // dashes meet wherever one begins
    ctx.lineTo(xOf(view, last), at);
    ctx.stroke();
    ctx.setLineDash([]);
  }
}

/** @param {Pen} ctx @param {View} view */
export function base(ctx, view) {
  ctx.fillStyle = view.ink("--line");
  ctx.fillRect(xOf(view, view.first), view.y + view.height, (view.last - view.first) * view.px, 1);
}

export const BAR = 13;
const WIDE = 26; // pixels a position from which its text is written
const SIGN = 6.6; // pixels that a letter or digit takes
const FILL = /** @type {Record<string, string>} */ ({
  accepted: "--draft-2",
  relaxed: "--judge",
  target: "--neutral",
  bonus: "--target-soft",
});

/** A run of tokens of one sign. @param {Pen} ctx @param {string} kind @param {number} x @param {number} y its top
 * @param {number} w @param {number} px a position @param {import("../types/pen.js").Ink} ink */
export function paintSpan(ctx, kind, x, y, w, px, ink) {
  const wide = px >= WIDE;
  if (kind === "correction" || kind === "vetoed") return box(ctx, kind, x, y, w, px, ink);
  if (kind === "target" || kind === "alone") {
    ctx.fillStyle = ink(kind === "alone" ? "--draft-2" : "--neutral");
    ctx.globalAlpha = 0.55;
    ctx.fillRect(x, wide ? y + BAR : y + 4, w, wide ? 2 : BAR - 8); // below the text where there is some
    ctx.globalAlpha = 1;
    return;
  }
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

/** What a draft reached beyond its accepted tokens. @param {Pen} ctx @param {number} x @param {number} y
 * @param {number} w @param {import("../types/pen.js").Ink} ink */
export function paintOverhang(ctx, x, y, w, ink) {
  ctx.fillStyle = ink("--draft-2");
  ctx.fillRect(x, y, w, 1.5);
}

/** @param {Pen} ctx @param {View} view */
export function paintSpans(ctx, view) {
  const { band, run, list, first, last, px, y, ink } = view;
  const gap = px >= 3 ? 1 : 0;
  const wide = px >= WIDE;
  for (let i = firstFrom(band.spans, first); i < band.spans.length && band.spans[i].from < last; i += 1) {
    const { from, to, kind } = band.spans[i];
    const x = xOf(view, from) + gap;
    const w = Math.max(0.5, (Math.min(to, last) - from) * px - 2 * gap);
    if (kind !== "placed") paintSpan(ctx, kind, x, y, w, px, ink);
  }
  paintPlaced(ctx, view);
  const { overhangs, reach } = band;
  for (let i = fromOn(overhangs, first - reach); i < overhangs.length && overhangs[i].from < last; i += 1) {
    const { from, to } = overhangs[i];
    paintOverhang(ctx, xOf(view, from), y + BAR + 3, Math.max(1, (to - from) * px - gap), ink);
  }
  for (const { from, to, accepted } of stepsIn(view))
    paintStep(ctx, xOf(view, from) + gap, xOf(view, to) - gap, y + BAR + 4, accepted, ink);
  if (!wide) return;
  ctx.font = `11px ${FONT}`;
  ctx.textAlign = "center";
  for (let i = first; i < last; i += 1) {
    const text = pieceOf(run, list[i].token.token, Math.max(2, Math.floor((px - 4) / SIGN)));
    ctx.fillStyle = ink(list[i].token.origin === "relaxed" ? "--panel" : "--ink");
    ctx.fillText(text, xOf(view, i) + px / 2, y + BAR - 3);
  }
}

/** The drafted steps in view; one that was rejected ends at the latest where the next begins. @param {View} view */
function stepsIn({ band: { steps, reach }, first, last }) {
  const found = [];
  for (let i = fromOn(steps, first - reach); i < steps.length && steps[i].from < last; i += 1)
    found.push({ ...steps[i], to: Math.min(steps[i].to, steps[i + 1]?.from ?? Infinity) });
  return found;
}

/** Tokens that were written in place, in the colour of the iteration that last wrote each.
 * @param {Pen} ctx @param {View} view */
function paintPlaced(ctx, view) {
  const { run, list, first, last, px, y, ink } = view;
  const total = iterations(run);
  const gap = px >= 3 ? 1 : 0;
  for (let i = first; i < last; i += 1) {
    const { token, round, pos } = list[i];
    if (token.origin !== "placed") continue;
    const cell = cellAt(run.rounds[round], pos);
    paintCell(ctx, xOf(view, i) + gap, y, Math.max(0.5, px - 2 * gap), BAR, cell?.iteration ?? total, total, ink);
  }
}

/** A place in the colour of the iteration that wrote it; a frame where nothing stands.
 * @param {Pen} ctx @param {number} x @param {number} y @param {number} w @param {number} h
 * @param {number} iteration @param {number} total @param {import("../types/pen.js").Ink} ink */
function paintCell(ctx, x, y, w, h, iteration, total, ink) {
  if (iteration) {
    ctx.fillStyle = ink(`--placed-${stepOf(iteration, total)}`);
    ctx.fillRect(x, y, w, h);
    return;
  }
  ctx.strokeStyle = ink("--neutral");
  ctx.lineWidth = 1;
  if (w < 3) return;
  ctx.beginPath();
  ctx.roundRect(x + 0.5, y + 0.5, w - 1, h - 1, 1);
  ctx.stroke();
}

/** A row an iteration, from the top: what it wrote in full colour, what it left pale. Of canvases with other lengths
 * each row has its own places.
 * @param {Pen} ctx @param {View} view */
export function paintIterations(ctx, view) {
  const { run, list, first, last, px, y, height, ink } = view;
  const total = iterations(run);
  const shown = run.rounds.slice(0, (list.at(-1)?.round ?? -1) + 1);
  const tall = height / Math.max(1, total);
  const gap = px >= 3 ? 1 : 0;
  shown.forEach((round, row) => {
    for (let i = first; i < Math.min(last, round.start + (round.canvas?.length ?? 0)); i += 1) {
      const cell = cellAt(round, i);
      if (!cell) continue;
      ctx.globalAlpha = cell.iteration && !isFresh(round, cell) ? 0.28 : 1;
      const top = Math.round(y + row * tall);
      const deep = Math.max(1, Math.round(y + (row + 1) * tall) - top - 1);
      paintCell(ctx, xOf(view, i) + gap, top, Math.max(0.5, px - 2 * gap), deep, cell.iteration, total, ink);
    }
  });
  ctx.globalAlpha = 1;
}

/** The score of each drafted step as a level over its positions: filled where it was accepted.
 * @param {Pen} ctx @param {View} view */
export function paintSteps(ctx, view) {
  const { y, height, ink } = view;
  base(ctx, view);
  ctx.font = `11px ${FONT}`;
  ctx.textAlign = "left";
  for (const { from, to, score, accepted } of stepsIn(view)) {
    const [x, w] = [xOf(view, from), Math.max(1, xOf(view, to) - xOf(view, from) - 1)];
    const tall = Math.max(1, Math.round(Math.min(1, score) * height));
    const top = y + height - tall;
    ctx.fillStyle = ink("--judge-soft");
    if (accepted) ctx.fillRect(x, top, w, tall);
    ctx.fillStyle = ink("--judge");
    ctx.fillRect(x, top, w, 1.5);
    const said = prob(score);
    if (w < said.length * SIGN + 4) continue;
    ctx.fillStyle = ink("--ink");
    ctx.fillText(said, x + 3, y + height - 4);
  }
  thresholds(ctx, view, "reward");
}

/** A correction is a box; one that a veto led to carries the veto's sign.
 * @param {Pen} ctx @param {string} kind @param {number} x @param {number} y @param {number} w @param {number} px
 * @param {import("../types/pen.js").Ink} ink */
function box(ctx, kind, x, y, w, px, ink) {
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
  if (kind === "vetoed" && px < WIDE) paintVeto(ctx, x + w / 2, y + BAR / 2, Math.min(3.6, px / 3), ink);
}

/** @param {Pen} ctx @param {View} view */
export function paintTree(ctx, view) {
  const { band, first, last, px, y, height, widest, ink } = view;
  const middle = y + height / 2;
  const tall = (/** @type {number} */ n) => Math.max(2, (Math.log2(1 + n) / Math.log2(1 + widest)) * height);
  for (let i = fromOn(band.drafts, first - band.reach); i < band.drafts.length && band.drafts[i].from < last; i += 1) {
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

/** @param {number} rank 0: no draft token was accepted @param {number} share of it in all */
export const tcrColour = (rank, share) => (rank === 0 ? "--neutral" : share <= 0.25 ? "--draft" : "--draft-2");

/** @param {Pen} ctx @param {View} view */
export function paintTcr(ctx, view) {
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
    ctx.fillStyle = ink(tcrColour(rank, share));
    const wide = Math.min(x1 - x0, Math.max(2, Math.min(7, px)));
    ctx.fillRect(x1 - wide, y + height - tall, wide, tall);
  }
}

/** @param {Pen} ctx @param {View} view */
export function paintImportance(ctx, view) {
  const { run, list, first, last, px, y, height, ink } = view;
  const size = Math.max(0.5, Math.min(1, px / 9));
  bars(ctx, { ...view, y: y + 6, height: height - 6, top: 1 }, judged, "--judge");
  thresholds(ctx, { ...view, y: y + 6, height: height - 6, top: 1 }, "judge");
  if (!flagged(run)) return;
  for (let i = first; i < last; i += 1)
    for (const { kind, important } of flagsAt(run, list[i].pos))
      if (kind !== "review") paintFlag(ctx, kind, important, xOf(view, i) + px / 2, y, size, ink);
}
