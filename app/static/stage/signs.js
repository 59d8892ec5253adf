// @ts-check
// Small signs on a canvas or anything like it.

import { FLAGS } from "../flagmarks.js";

/**
 * @typedef {import("../types/pen.js").Pen} Pen
 * @typedef {import("../types/pen.js").Ink} Ink
 */

/** @param {Pen} ctx @param {number} x centre @param {number} y @param {number} r @param {Ink} ink */
export function paintPlus(ctx, x, y, r, ink) {
  ctx.fillStyle = ink("--target");
  ctx.fillRect(x - r, y - 0.75, 2 * r, 1.5);
  ctx.fillRect(x - 0.75, y - r, 1.5, 2 * r);
}

/** A circle with a bar: a veto. @param {Pen} ctx @param {number} x centre @param {number} y @param {number} r
 * @param {Ink} ink */
export function paintVeto(ctx, x, y, r, ink) {
  ctx.strokeStyle = ink("--judge");
  ctx.lineWidth = 1.25;
  ctx.beginPath();
  ctx.roundRect(x - r, y - r, 2 * r, 2 * r, r);
  ctx.moveTo(x - r * 0.7, y + r * 0.7);
  ctx.lineTo(x + r * 0.7, y - r * 0.7);
  ctx.stroke();
}

/** A bracket below the tokens of a drafted step that was scored as a whole: closed where it was accepted, dashed where
 * not. @param {Pen} ctx @param {number} x0 @param {number} x1 @param {number} y of its line @param {boolean} accepted
 * @param {Ink} ink */
export function paintStep(ctx, x0, x1, y, accepted, ink) {
  const right = Math.max(x0 + 1.5, x1 - 0.75);
  ctx.strokeStyle = ink("--judge");
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.moveTo(x0 + 0.75, y - 3);
  ctx.lineTo(x0 + 0.75, y);
  ctx.moveTo(right, y - 3);
  ctx.lineTo(right, y);
  ctx.stroke();
  if (!accepted) ctx.setLineDash([3, 2]);
  ctx.beginPath();
  ctx.moveTo(x0, y);
  ctx.lineTo(right, y);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** @type {Map<string, Path2D & {d: string}>} */
const paths = new Map();

/** A path that also remembers its text, for SVG. @param {string} d */
function pathOf(d) {
  const path = paths.get(d) ?? Object.assign(new Path2D(d), { d });
  paths.set(d, path);
  return path;
}

/** A flag of importance: mined above, judged below it. @param {Pen} ctx @param {"mined"|"judge"} kind
 * @param {boolean} important @param {number} x centre @param {number} y top @param {number} size 1: ten pixels
 * @param {Ink} ink */
export function paintFlag(ctx, kind, important, x, y, size, ink) {
  const { d, pole } = FLAGS[kind];
  ctx.save();
  ctx.translate(x - 5 * size, y + (kind === "judge" ? 10 : 0));
  ctx.scale(size, size);
  ctx.strokeStyle = ink("--judge");
  ctx.fillStyle = ink(important ? "--judge" : "--panel");
  ctx.lineWidth = 1.2;
  ctx.fill(pathOf(d));
  ctx.stroke(pathOf(d));
  if (pole) ctx.stroke(pathOf(pole));
  ctx.restore();
}
