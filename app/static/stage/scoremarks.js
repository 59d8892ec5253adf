// @ts-check
// Marks over the score: the brushed range, what is hovered and what is selected. They scroll with the drawing.

import { h } from "../dom.js";
import { belowTitle } from "./layout.js";

/**
 * @typedef {{left: number, width: number, top: number, height: number}} Box
 * @typedef {{at: number, shift: number, band: import("./layout.js").Place | null,
 *   round: import("../types/trace.js").Round | null}} Spot a place on the axis; its own band, which stands `shift`
 *   positions to the right, and its round
 */

/** @param {HTMLElement} element @param {Box | null} box null: not shown */
function put(element, box) {
  element.hidden = !box;
  if (box) element.style.cssText = `left:${box.left}px;top:${box.top}px;width:${box.width}px;height:${box.height}px`;
}

export function scoreMarks() {
  const range = h("i.range");
  const kinds = ["hovered", "chosen"].map((kind) => ({
    column: h(`i.column.${kind}`),
    round: h(`i.round.${kind}`),
    box: h(`i.box.${kind}`),
  }));
  const element = h(
    "div.marks",
    { "aria-hidden": "true" },
    range,
    kinds.flatMap(({ column, round, box }) => [column, round, box]),
  );

  /** @param {number} px a position @param {number} height of the drawing
   * @param {readonly [number, number] | undefined} brushed
   * @param {readonly [hovered: Spot | null, chosen: Spot | null]} spots */
  function draw(px, height, brushed, spots) {
    put(range, brushed ? { left: brushed[0] * px, width: (brushed[1] + 1 - brushed[0]) * px, top: 0, height } : null);
    for (const [i, spot] of spots.entries()) {
      const { column, round, box } = kinds[i];
      const left = (spot?.at ?? 0) * px;
      const width = Math.max(2, px);
      put(column, spot && { left, width, top: 0, height });
      const band = spot?.band && belowTitle(spot.band);
      put(box, band ? { left: left - 1, width: width + 2, top: band.top + 1, height: band.height - 3 } : null);
      const emitted = spot?.round && (spot.round.tokens?.length ?? spot.round.emitted);
      put(
        round,
        band && spot.round && emitted
          ? {
              left: (spot.round.start + spot.shift) * px,
              width: Math.max(2, emitted * px),
              top: band.top + 1,
              height: 2,
            }
          : null,
      );
    }
  }

  return { element, draw };
}
