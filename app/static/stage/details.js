// @ts-check
// The details dock: right or below, as wide or tall as somebody drags it, hidden by one key.

import { h } from "../dom.js";
import { chorded } from "../typing.js";

/** How large the dock may be at each side, in pixels, and where the browser keeps it. */
const SIZES = {
  right: { kept: "draftscope.details", usual: () => 400, least: 300, most: () => 760, name: "Width of the details" },
  bottom: {
    kept: "draftscope.details.tall",
    usual: () => Math.min(300, Math.round(innerHeight * 0.28)), // of a phone the stage keeps most
    least: 120,
    most: () => Math.max(160, Math.round(innerHeight * 0.55)),
    name: "Height of the details",
  },
};

const [SETTLES, AGAIN] = [3000, 250]; // ms after a choice until the page is laid out, and between two looks
const EDGE = 12; // pixels that the chosen token keeps from the details below it

/** Where the chosen token is in each view; the first that is there.
 * @type {Readonly<Record<import("../types/store.js").Options["stage"], readonly string[]>>} */
const CHOSEN = {
  text: [".lane .sel"],
  score: [".score .box.chosen:not([hidden])"],
  trees: [".card.focus [data-here]", ".card.focus"],
  shares: [],
};

/** @param {HTMLElement} element @param {import("../types/store.js").Store} store */
export function mount(element, store) {
  const dock = /** @type {HTMLElement} */ (element.closest(".details"));
  const main = /** @type {HTMLElement} */ (dock.parentElement);
  const timeline = document.querySelector(".dock");
  const page = /** @type {HTMLElement} */ (main.closest("[data-lab]") ?? main);
  /** How much of the window the timeline covers; where that is low, none (drawers.css). */
  const covered = () => Number.parseFloat(getComputedStyle(main).getPropertyValue("--timeline")) || 0;
  const wide = () => main.clientWidth >= 1180;
  const sizes = { right: read("right"), bottom: read("bottom") };
  const grip = h("div.grip", { role: "separator", tabindex: "0" });
  const hide = h("button.v-button", {
    type: "button",
    text: "Hide",
    "aria-keyshortcuts": "h",
    onclick: () => toggle(),
  });
  const side = h("button.v-button", {
    type: "button",
    onclick: () => store.setOption("details", place() === "right" ? "bottom" : "right"),
  });
  const show = h("button.v-button", {
    type: "button",
    text: "Details",
    hidden: true,
    "aria-keyshortcuts": "h",
    onclick: () => toggle(),
  });
  element.append(grip, h("b", {}, "Details"), h("span.v-view", {}, side, hide));
  // over the stage it would lie on the switches of the strip
  document.querySelector(".stagebar")?.append(h("span.v-view.showspot", {}, show));

  /** Where the dock is: what was chosen, else by the room there is. */
  function place() {
    return store.options.details === "auto" ? (wide() ? "right" : "bottom") : store.options.details;
  }

  function toggle() {
    const here = [hide, show].some((button) => button === document.activeElement);
    store.setOption("details", store.options.details === "hidden" ? "auto" : "hidden");
    if (here) (place() === "hidden" ? show : hide).focus(); // on a button that is not shown the keyboard would be lost
  }

  function draw() {
    const [was, at] = [main.dataset.details, place()];
    main.dataset.details = at;
    if (was && was !== at) uncoverLater(); // below, they may cover the token
    main.toggleAttribute("data-chosen", store.cursor !== null);
    show.hidden = at !== "hidden";
    side.textContent = at === "right" ? "Below" : "Beside";
    side.setAttribute("aria-description", at === "right" ? "Put the details below" : "Put the details at the right");
    if (at === "hidden") return;
    const { least, most, name } = SIZES[at];
    const now = Math.min(sizes[at], most());
    main.style.setProperty(at === "right" ? "--details" : "--details-tall", `${now}px`);
    grip.setAttribute("aria-label", name);
    grip.setAttribute("aria-orientation", at === "right" ? "vertical" : "horizontal");
    grip.setAttribute("aria-valuemin", String(least));
    grip.setAttribute("aria-valuemax", String(most()));
    grip.setAttribute("aria-valuenow", String(now));
  }

  /** Scroll the page so that the chosen token is in sight, also where details lie over the stage. Beside them, only
   * one that is out of sight altogether is fetched, and none while somebody looks at what is below the stage. */
  function uncover() {
    const { stage, beside } = store.options;
    const at = place();
    if (main.dataset.details !== at) return draw(); // the page has just become narrower; then there is another look
    const spot = CHOSEN[stage]
      .map((one) => main.querySelector(one))
      .find(Boolean)
      ?.getBoundingClientRect();
    if (!store.cursor || !spot?.height || beside) return; // a lesson scrolls by itself
    const free = innerHeight - covered() - (at === "bottom" ? dock.offsetHeight : 0);
    const pane = main.querySelector(`[data-stage="${stage}"]`)?.getBoundingClientRect();
    const away =
      at === "bottom"
        ? spot.top < EDGE || spot.bottom > free - EDGE
        : stage !== "text" && (spot.bottom < EDGE || spot.top > free - EDGE) && (pane?.bottom ?? 0) > EDGE;
    if (away) scrollBy({ top: (spot.top + spot.bottom - free) / 2 });
  }
  /** After the views have brought the token into their own view, one that has just been opened too. */
  const uncoverLater = () => requestAnimationFrame(() => requestAnimationFrame(uncover));

  /** @param {number} to pixels */
  function resize(to) {
    const at = place();
    if (at === "hidden") return;
    const { least, most, kept } = SIZES[at];
    sizes[at] = Math.round(Math.max(least, Math.min(most(), to)));
    draw();
    try {
      localStorage.setItem(kept, String(sizes[at]));
    } catch {
      // storage may be switched off; the size then lasts until the page is closed
    }
  }

  grip.addEventListener("pointerdown", (event) => {
    grip.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  grip.addEventListener("pointermove", (event) => {
    if (!grip.hasPointerCapture(event.pointerId)) return;
    if (place() === "right") resize(main.getBoundingClientRect().right - event.clientX);
    else resize(dock.getBoundingClientRect().bottom - event.clientY);
  });
  grip.addEventListener("keydown", (event) => {
    const at = place();
    /** @type {Partial<Record<string, number>>} */
    const keys = at === "right" ? { ArrowLeft: 24, ArrowRight: -24 } : { ArrowUp: 24, ArrowDown: -24 };
    const by = { Home: -Infinity, End: Infinity, ...keys }[event.key];
    if (!by || at === "hidden" || chorded(event)) return;
    event.preventDefault();
    event.stopPropagation();
    resize(sizes[at] + by);
  });
  store.on("options", (name) => {
    if (name === "details") draw();
    if (name === "stage") store.frame("details:view", uncoverLater);
  });
  let settled = 0; // when; at once where somebody scrolls or types
  let timer = 0;
  /** Again while the page is laid out: what is drawn late would cover the token. */
  function watch() {
    uncoverLater();
    clearTimeout(timer);
    if (performance.now() < settled) timer = setTimeout(watch, AGAIN);
  }
  store.on("cursor", () => {
    settled = performance.now() + SETTLES;
    store.frame("details", () => {
      draw();
      watch();
    });
  });
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"])
    addEventListener(kind, () => (settled = 0), { capture: true, passive: true });
  new ResizeObserver(draw).observe(main);
  if (timeline)
    new ResizeObserver(() => page.style.setProperty("--timeline", `${timeline.clientHeight}px`)).observe(timeline);
  draw();
}

/** The size that somebody gave the dock, else the usual one. @param {"right" | "bottom"} at */
function read(at) {
  const { kept, usual } = SIZES[at];
  try {
    return Number(localStorage.getItem(kept)) || usual();
  } catch {
    return usual();
  }
}
