// @ts-check
// The score as a picture: ruler, bands, marks; on a canvas, or on the recorder that writes SVG.

import { cut, FONT } from "../draw.js";
import { tickStep } from "./axis.js";
import { belowTitle } from "./layout.js";
import { columnsIn } from "./tiles.js";
import { trackOf } from "./tracks.js";

/**
 * @typedef {import("../types/pen.js").Pen} Pen
 * @typedef {import("../types/pen.js").Ink} Ink
 * @typedef {import("../types/store.js").WhatIf} WhatIf
 * @typedef {import("./layout.js").Place} Place
 * @typedef {import("../columns.js").Column} Column
 * @typedef {{key: string, run: import("../types/store.js").Run, band: import("./bands.js").Band, list: Column[],
 *   shift: number, parts: number|null, sampled: boolean, knobs?: WhatIf["knobs"], whatif: WhatIf | null,
 *   passes: ((column: Column) => boolean)|null}} Lane
 * @typedef {{px: number, scroll: number, width: number, ink: Ink, tops: Map<string, number>, widest: number}} Look
 */

const DIGIT = 7; // pixels of one in the ruler, at most
export const NUMBER = 48; // and of a number with its distance from the tick

/** A band's tracks and marks, from a place of the axis on. A beginning that was forced moves the band to the right:
 * from there on everything is painted in the run's positions.
 * @param {Pen} ctx @param {Place} whole @param {Lane} lane @param {Look} axis @param {number} [from] */
export function paintBand(ctx, whole, lane, axis, from = 0) {
  const place = belowTitle(whole);
  paintGrid(ctx, place, axis);
  const { list, parts, shift } = lane;
  const look = { ...axis, scroll: axis.scroll - shift * axis.px };
  const { px, scroll, width, ink } = look;
  if (shift) paintForced(ctx, place, shift, look);
  const [first, last] = columnsIn(scroll, width, px, list.length, from - shift);
  if (parts !== null && parts < list.length) {
    const x = Math.max(0, parts * px - scroll);
    const end = Math.min(width, list.length * px - scroll);
    if (end > x) {
      ctx.fillStyle = ink("--judge-soft");
      ctx.globalAlpha = 0.55;
      ctx.fillRect(x, place.top + 1, end - x, place.height - 2);
      ctx.globalAlpha = 1;
    }
  }
  for (const { id, y, height } of place.tracks) {
    const track = trackOf(id);
    if (track.has(lane.run))
      track.paint(ctx, { ...lane, ...look, first, last, y, height, top: look.tops.get(id) ?? 1 });
  }
  if (lane.passes) veil(ctx, place, list, lane.passes, look, first, last);
  if (lane.whatif) paintWhatIf(ctx, place, lane.whatif, list.length, look);
  if (parts !== null && parts * px >= scroll && parts * px <= scroll + width) {
    const x = Math.round(parts * px - scroll) + 0.5;
    ctx.strokeStyle = ink("--judge");
    ctx.lineWidth = 1.25;
    ctx.setLineDash([2, 2]);
    ctx.beginPath();
    ctx.moveTo(x, place.top + 1);
    ctx.lineTo(x, place.top + place.height - 1);
    ctx.stroke();
    ctx.setLineDash([]);
  }
  ctx.fillStyle = ink("--line");
  ctx.fillRect(0, place.top + place.height - 1, width, 1);
}

/** The tokens that a lane was given, up to its first own one. @param {Pen} ctx @param {Place} place
 * @param {number} shift tokens @param {Look} look */
function paintForced(ctx, { top, height }, shift, { px, scroll, ink }) {
  const [from, to] = [-shift * px - scroll, -scroll];
  if (to <= 0) return;
  ctx.fillStyle = ink("--line-2");
  ctx.globalAlpha = 0.5;
  ctx.fillRect(from, top + 6, to - from - 1, 6);
  ctx.globalAlpha = 1;
  const words = `given: ${shift} forced`;
  if (to - from < words.length * 6 || height < 34) return;
  ctx.font = `11px ${FONT}`;
  ctx.textAlign = "left";
  ctx.fillStyle = ink("--ink-3");
  ctx.fillText(words, from + 4, top + 26);
}

/** What a band has no value for, in words at its left end, of a drawing that stays as it is.
 * @param {Pen} ctx @param {Place} place @param {Lane} lane
 * @param {Ink} ink */
export function paintNones(ctx, place, lane, ink) {
  ctx.font = `11px ${FONT}`;
  ctx.textAlign = "left";
  ctx.fillStyle = ink("--ink-3");
  for (const { id, y, height } of place.tracks) {
    const { has, none, still = none } = trackOf(id);
    if (!has(lane.run)) ctx.fillText(still, 8, y + height / 2 + 4);
  }
}

/** Where a moved threshold's condition holds, hollow where the exact rule decides all the same; and beyond its first
 * changed decision the text that nobody has run.
 * @param {Pen} ctx @param {Place} place @param {WhatIf} whatif @param {number} count @param {Look} look */
