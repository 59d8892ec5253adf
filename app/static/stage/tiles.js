// @ts-check
// Canvases on a grid over a wide drawing: those near the window exist, and each is painted only where it changed.
// They lie in the page's own scroller, so that panning paints nothing but what comes into view.

import { h } from "../dom.js";

const WIDE = 512; // pixels of a tile
const TALL = 360; // a row of tiles takes parts until it is as tall as this
const BLEED = 12; // pixels by which a column's drawing may stick out of it

/**
 * @typedef {object} Part a strip across the drawing
 * @property {string} key
 * @property {number} top
 * @property {number} height
 * @property {string} stamp everything that its painting depends on, except how many columns it has
 * @property {number} count columns; those that were there do not change when more come
 * @property {number} px of a column
 * @property {(ctx: CanvasRenderingContext2D, scroll: number, width: number, from: number) => void} paint the part's
 *   columns from `from` on, in the `width` pixels behind `scroll`
 *
 * @typedef {{left: number, right: number, top: number, bottom: number}} Window in pixels of the drawing
 * @typedef {{canvas: HTMLCanvasElement, ctx: CanvasRenderingContext2D, shape: string,
 *   painted: Map<string, {stamp: string, count: number}>}} Tile
 */

/** Parts in rows of tiles. @param {readonly Part[]} parts from the top @returns {Part[][]} */
export function rowsOf(parts) {
  /** @type {Part[][]} */
  const rows = [];
  for (const part of parts) {
    const row = rows.at(-1);
    if (row && part.top + part.height - row[0].top <= TALL) row.push(part);
    else rows.push([part]);
  }
  return rows;
}

/** The first column that a part must paint anew in a tile, null where nothing changed.
 * @param {{stamp: string, count: number} | undefined} before @param {Pick<Part, "stamp" | "count" | "px">} now
 * @param {number} right the tile's end @returns {number | null} */
export function dirtyFrom(before, now, right) {
  if (before?.stamp !== now.stamp) return 0;
  if (before.count === now.count) return null;
  const from = Math.min(before.count, now.count);
  return from * now.px - BLEED >= right ? null : from;
}

/** The columns of some pixels, with those that may stick out into them. @param {number} scroll @param {number} width
 * @param {number} px of a column @param {number} count of columns @param {number} from
 * @returns {[first: number, last: number]} */
export function columnsIn(scroll, width, px, count, from) {
  const first = Math.max(0, Math.floor((scroll - BLEED) / px), Math.floor(from - (2 * BLEED) / px));
  return [Math.min(count, first), Math.max(0, Math.min(count, Math.ceil((scroll + width + BLEED) / px)))];
}

/** @param {string} kind of the element */
export function createTiles(kind) {
  const element = h(`div.${kind}`, { "aria-hidden": "true" });
  /** @type {Map<string, Tile>} */
  const tiles = new Map();
  /** @type {Tile[]} */
  const spare = [];

  /** @returns {Tile | null} */
  function take() {
    const tile = spare.pop();
    if (tile) return tile;
    const canvas = h("canvas");
    const ctx = canvas.getContext("2d", { alpha: false });
    return ctx && { canvas, ctx, shape: "", painted: new Map() };
  }

  /** @param {Tile} tile @param {number} left @param {number} top @param {number} width @param {number} height
   * @param {number} ratio */
  function shape(tile, left, top, width, height, ratio) {
    const now = [left, top, width, height, ratio].join();
    if (tile.shape === now) return;
    tile.shape = now;
    tile.painted.clear();
    const { canvas } = tile;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.cssText = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
  }

  /** @param {readonly Part[]} parts from the top @param {Window} view @param {string} paper */
  function draw(parts, view, paper) {
    const ratio = window.devicePixelRatio || 1;
    const wide = Math.round(WIDE * ratio) / ratio;
    /** @type {Set<string>} */
    const wanted = new Set();
    for (const [r, row] of rowsOf(parts).entries()) {
      const last = row[row.length - 1];
      const [top, bottom] = [row[0].top, last.top + last.height];
      if (bottom <= view.top || top >= view.bottom) continue;
      for (let c = Math.max(0, Math.floor(view.left / wide)); c * wide < view.right; c += 1) {
        const id = `${r}/${c}`;
        const tile = tiles.get(id) ?? take();
        if (!tile) return;
        wanted.add(id);
        tiles.set(id, tile);
        shape(tile, c * wide, top, wide, bottom - top, ratio);
        if (tile.canvas.parentElement !== element) element.append(tile.canvas);
        for (const part of row) fill(tile, part, c * wide, top, wide, ratio, paper);
      }
    }
    for (const [id, tile] of tiles) {
      if (wanted.has(id)) continue;
      tiles.delete(id);
      tile.canvas.remove();
      tile.shape = "";
      spare.push(tile);
    }
    spare.length = Math.min(spare.length, 8);
  }

  /** @param {Tile} tile @param {Part} part @param {number} left @param {number} top of the tile @param {number} wide
   * @param {number} ratio @param {string} paper */
  function fill({ ctx, painted }, part, left, top, wide, ratio, paper) {
    const from = dirtyFrom(painted.get(part.key), part, left + wide);
    painted.set(part.key, { stamp: part.stamp, count: part.count });
    if (from === null) return;
    const x = Math.max(0, Math.floor(from * part.px - BLEED) - left);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.save();
    ctx.beginPath();
    ctx.rect(from === 0 ? 0 : x, part.top - top, wide, part.height);
    ctx.clip();
    ctx.fillStyle = paper;
    ctx.fillRect(0, part.top - top, wide, part.height);
    ctx.translate(0, -top);
    part.paint(ctx, left, wide, from);
    ctx.restore();
  }

  return { element, draw };
}
