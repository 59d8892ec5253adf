// @ts-check
// The heads of all bands beside the score, and the corner above them.

import { h } from "../dom.js";
import { toggleProof } from "../run/proof.js";
import { word } from "../words.js";
import { buildHead, updateHead } from "./heads.js";
import { answered, headOf } from "./scorecontent.js";

/**
 * @typedef {object} Frame
 * @property {boolean} narrow
 * @property {number} width of the heads
 * @property {number} room of the whole score
 */

/** @param {import("../types/store.js").Store} store
 * @param {{fold: (key: string) => void, card: (method: string) => void}} act */
export function scoreHeads(store, act) {
  const heads = h("div.heads");
  const corner = h("div.corner");
  /** @type {Map<string, import("./heads.js").Head>} */
  const shown = new Map();

  /** @param {boolean} narrow @param {boolean} answers */
  function drawCorner(narrow, answers) {
    const { folded } = store.options;
    const kind = `${folded}/${narrow}/${answers}`;
    if (corner.dataset.kind === kind) return;
    corner.dataset.kind = kind;
    corner.textContent = narrow ? "position" : "";
    /** @type {[string, import("../words.js").Anchor][]} */
    const names = [
      ["calls", "target-call"],
      ["tokens/call", "tau"],
      ["speed", "speedup"],
    ];
    if (!narrow)
      corner.replaceChildren(
        h("span.wide"),
        ...(folded
          ? [
              ...(answers ? [h("span.of-answer", { text: "answer" })] : []),
              ...names.map(([text, anchor]) => h(anchor === "tau" ? "span.each" : "span", {}, word(text, anchor))),
            ]
          : [h("span.last", { text: "position in the response" })]),
      );
    corner.classList.toggle("folded", folded && !narrow);
  }

  /** @param {import("./scorecontent.js").Content} content @param {Frame} frame */
  function draw(content, { narrow, width, room }) {
    heads.classList.toggle("narrow", narrow);
    const answers = answered(content);
    drawCorner(narrow, answers);
    for (const [key, item] of shown) {
      if (content.order.includes(key)) continue;
      item.element.remove();
      shown.delete(key);
    }
    const first = content.places.find((place) => !place.folded)?.key;
    for (const place of content.places) {
      const lane = content.lanes.get(place.key);
      if (!lane) continue;
      const { run } = lane;
      let item = shown.get(place.key);
      if (!item || item.run !== run) {
        item?.element.remove();
        item = buildHead(run, {
          fold: () => act.fold(place.key),
          card: () => act.card(run.card.name),
          proof: (anchor) => toggleProof(anchor, store, run),
        });
        shown.set(place.key, item);
      }
      if (item.element.parentElement !== heads) heads.append(item.element);
      item.element.style.top = `${place.top}px`;
      item.element.style.height = `${place.height}px`;
      const focus = (store.cursor?.run ?? null) === place.key;
      updateHead(item, {
        ...headOf(store, content, lane, place),
        place,
        narrow,
        width,
        room,
        focus,
        answers,
        first: place.key === first,
      });
    }
    content.order.forEach((key, i) => {
      const item = shown.get(key);
      if (item && heads.children[i] !== item.element) heads.insertBefore(item.element, heads.children[i] ?? null);
    });
  }

  return { heads, corner, draw };
}
