// @ts-check
// The guided tour: eight steps that drive the real page on a recorded run.

import { h } from "./dom.js";

/** @typedef {import("./types/store.js").Store} Store */

/** The first rejection that is not at the very start. @param {Store} store */
function rejection(store) {
  for (const run of store.runs.values())
    for (const round of run.rounds) {
      const end = round.path.at(-1) ?? -1;
      const node = round.nodes.findIndex((item) => item.parent === end && item.state === "rejected");
      if (node >= 0 && round.index > 2) return { run: run.key, round: round.index, node };
    }
  return null;
}

/** A step: the view it stands at, what it says, what it does.
 * @type {{view: string, title: string, text: string[], act: (store: Store) => void}[]} */
const STEPS = [
  {
    view: "lanes",
    title: "Two ways to write the same text",
    text: [
      "Each lane is one method on the same prompt. The reference asks the large model for one token a call.",
      "The others let a small draft propose first and ask the large model once for several candidates.",
    ],
    act(store) {
      store.setOption("stage", "text");
      store.clear();
      store.setTime({ at: Infinity, playing: false });
    },
  },
  {
    view: "lanes",
    title: "A round",
    text: [
      "Let us go back to the fifth target call. A thin bar marks where a round starts.",
      "Plain decoding has five tokens by now; look how far the others are.",
    ],
    act: (store) => store.setTime({ mode: "calls", at: 5, playing: false }),
  },
  {
    view: "timeline",
    title: "The same on the clock",
    text: [
      "Fewer calls is not yet faster: drafting costs time too.",
      "On the wall clock every recorded round takes as long as it took. Play it, or drag the dot.",
    ],
    act: (store) => store.setTime({ mode: "clock", at: store.span("clock") / 3, playing: false }),
  },
  {
    view: "lanes",
    title: "Ghosts",
    text: [
      "Struck words are candidates that were rejected, shown where they would have stood.",
      "A box is the target's correction, a plus its bonus after a round without rejections.",
    ],
    act(store) {
      store.setTime({ mode: "calls", at: Infinity });
      store.setOption("ghosts", true);
    },
  },
  {
    view: "inspector",
    title: "Why this token",
    text: [
      "Here is a rejected candidate. One sentence says in the rule's own terms what happened, with its numbers;",
      "the bars show what the draft and the target thought.",
    ],
    act(store) {
      store.setOption("ghosts", true);
      const place = rejection(store);
      if (place) store.setCursor(place);
    },
  },
  {
    view: "stage/score",
    title: "Every method on one axis",
    text: [
      "One band a method, one column a position: decisions, both entropies, overlap, drafts. Rejections gather " +
        "where the",
      "models are unsure. Drag across the bands to keep a range in view.",
    ],
    act(store) {
      store.setHover(null);
      store.setOption("stage", "score");
    },
  },
  {
    view: "verdict",
    title: "Did it pay off?",
    text: [
      "The verdict is made of measured numbers only: tokens a call, what a candidate costs, and the main cause when",
      "speculation loses. There are presets where it does.",
    ],
    act: (store) => store.clear(),
  },
  {
    view: "runbar",
    title: "Your turn",
    text: [
      "Choose a preset or write a prompt, add a method, press Run. Step shows one target call at a time.",
      "The address bar always holds a link to what you see.",
    ],
    act: (store) => store.setOption("ghosts", false),
  },
];

/** @param {HTMLElement} element @param {Store} store @param {import("./types/lab.js").Lab} lab */
export async function startTour(element, store, lab) {
  const first = lab.session.catalogue?.first;
  if (first && !store.lanes.length) await lab.session.openRecorded(first);
  element.querySelector(".tour")?.remove();
  let at = 0;
  const count = h("span.quiet");
  const title = h("h3");
  const text = h("p");
  const back = h("button", { onclick: () => show(at - 1) }, "Back");
  const next = h("button.primary", { onclick: () => show(at + 1) }, "Next");
  const box = h(
    "div.tour",
    { role: "dialog", "aria-label": "Guided tour" },
    h("header", {}, count, h("button.plain", { onclick: end, "aria-label": "End the tour" }, "End")),
    title,
    text,
    h("div.row", {}, back, next),
  );
  /** @param {KeyboardEvent} event */
  const onkey = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    end();
  };
  const unmark = () => document.querySelector(".spot")?.classList.remove("spot");

  function end() {
    box.remove();
    removeEventListener("keydown", onkey, true);
    unmark();
  }
  /** @param {number} step */
  function show(step) {
    if (step >= STEPS.length) return end();
    at = Math.max(0, step);
    const { view, title: heading, text: lines, act } = STEPS[at];
    count.textContent = `${at + 1} of ${STEPS.length}`;
    title.textContent = heading;
    text.textContent = lines.join(" ");
    back.disabled = at === 0;
    next.textContent = at === STEPS.length - 1 ? "Done" : "Next";
    unmark();
    act(store);
    const spot = document.querySelector(`[data-view="${view}"]`);
    spot?.classList.add("spot");
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (view !== "timeline") spot?.scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
  }
  element.append(box);
  addEventListener("keydown", onkey, true);
  show(0);
  next.focus();
}
