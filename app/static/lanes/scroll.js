// @ts-check
// Scrolling the text of one lane scrolls the others to the same position, after their texts part to the same round.

import { h } from "../dom.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("./lane.js").Lane} Lane
 */

const SIDES = /** @type {const} */ (["left", "right"]);
const ASKS = /** @type {const} */ (["wheel", "pointerdown", "touchmove", "keydown"]);

/** The lane that somebody scrolls leads; what the page scrolls itself moves nobody else.
 * @param {HTMLElement} element @param {Store} store @param {ReadonlyMap<string, Lane>} lanes */
export function linkScrolling(element, store, lanes) {
  /** @type {Lane | null} */
  let leader = null;
  const laneOf = (/** @type {EventTarget | null} */ target) => {
    const flow = target instanceof Element ? target.closest(".flow") : null;
    return [...lanes.values()].find((lane) => lane.text.element === flow) ?? null;
  };
  for (const ask of ASKS)
    element.addEventListener(
      ask,
      (event) => {
        leader = laneOf(event.target);
      },
      { capture: true, passive: true },
    );
  store.on("cursor", () => {
    leader = null; // every lane brings its own token into view
  });
  element.addEventListener(
    "scroll",
    (event) => {
      if (event.target === element) edgesLater();
      if (leader && laneOf(event.target) === leader) store.frame("lanes:scroll", () => leader && align(leader));
    },
    { capture: true, passive: true },
  );

  /** A lane that the keyboard comes to is in view as a whole. */
  element.addEventListener("focusin", ({ target }) => {
    const lane = target instanceof Element && target.matches(":focus-visible") ? target.closest(".lane") : null;
    if (!lane) return;
    const [box, spot] = [element.getBoundingClientRect(), lane.getBoundingClientRect()];
    if (spot.left < box.left || spot.right > box.right + 1) element.scrollLeft += spot.left - box.left;
  });

  /** At which sides there are more lanes than fit: they fade there. */
  function edges() {
    const { scrollLeft, clientWidth, scrollWidth } = element;
    const sides = hiddenSides(scrollLeft, clientWidth, scrollWidth);
    for (const side of SIDES) element.classList.toggle(`more-${side}`, sides.includes(side));
    bar(scrollLeft, clientWidth, scrollWidth);
  }
  const edgesLater = () => store.frame("lanes:edges", edges);
  const bar = scrollBar(element);
  new ResizeObserver(edgesLater).observe(element);
  new MutationObserver(edgesLater).observe(element, { childList: true });

  /** @param {Lane} lane */
  function align(lane) {
    const box = lane.text.element.getBoundingClientRect();
    const end = lane.run.rounds[store.visibleRounds(lane.run)]?.start ?? lane.run.tokens.length;
    const pos = firstBelow(end, (i) => lane.text.chips[i]?.getBoundingClientRect().bottom ?? Infinity, box.top);
    const token = pos < 0 ? undefined : lane.run.tokens[pos];
    if (!token) return;
    const down = lane.text.chips[pos].getBoundingClientRect().top - box.top;
    for (const [key, other] of lanes) {
      const twin = other === lane ? null : store.twin({ run: lane.run.key, pos, round: token.round, node: null }, key);
      const chip = other.text.chips[twin?.pos ?? other.run.rounds[twin?.round ?? -1]?.start ?? -1];
      const spot = chip?.getBoundingClientRect();
      if (spot?.height)
        other.text.element.scrollTop += spot.top - other.text.element.getBoundingClientRect().top - down;
    }
  }
}

/** A bar to scroll the lanes sideways that stays above the timeline, where their own end is out of sight. The keyboard
 * comes to lanes without it.
 * @param {HTMLElement} element */
function scrollBar(element) {
  const inner = h("div");
  const bar = h("div.lanesbar", { "aria-hidden": "true", tabindex: "-1", hidden: true }, inner);
  element.after(bar);
  bar.addEventListener("scroll", () => {
    if (Math.abs(element.scrollLeft - bar.scrollLeft) > 1) element.scrollLeft = bar.scrollLeft;
  });
  return (/** @type {number} */ left, /** @type {number} */ shown, /** @type {number} */ whole) => {
    bar.hidden = whole - shown <= 1;
    inner.style.width = `${whole}px`;
    if (Math.abs(bar.scrollLeft - left) > 1) bar.scrollLeft = left;
  };
}

/** At which sides something is out of sight, from where a box is scrolled to; fractions of a pixel do not count.
 * @param {number} left @param {number} shown @param {number} whole */
export const hiddenSides = (left, shown, whole) =>
  SIDES.filter((side) => (side === "left" ? left : whole - shown - left) > 1);

/** The first of `n` growing numbers beyond a limit, asking for as few of them as can be; -1 where none is.
 * @param {number} n @param {(i: number) => number} at @param {number} limit */
export function firstBelow(n, at, limit) {
  let [low, high] = [0, n];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) > limit) high = middle;
    else low = middle + 1;
  }
  return low < n ? low : -1;
}
