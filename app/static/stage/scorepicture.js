// @ts-check
// The whole score as an SVG document, with a head in words beside each band.

import { perCall } from "../draw.js";
import { palette, SvgContext, svgText } from "../figure.js";
import { headOf, lookOf } from "./scorecontent.js";
import { entriesOf, paintLegend, rowsOf } from "./scorelegend.js";
import { paintBand, paintHead, paintNones, paintRuler } from "./scorepaint.js";

const LEFT = 264; // pixels of the heads
const RULER = 26;

/** @param {Element} element where the colours are defined @param {import("../types/store.js").Store} store
 * @param {import("./scorecontent.js").Content} content @param {string} caption what was run */
export function scorePicture(element, store, content, caption) {
  const ink = palette(element);
  const px = Math.max(4, Math.min(28, 1400 / Math.max(1, content.count)));
  const width = Math.ceil(content.count * px) + 40;
  const key = rowsOf(entriesOf(content), width);
  const ctx = new SvgContext(LEFT + width, key.height + RULER + content.height);
  const look = lookOf(content, { px, scroll: 0, width, ink });
  ctx.translate(LEFT, 0);
  paintLegend(ctx, key, ink);
  ctx.translate(0, key.height);
  paintRuler(ctx, RULER, look, content.count * px); // no number stands beyond the last position
  ctx.translate(0, RULER);
  for (const place of content.places) {
    const lane = content.lanes.get(place.key);
    if (!lane) continue;
    paintBand(ctx, place, lane, look);
    paintNones(ctx, place, lane, ink);
  }
  ctx.translate(-LEFT, 0);
  for (const place of content.places) {
    const lane = content.lanes.get(place.key);
    if (!lane) continue;
    const { name, figures, labels } = headOf(store, content, lane, place);
    const words = wordsOf(figures, place.folded);
    paintHead(ctx, place, { title: name, figures: words, labels: place.folded ? [] : labels }, LEFT, ink);
  }
  return svgText(ctx.figure, element, caption);
}

/** What a head says below its title. @param {import("./heads.js").Figures} figures @param {boolean} folded */
export function wordsOf({ silent, tau, called }, folded) {
  const told = silent ? "drafted nothing" : `${perCall(tau)}${folded ? "" : " tokens a call"}`;
  const calls = called.replace("target ", "");
  return tau === null ? calls : `${calls}${folded ? " · " : ", "}${told}`;
}
