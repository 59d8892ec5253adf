// @ts-check
// The score as a picture: ruler, bands, marks; on a canvas, or on the recorder that writes SVG.

import { FONT } from "../draw.js";
import { tickStep } from "./axis.js";
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

/** The bands' tracks and marks; y grows from the first place. @param {Pen} ctx @param {Place[]} places
 * @param {Map<string, Lane>} lanes @param {Look} look */
export function paintBands(ctx, places, lanes, look) {
  for (const place of places) {
    const lane = lanes.get(place.key);
    if (lane) paintBand(ctx, place, lane, look);
  }
}

/** A beginning that was forced moves its band to the right: from there on everything is painted in the run's positions.
 * @param {Pen} ctx @param {Place} place @param {Lane} lane @param {Look} axis */
function paintBand(ctx, place, lane, axis) {
  paintGrid(ctx, place, axis);
  const { list, parts, shift } = lane;
  const look = { ...axis, scroll: axis.scroll - shift * axis.px };
  const { px, scroll, width, ink } = look;
  if (shift) paintForced(ctx, place, shift, look);
  const first = Math.max(0, Math.min(list.length, Math.floor(scroll / px)));
  const last = Math.max(first, Math.min(list.length, Math.ceil((scroll + width) / px)));
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
    if (!track.has(lane.run)) {
      ctx.font = `11px ${FONT}`;
      ctx.textAlign = "left";
      ctx.fillStyle = ink("--ink-3");
      ctx.fillText(track.none, 8, y + height / 2 + 4);
      continue;
    }
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
  const left = Math.max(0, from);
  ctx.fillStyle = ink("--line-2");
  ctx.globalAlpha = 0.5;
  ctx.fillRect(left, top + 6, to - left - 1, 6);
  ctx.globalAlpha = 1;
  const words = `given: ${shift} forced`;
  if (to - left < words.length * 6 || height < 34) return;
  ctx.font = `11px ${FONT}`;
  ctx.textAlign = "left";
  ctx.fillStyle = ink("--ink-3");
  ctx.fillText(words, left + 4, top + 26);
}

/** Where a moved threshold would act, and beyond its first changed decision the text that nobody has run.
 * @param {Pen} ctx @param {Place} place @param {WhatIf} whatif @param {number} count @param {Look} look */
function paintWhatIf(ctx, place, { marks, changed }, count, { px, scroll, width, ink }) {
  ctx.fillStyle = ink("--judge");
  for (const pos of marks) {
    const x = (pos + 0.5) * px - scroll;
    if (x < 0 || x > width) continue;
    ctx.beginPath();
    ctx.moveTo(x - 4, place.top + 1);
    ctx.lineTo(x + 4, place.top + 1);
    ctx.lineTo(x, place.top + 7);
    ctx.closePath();
    ctx.fill();
  }
  if (changed === null) return;
  const from = Math.max(0, (changed + 1) * px - scroll);
  const end = Math.min(width, count * px - scroll);
  if (end <= from) return;
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
  for (let pos = Math.ceil(scroll / px / step) * step; pos * px - scroll <= width; pos += step)
    ctx.fillRect(Math.round(pos * px - scroll), place.top, 1, place.height);
  ctx.globalAlpha = 1;
}

/** @typedef {{px: number, scroll: number, tall: number, ink: Ink}} View what marks are drawn on */

/** A range of positions. @param {Pen} ctx @param {readonly [number, number]} range @param {View} view */
export function paintRange(ctx, [first, last], { px, scroll, tall, ink }) {
  const [from, to] = [first * px - scroll, (last + 1) * px - scroll];
  ctx.fillStyle = ink("--draft");
  ctx.globalAlpha = 0.1;
  ctx.fillRect(from, 0, to - from, tall);
  ctx.globalAlpha = 0.7;
  for (const at of [from, to]) ctx.fillRect(at - 0.5, 0, 1, tall);
  ctx.globalAlpha = 1;
}

/** A position that is hovered or, `locked`, selected: in all bands, and boxed with its round in its own.
 * @param {Pen} ctx @param {number} pos @param {boolean} locked
 * @param {{top: number, height: number, round: import("../types/trace.js").Round | null} | null} band its own
 * @param {View} view */
export function paintFocus(ctx, pos, locked, band, { px, scroll, tall, ink }) {
  const width = Math.max(2, px);
  const x = pos * px - scroll;
  ctx.fillStyle = ink("--ink");
  ctx.globalAlpha = locked ? 0.09 : 0.06;
  ctx.fillRect(x, 0, width, tall);
  ctx.globalAlpha = 1;
  if (!band) return;
  const { top, height, round } = band;
  if (round) {
    ctx.fillStyle = ink("--select");
    ctx.globalAlpha = locked ? 0.6 : 0.35;
    const emitted = round.tokens?.length ?? round.emitted;
    ctx.fillRect(round.start * px - scroll, top + 1, Math.max(2, emitted * px), 1.5);
    ctx.globalAlpha = 1;
  }
  ctx.strokeStyle = ink("--select");
  ctx.globalAlpha = locked ? 1 : 0.5;
  ctx.lineWidth = locked ? 1.5 : 1;
  ctx.strokeRect(x - 0.5, top + 1.5, width + 1, height - 4);
  ctx.globalAlpha = 1;
}

/** The ruler of positions. @param {Pen} ctx @param {number} height @param {Look} look */
export function paintRuler(ctx, height, { px, scroll, width, ink }) {
  const step = tickStep(px);
  ctx.font = `11px ${FONT}`;
  ctx.textAlign = "left";
  for (let pos = Math.ceil(scroll / px / step) * step; pos * px - scroll <= width - 8; pos += step) {
    const x = Math.round(pos * px - scroll);
    ctx.fillStyle = ink("--line-2");
    ctx.fillRect(x, height - 5, 1, 5);
    ctx.fillStyle = ink("--ink-2");
    if (x >= 0) ctx.fillText(String(pos), x + 3, height - 7);
  }
  ctx.fillStyle = ink("--line-2");
  ctx.fillRect(0, height - 1, width, 1);
}

/** A head in words, for pictures that leave the page. @param {Pen} ctx @param {Place} place
 * @param {{title: string, figures: string, labels: string[]}} head @param {number} width @param {Ink} ink */
export function paintHead(ctx, place, { title, figures, labels }, width, ink) {
  ctx.textAlign = "left";
  ctx.fillStyle = ink("--ink");
  ctx.font = `12.5px ${FONT}`;
  ctx.fillText(title, 0, place.top + (place.folded ? 17 : 20));
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
