// In the lanes: a token or ghost under the pointer, or under the cursor, shows the passage that it was copied from.

import { hideTip, showTip } from "./draw.js";
import { passageOf, passageText } from "./passage.js";

const FOUND_MS = 2600;

/** @param {HTMLElement} element the lanes @param {any} store @param {Map<string, any>} lanes @param {any} lab
 * @param {(target: Element) => any} selection */
export function showPassages(element, store, lanes, lab, selection) {
  let shown = false;
  const tell = (x, y, sel) => {
    const run = sel && store.runs.get(sel.run);
    const node =
      sel &&
      (sel.node != null
        ? run?.rounds[sel.round]?.nodes[sel.node]
        : sel.pos != null && run?.tokens[sel.pos]?.node != null
          ? run.rounds[run.tokens[sel.pos].round].nodes[run.tokens[sel.pos].node]
          : null);
    const passage = node && passageOf(run, node);
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
      const chip = sel && lanes.get(sel.run)?.chips[sel.pos];
      const box = chip?.getBoundingClientRect();
      tell(
        box?.left ?? 0,
        (box?.bottom ?? 0) - 8,
        box?.height && document.activeElement?.closest?.(".flow, body") ? sel : null,
      );
    });
  });
  /** Scroll a lane to some of its tokens and mark them for a moment, where they are on the page. */
  lab?.ui.on("flash", ({ key, from, to, found }) => {
    const lane = lanes.get(key);
    const chips =
      lane?.chips.slice(from, to + 1).filter((chip) => chip?.getClientRects().length || chip?.isConnected) ?? [];
    if (!chips.length) return;
    found();
    lane.element.scrollIntoView({ block: "nearest", inline: "nearest" });
    lane.reveal(chips[0]);
    for (const chip of chips) chip.classList.add("found");
    setTimeout(() => {
      for (const chip of chips) chip.classList.remove("found");
    }, FOUND_MS);
  });
}
