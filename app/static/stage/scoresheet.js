// @ts-check
// The score on paper: as many positions as a line holds, the rest below, as music is written.

import { h } from "../dom.js";
import { SvgContext } from "../figure.js";
import { headOf, lookOf } from "./scorecontent.js";
import { paintBand, paintHead, paintNones, paintRuler } from "./scorepaint.js";
import { wordsOf } from "./scorepicture.js";

const WIDE = 720; // pixels of a line; as many as a sheet has, whatever its format
const LEFT = 260; // of the heads
const RULER = 26;
const TALL = 420; // pixels of bands that are not kept together, lest most of a sheet stays empty before them
const [LEAST, MOST] = [5, 18]; // pixels of a position

/** @typedef {import("./layout.js").Place} Place */

/** Colours as their names, which the style sheet fills in. @param {string} name */
const ink = (name) => `var(${name})`;

/** How many lines hold some positions, and how many positions a line has. @param {number} count
 * @returns {{lines: number, each: number}} */
export function linesFor(count) {
  const lines = Math.max(1, Math.ceil((count * LEAST) / (WIDE - LEFT)));
  return { lines, each: Math.ceil(count / lines) };
}

/** The lines, each with all bands. @param {import("../types/store.js").Store} store
 * @param {import("./scorecontent.js").Content} content @returns {HTMLElement[]} */
export function scoreSheet(store, content) {
  const { lines, each } = linesFor(content.count);
  const px = Math.min(MOST, (WIDE - LEFT) / Math.max(1, each));
  return Array.from({ length: lines }, (_, i) => {
    const width = WIDE - LEFT;
    const look = lookOf(content, { px, scroll: i * each * px, width, ink });
    const bands = content.places.flatMap((place) => bandOf(store, content, place, look, i === 0) ?? []);
    const ruler = drawn(RULER, (ctx) => paintRuler(ctx, RULER, look, content.count * px + 8));
    const axis = h("div.axis", {}, h("div.band", {}, h("span"), ruler));
    return h(`div.line${content.height > TALL ? ".tall" : ""}`, {}, axis, h("div.rows", {}, bands));
  });
}

/** A band in one line: its head, and its columns, which end where the line does.
 * @param {import("../types/store.js").Store} store @param {import("./scorecontent.js").Content} content
 * @param {Place} place @param {import("./scorepaint.js").Look} look @param {boolean} first of the lines */
function bandOf(store, content, place, look, first) {
  const lane = content.lanes.get(place.key);
  if (!lane) return null;
  const { name, figures, labels } = headOf(store, content, lane, place);
  const head = { title: name, figures: wordsOf(figures, place.folded), labels: place.folded ? [] : labels };
  return h(
    "div.band",
    {},
    drawn(place.height, (ctx) => paintHead(ctx, place, head, LEFT, look.ink), LEFT, place.top),
    drawn(
      place.height,
      (ctx) => {
        paintBand(ctx, place, lane, look);
        if (first) paintNones(ctx, place, lane, look.ink);
      },
      WIDE - LEFT,
      place.top,
    ),
  );
}

/** A drawing as an element. @param {number} height @param {(ctx: SvgContext) => void} paint @param {number} [width]
 * @param {number} [top] where it begins */
function drawn(height, paint, width = WIDE - LEFT, top = 0) {
  const ctx = new SvgContext(width, height);
  ctx.translate(0, -top);
  paint(ctx);
  return ctx.figure;
}
