// @ts-check
// Run, Step, Stop and Repeat: what may be pressed now, and how long a run waits.

import { h, tell, tellSteps } from "../dom.js";
import { icon } from "../icons.js";
import { createRepeats, inRange, LEAST, MOST } from "./repeat.js";
import { going, loadingStep, loadingWords, waitingWords } from "./waiting.js";

const WAITING = /** @type {Record<string, string>} */ ({ queued: "Waiting…", loading: "Loading…" });

/** The buttons, and a line that says when a run's turn comes.
 * @param {import("../types/store.js").Store} store @param {import("../types/lab.js").Lab} lab
 * @param {(begin: () => Promise<boolean>) => void} go begin, where everything is set that a run needs */
export function goButtons(store, lab, go) {
  const { session } = lab;
  const repeats = createRepeats(store, lab);
  const waits = h("span.waits", { role: "status" });
  const begun = h("span.unseen", { role: "status" });
  const runWord = h("span", {}, "Run");
  const run = h(
    "button.primary",
    { onclick: () => go(session.run), "aria-keyshortcuts": "Control+Enter" },
    icon("play"),
    runWord,
  );
  const step = h("button", { onclick: () => go(session.step), "aria-keyshortcuts": "." }, icon("forward"), "Step");
  const halt = () => {
    repeats.stop();
    lab.ui.emit("halt");
    return lab.bus.stop();
  };
  const stop = h("button", { onclick: halt, disabled: true }, icon("stop"), "Stop");
  const repeatWord = h("span", {}, "Repeat"); // what is told of a run stands beside: the name of a button leaves it out
  const repeated = h("span.unseen", { role: "status" });
  const repeat = h("button.plain", { onclick: () => repeats.start(Number(often.value)) }, icon("again"), repeatWord);
  const often = h("input", {
    type: "number",
    min: LEAST,
    max: MOST,
    value: 5,
    "aria-label": "Runs of each method",
  });
  const times = h("span", { "aria-hidden": "true" }, "×");
  often.addEventListener("change", () => (often.value = String(inRange(often.value))));

  function draw() {
    const { phase, repeating, line, loading } = store.status;
    const busy = going(phase);
    const against = repeats.hindrance();
    const focused = document.activeElement;
    stop.disabled = !busy && !repeating;
    repeat.disabled = against !== "" || repeating !== null;
    // on a button that is switched off the keyboard would be lost
    if (focused === repeat && repeat.disabled) (stop.disabled ? run : stop).focus();
    if (focused === stop && stop.disabled) run.focus();
    repeat.title = against || "The shown methods again on the same prompt, for the spread of their numbers";
    const told = repeating && repeating.run >= 0 ? `${repeating.run + 1} of ${repeating.n}` : "";
    tell(repeatWord, repeating ? (told ? `Run ${told}` : "Waiting…") : "Repeat");
    tell(repeated, repeating ? `Repeat: ${told ? `run ${told}` : "waiting"}` : "");
    times.hidden = often.hidden = repeating !== null;
    const place = line && (phase === "queued" || repeating) ? waitingWords(line) : "";
    if (loading && busy) tellSteps(waits, loadingWords(loading), loadingStep(loading));
    else tellSteps(waits, place, String(line?.place));
    tell(begun, phase === "running" ? "Running" : ""); // its end is told by the verdict
    runWord.textContent = WAITING[phase] ?? "Run";
    run.classList.toggle("busy", phase in WAITING);
  }

  store.on("status", draw);
  session.on("ran", draw);
  const again = h("div.repeat", {}, repeat, times, often, repeated);
  return { element: h("div.go", {}, run, step, stop, again, begun), waits, draw };
}
