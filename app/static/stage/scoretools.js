// @ts-check
// The score's tools: order, fold, tracks, zoom, saving.

import { h } from "../dom.js";
import { refocused } from "../refocus.js";
import { popover } from "../run/popover.js";
import { SORTS } from "./bands.js";
import { wordsOf } from "./numbertracks.js";
import { isThere } from "./scorecontent.js";
import { TRACKS } from "./tracks.js";

/** @typedef {import("../types/dom.js").Attributes} Attributes */

/** @type {Partial<Record<string, string>>} */
const WHOSE = { node: "draft token", reason: "rule", round: "round" };

/** @param {HTMLElement} button @param {boolean} is */
const disable = (button, is) => button.toggleAttribute("disabled", is);

/** @param {import("../types/store.js").Store} store
 * @param {{peaks: HTMLElement, zoom: (by: number) => void,
 *   fit: () => void, refold: () => void, numbers: () => string[],
 *   save: (kind: "svg"|"png") => Promise<void>}} act */
export function scoreTools(store, act) {
  const button = (
    /** @type {string} */ text,
    /** @type {(() => void) | undefined} */ onclick = undefined,
    /** @type {Attributes} */ attrs = {},
  ) => h("button.v-button", { type: "button", onclick, ...attrs }, text);
  /** @type {HTMLSelectElement} */
  const sort = h(
    "select.v-select",
    { "aria-label": "Order of the bands", onchange: () => store.setOption("sort", sort.value) },
    SORTS.map(({ id, name }) => h("option", { value: id }, name)),
  );
  const fold = button("Fold all", () => {
    act.refold();
    store.setOption("folded", !store.options.folded);
  });
  const toggle = (/** @type {string} */ id) => {
    const now = store.options.tracks;
    const next = now.includes(id) ? now.filter((one) => one !== id) : [...now, id];
    store.setOption("tracks", next);
  };
  const tracks = TRACKS.slice(1).map((track) => ({
    id: track.id,
    track,
    button: button(track.name, () => toggle(track.id), { title: track.title }),
  }));
  const list = h("div.list", { role: "dialog", "aria-label": "More numbers", tabindex: -1 });
  const opener = button("More numbers");
  const shut = h("span.quiet", { hidden: true }, "Folded bands show their spans alone: open one to see its tracks.");
  const { anchor: more } = popover(opener, list, { opening() {}, opened: () => list.focus() });
  more.classList.add("more");
  const group = (/** @type {string} */ name, /** @type {import("../types/dom.js").Children} */ ...items) =>
    h("span.group", { role: "group", "aria-label": name }, ...items);
  const element = h(
    "div.tools",
    {},
    h("label.sort", {}, "Sort by ", sort),
    fold,
    act.peaks,
    h(
      "span.end",
      {},
      group(
        "Zoom",
        button("−", () => act.zoom(-1), { "aria-label": "Zoom out", title: "Zoom out (-, S, ctrl wheel)" }),
        button("+", () => act.zoom(1), { "aria-label": "Zoom in", title: "Zoom in (+, W, ctrl wheel)" }),
        button("Fit", act.fit, { title: "All positions in view" }),
      ),
      group(
        "Save the score",
        button("SVG", () => act.save("svg"), { "aria-label": "Save the score as SVG" }),
        button("PNG", () => act.save("png"), { "aria-label": "Save the score as PNG" }),
      ),
    ),
    h(
      "div.trackrow",
      { role: "group", "aria-label": "Tracks" },
      h(
        "span.group",
        {},
        tracks.map((track) => track.button),
      ),
      more,
      shut,
    ),
  );
  let stamp = "";
  return {
    element,
    /** @param {import("../types/store.js").Store} from @param {string[]} shown tracks that are on
     * @param {boolean} folded whether all bands are: there is no track to switch then */
    update(from, shown, folded) {
      shut.hidden = !folded;
      sort.value = from.options.sort;
      fold.textContent = from.options.folded ? "Open all" : "Fold all";
      for (const { id, track, button } of tracks) {
        button.hidden = !isThere(from, track);
        button.setAttribute("aria-pressed", String(shown.includes(id)));
      }
      for (const one of [...tracks.map(({ button }) => button), opener]) disable(one, folded);
      const numbers = act.numbers();
      more.hidden = numbers.length === 0;
      const now = `${numbers}|${shown}`;
      if (now === stamp) return;
      stamp = now;
      const choices = numbers.map((id) =>
        button(wordsOf(id), () => toggle(id), { "aria-pressed": String(shown.includes(id)) }),
      );
      choices.forEach((one, at) => one.append(h("i", {}, WHOSE[numbers[at].split(".")[0]] ?? "")));
      refocused(list, () => list.replaceChildren(...choices));
    },
  };
}