function paintWhatIf(ctx, place, { marks, settled, changed }, count, { px, scroll, width, ink }) {
  ctx.fillStyle = ctx.strokeStyle = ink("--judge");
  ctx.lineWidth = 1;
  for (const pos of marks) {
    const x = (pos + 0.5) * px - scroll;
    if (x < -5 || x > width + 5 || pos > (changed ?? Infinity)) continue;
    ctx.beginPath();
    ctx.moveTo(x - 4, place.top + 1);
    ctx.lineTo(x + 4, place.top + 1);
    ctx.lineTo(x, place.top + 7);
    ctx.closePath();
    if (settled.has(pos)) ctx.stroke();
    else ctx.fill();
  }
  if (changed === null) return;
  const from = (changed + 1) * px - scroll;
  const end = count * px - scroll;
  if (end <= Math.max(0, from) || from > width) return;
  ctx.fillStyle = ink("--panel");
  ctx.globalAlpha = 0.7;
  ctx.fillRect(from, place.top + 8, end - from, place.height - 10);
  ctx.globalAlpha = 1;
  const words = "from here the text would differ: run to see";
  if (end - from < words.length * 6) return;
  ctx.font = `11px ${FONT}`;
  ctx.textAlign = "left";
  ctx.fillStyle = ink("--judge");
  ctx.fillText(words, from + 6, place.top + place.height - 6);
}

/** Fade what the filters leave out. @param {Pen} ctx @param {Place} place @param {Column[]} list
 * @param {(column: Column) => boolean} passes @param {Look} look @param {number} first @param {number} last */
function veil(ctx, place, list, passes, look, first, last) {
  ctx.fillStyle = look.ink("--panel");
  ctx.globalAlpha = 0.74;
  for (let i = first; i < last; i += 1) {
    if (passes(list[i])) continue;
    let end = i + 1;
    while (end < last && !passes(list[end])) end += 1;
    ctx.fillRect(i * look.px - look.scroll, place.top + 1, (end - i) * look.px, place.height - 2);
    i = end;
  }
  ctx.globalAlpha = 1;
}

/** @param {Pen} ctx @param {Place} place @param {Look} look */
function paintGrid(ctx, place, { px, scroll, width, ink }) {
  const step = tickStep(px);
  ctx.fillStyle = ink("--line");
  ctx.globalAlpha = 0.7;
  for (let pos = Math.max(0, Math.floor(scroll / px / step)) * step; pos * px - scroll <= width; pos += step)
    ctx.fillRect(Math.round(pos * px - scroll), place.top, 1, place.height);
  ctx.globalAlpha = 1;
}

/** The ruler of positions. A number stands behind its tick, and before it where it would be cut off.
 * @param {Pen} ctx @param {number} height @param {Look} look @param {number} end of the drawing, in pixels */
export function paintRuler(ctx, height, { px, scroll, width, ink }, end) {
  const step = tickStep(px);
  const last = Math.min(end, scroll + width + NUMBER);
  ctx.font = `11px ${FONT}`;
  for (let pos = Math.max(0, Math.floor(scroll / px / step)) * step; pos * px <= last; pos += step) {
    const x = Math.round(pos * px - scroll);
    const fits = pos * px + 3 + DIGIT * String(pos).length <= end;
    ctx.fillStyle = ink("--line-2");
    ctx.fillRect(x, height - 5, 1, 5);
    ctx.fillStyle = ink("--ink-2");
    ctx.textAlign = fits ? "left" : "right";
    ctx.fillText(String(pos), x + (fits ? 3 : -3), height - 7);
  }
  ctx.textAlign = "left";
  ctx.fillStyle = ink("--line-2");
  ctx.fillRect(0, height - 1, width, 1);
}

/** A head in words, for pictures that leave the page. @param {Pen} ctx @param {Place} place
 * @param {{title: string, figures: string, labels: string[]}} head @param {number} width @param {Ink} ink */
export function paintHead(ctx, place, { title, figures, labels }, width, ink) {
  ctx.textAlign = "left";
  ctx.fillStyle = ink("--ink");
  const room = place.folded ? width - 18 - 6 * figures.length : width;
  const long = 7.2 * title.length > room; // a width is not measured where a picture is written
  ctx.font = `${long ? 11 : 12.5}px ${FONT}`;
  ctx.fillText(long ? cut(title, Math.floor(room / 5.8)) : title, 0, place.top + (place.folded ? 17 : 20));
  ctx.fillStyle = ink("--ink-2");
  ctx.font = `11px ${FONT}`;
  if (place.folded) ctx.textAlign = "right";
  if (place.folded) ctx.fillText(figures, width - 10, place.top + 17);
  else ctx.fillText(figures, 0, place.top + 36);
  ctx.textAlign = "right";
  ctx.fillStyle = ink("--ink-3");
  for (const [i, track] of place.tracks.entries())
    ctx.fillText(labels[i] ?? "", width - 10, track.y + track.height / 2 + 4);
  ctx.textAlign = "left";
  ctx.fillStyle = ink("--line");
  ctx.fillRect(0, place.top + place.height - 1, width, 1);
}
