// The guided tour: eight steps that drive the real page on a recorded run.

import { h } from "./dom.js";

const rejection = (store) => {
  for (const run of store.runs.values())
    for (const round of run.rounds) {
      const tip = round.path.at(-1) ?? -1;
      const node = round.nodes.findIndex((item) => item.parent === tip && item.state === "rejected");
      if (node >= 0 && round.index > 2) return { run: run.key, round: round.index, node };
    }
  return null;
};

const STEPS = [
  [
    "lanes",
    "Two ways to write the same text",
    "Each lane is one method on the same prompt. The reference asks the large model for one token a call. The others let a small draft guess first and ask the large model once for several guesses.",
    (store) => (store.setOption("stage", "text"), store.clear(), store.setTime({ at: Infinity, playing: false })),
  ],
  [
    "lanes",
    "A round",
    "Let us go back to the fifth target call. A thin bar marks where a round starts. Plain decoding has five tokens by now; look how far the others are.",
    (store) => store.setTime({ mode: "calls", at: 5, playing: false }),
  ],
  [
    "timeline",
    "The same on the clock",
    "Fewer calls is not yet faster: guesses cost time too. On the wall clock every recorded round takes as long as it took. Play it, or drag the dot.",
    (store) => store.setTime({ mode: "clock", at: store.span("clock") / 3, playing: false }),
  ],
  [
    "lanes",
    "Ghosts",
    "Struck words are guesses that were refused, shown where they would have stood. A box is the target's correction, a plus its bonus after a round without refusals.",
    (store) => (store.setTime({ mode: "calls", at: Infinity }), store.setOption("ghosts", true)),
  ],
  [
    "inspector",
    "Why this token",
    "Here is a refused guess. One sentence says in the rule's own terms what happened, with its numbers; the bars show what the draft and the target thought.",
    (store) => (store.setOption("ghosts", true), rejection(store) && store.setCursor(rejection(store))),
  ],
  [
    "stage/score",
    "Every method on one axis",
    "One band a method, one column a position: decisions, both entropies, overlap, drafts. Rejections gather where the models are unsure. Drag across the bands to keep a range in view.",
    (store) => (store.setHover(null), store.setOption("stage", "score")),
  ],
  [
    "verdict",
    "Did it pay off?",
    "The verdict is made of measured numbers only: tokens a call, what a guess costs, and the main cause when speculation loses. There are presets where it does.",
    (store) => store.clear(),
  ],
  [
    "runbar",
    "Your turn",
    "Choose a preset or write a prompt, add a method, press Run. Step shows one target call at a time. The address bar always holds a link to what you see.",
    (store) => store.setOption("ghosts", false),
  ],
];

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
    "aside.tour",
    { role: "dialog", "aria-label": "Guided tour" },
    h("header", {}, count, h("button.plain", { onclick: end, "aria-label": "End the tour" }, "End")),
    title,
    text,
    h("div.row", {}, back, next),
  );
  const escape = (event) => event.key === "Escape" && (event.stopPropagation(), end());

  function end() {
    box.remove();
    removeEventListener("keydown", escape, true);
    document.querySelector(".spot")?.classList.remove("spot");
  }
  function show(step) {
    if (step >= STEPS.length) return end();
    at = Math.max(0, step);
    const [view, heading, words, act] = STEPS[at];
    count.textContent = `${at + 1} of ${STEPS.length}`;
    title.textContent = heading;
    text.textContent = words;
    back.disabled = at === 0;
    next.textContent = at === STEPS.length - 1 ? "Done" : "Next";
    document.querySelector(".spot")?.classList.remove("spot");
    act(store);
    const spot = document.querySelector(`[data-view="${view}"]`);
    spot?.classList.add("spot");
    if (view !== "timeline")
      spot?.scrollIntoView({
        block: "center",
        behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
      });
  }
  element.append(box);
  addEventListener("keydown", escape, true);
  show(0);
  next.focus();
}
