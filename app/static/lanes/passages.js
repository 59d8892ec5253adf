// @ts-check
// In the lanes: a token or ghost under the pointer, or under the cursor, shows the passage that it was copied from.

import { hideTip, showTip } from "../draw.js";
import { passageOf, passageText } from "../passage.js";

/** @typedef {import("../types/store.js").Place} Place */

const FOUND_MS = 2600;

/**
 * @param {HTMLElement} element the lanes
 * @param {import("../types/store.js").Store} store
 * @param {ReadonlyMap<string, import("./lane.js").Lane>} lanes
 * @param {import("../types/lab.js").Lab | undefined} lab
 * @param {(target: EventTarget | null) => Place | null} selection what an element of the lanes stands for
 */
export function showPassages(element, store, lanes, lab, selection) {
  let shown = false;
  /** @param {number} x @param {number} y @param {Place | null} sel */
  const tell = (x, y, sel) => {
    const run = sel?.run ? store.runs.get(sel.run) : undefined;
    const node = run && sel ? nodeAt(run, sel) : null;
    const passage = run && node ? passageOf(run, node) : null;
    if (passage) showTip(x, y, [passage.words, passageText(passage), "s: go there"]);
    else if (shown) hideTip();
    shown = Boolean(passage);
  };
  element.addEventListener("pointermove", (event) => tell(event.clientX, event.clientY, selection(event.target)));
  element.addEventListener("pointerleave", () => tell(0, 0, null));
  element.addEventListener("scroll", () => tell(0, 0, null), true);
  store.on("cursor", () => {
    if (store.hover) return;
    requestAnimationFrame(() => {
      const sel = store.cursor;
      const chip = sel?.pos == null ? null : lanes.get(sel.run)?.text.chips[sel.pos];
      const box = chip?.getBoundingClientRect();
      tell(
        box?.left ?? 0,
        (box?.bottom ?? 0) - 8,
        box?.height && document.activeElement?.closest?.(".flow, body") ? sel : null,
      );
    });
  });
  // Scroll a lane to some of its tokens and mark them for a moment, where they are on the page.
  lab?.ui.on("flash", ({ key, from, to, found }) => {
    const lane = lanes.get(key);
    const chips =
      lane?.text.chips.slice(from, to + 1).filter((chip) => chip?.getClientRects().length || chip?.isConnected) ?? [];
    if (!lane || !chips.length) return;
    found();
    lane.element.scrollIntoView({ block: "nearest", inline: "nearest" });
    lane.text.reveal(chips[0]);
    for (const chip of chips) chip.classList.add("found");
    setTimeout(() => {
      for (const chip of chips) chip.classList.remove("found");
    }, FOUND_MS);
  });
}

/** The draft token of a place: its own, or that of the token there.
 * @param {import("../types/store.js").Run} run @param {Place} sel */
function nodeAt(run, { round, node, pos }) {
  if (node != null) return run.rounds[round ?? -1]?.nodes[node] ?? null;
  const token = pos == null ? null : run.tokens[pos];
  return token?.node == null ? null : run.rounds[token.round].nodes[token.node];
}
