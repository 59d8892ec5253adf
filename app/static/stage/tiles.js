// @ts-check
// Canvases on a grid over a wide drawing: those near the window exist, and each is painted only where it changed.
// They lie in the page's own scroller, so that panning paints nothing but what comes into view. Where everything has
// changed at once, what the window shows is painted first, and the rest of those tiles later.

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
 *   painted: Map<string, {stamp: string, count: number, from: number, to: number}>}} Tile `painted`: the pixels of each
 *   part that are as they should be
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

  /** @param {readonly Part[]} parts from the top @param {Window} view @param {string} paper
   * @param {boolean} [hurry] paint no more than the window */
  function draw(parts, view, paper, hurry = false) {
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
        for (const part of row) {
          if (hurry && (part.top + part.height <= view.top || part.top >= view.bottom)) continue;
          const [left, right] = [c * wide, (c + 1) * wide];
          const now = hurry
            ? { from: Math.max(left, Math.floor(view.left)), to: Math.min(right, Math.ceil(view.right)) }
            : { from: left, to: right };
          fill(tile, part, { left, top, right }, now, ratio, paper);
        }
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

  /** Paint a part's pixels `now`, as far as they are not as they should be.
   * @param {Tile} tile @param {Part} part @param {{left: number, top: number, right: number}} box of the tile
   * @param {{from: number, to: number}} now @param {number} ratio @param {string} paper */
  function fill({ ctx, painted }, part, { left, top, right }, now, ratio, paper) {
    const before = painted.get(part.key);
    const good = before && before.from <= now.from && before.to >= now.to ? before : undefined;
    const first = dirtyFrom(good, part, right);
    const { stamp, count } = part;
    if (good && first === null) good.count = count;
    if (first === null) return;
    const grown = good?.from === left && good.to === right ? first : 0; // columns that are there already
    const { from, to } = grown ? { from: left, to: right } : now;
    painted.set(part.key, { stamp, count, from, to });
    const x = grown ? Math.max(0, Math.floor(grown * part.px - BLEED) - left) : from - left;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, part.top - top, to - left - x, part.height);
    ctx.clip();
    ctx.fillStyle = paper;
    ctx.fillRect(x, part.top - top, to - left - x, part.height);
    ctx.translate(from - left, -top);
    part.paint(ctx, from, to - from, grown);
    ctx.restore();
  }

  return { element, draw };
}
