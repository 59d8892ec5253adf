// @ts-check
// The verdict: the engine's sentence on the selected run, its dominant cause, and how it was measured.

import { captionOf } from "./caption.js";
import { lockedRun, nameOf } from "./columns.js";
import { fresh, h } from "./dom.js";
import { perCall, times } from "./draw.js";
import { offer } from "./figure.js";
import { hush } from "./hush.js";
import { drafted, plainOf, roundsOf, summary } from "./numbers.js";
import { packed } from "./packed.js";
import { pictureOf } from "./picture.js";
import { callsSaid, callWords, tauWords } from "./run/calls.js";
import { guaranteeOf } from "./run/guarantee.js";
import { isOutside } from "./run/intro.js";
import { repeatedOf, spreadWords } from "./run/spread.js";
import { going } from "./run/waiting.js";
import { forcedOf } from "./run.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/lab.js").Lab} Lab
 * @typedef {{line: string, cause: string, how: string, id: string}} Words
 */

const LIVE_MS = 250;
const SHORT_MS = 1000; // of a run, below which one measurement says little

/** @param {HTMLElement} element @param {Store} store @param {Lab} [lab] */
export function mount(element, store, lab) {
  const point = h("p.v-verdict-point");
  const line = h("p.v-verdict-line", { role: "status" });
  const cause = h("span.v-verdict-cause");
  const how = h("span.v-verdict-how");
  hush(store, line, () => store.time.at === Infinity); // what a step of the time changes is told by the token there
  element.classList.add("v-view", "v-verdict");
  element.replaceChildren(point, line, h("p.v-verdict-small", {}, cause, how));
  const draw = () => {
    const words = verdict(store);
    const said = pointOf(store, lab);
    point.hidden = !said;
    if (point.textContent !== said) point.textContent = said;
    fresh(line, words.line, () => strong(words.line));
    cause.textContent = words.cause;
    how.textContent = `${words.how}${outside(store, lab)}`;
    element.dataset.cause = words.id;
  };
  const later = () => store.frame("verdict", draw);
  const live = () => store.seldom("verdict", draw, LIVE_MS);
  for (const topic of /** @type {const} */ (["runs", "data", "time", "status"])) store.on(topic, live);
  store.on("cursor", later);
  offer(element, lab, () => pictureOf(element, captionOf(store, lab)));
  later();
}

/** What a recorded case shows, in a sentence; empty of other runs, and once others are asked for.
 * @param {Store} store @param {Lab | undefined} lab */
const pointOf = ({ status, lanes }, lab) =>
  (lanes.length &&
    !going(status.phase) &&
    lab?.session.catalogue?.presets.find(({ name }) => name === status.recorded)?.point) ||
  "";

/** Told beside the result where the text is no problem of a kind that these models were taught.
 * @param {Store} store @param {Lab | undefined} lab */
function outside(store, lab) {
  const prompt = store.runs.get(store.lanes[0])?.head?.prompt;
  const { ran, catalogue } = lab?.session ?? {};
  const told = prompt && ran && catalogue && isOutside(catalogue, { models: ran.models, prompt });
  return told ? " The prompt is outside of what these models know." : "";
}

/** Text in which what is between double stars becomes bold. @param {string} text */
function strong(text) {
  return text.split("**").map((part, i) => (i % 2 ? h("b", { text: part }) : part));
}

/** The lane that the sentence is about: the one under the cursor if it drafts, else the fastest that does and changes
 * nothing, else the fastest; while lanes grow, and each may be the fastest for a moment, the first that drafts.
 * @param {Store} store @returns {Run | null} */
function subject(store) {
  const lanes = [...store.runs.values()].filter((run) => store.visibleRounds(run) > 0);
  const drafts = lanes.filter((run) => run.head && drafted(roundsOf(store, [run])));
  const done = store.status.phase === "done";
  const chosen = done ? store.runs.get(store.cursor?.run ?? "") : lockedRun(store);
  if (chosen && drafts.includes(chosen)) return chosen;
  const lossless = drafts.filter(({ head }) => head?.guarantee !== "lossy");
  const speed = (/** @type {Run} */ run) => summary(roundsOf(store, [run])).perSecond ?? 0;
  return (lossless.length ? lossless : drafts).sort((a, b) => speed(b) - speed(a))[0] ?? null;
}

/** The sentence, its cause and its basis: the engine's where the runs have ended and are shown whole, else numbers so
 * far. @param {Store} store @returns {Words} */
export function verdict(store) {
  const run = subject(store) ?? lockedRun(store);
  if (!run || !store.visibleRounds(run)) return EMPTY;
  const again = store.time.at === Infinity ? repeatedOf(store, run.key) : null;
  const whole = again?.verdict ?? (store.time.at === Infinity && store.status.compared?.verdicts[run.key]);
  if (!whole) return soFar(store, run);
  const calls = callsSaid(store, run, whole.cause === "too early");
  const told = whole.speedup === null && whole.unsaid ? `No speed is claimed: ${whole.unsaid}.` : "";
  return {
    line: whole.line,
    cause: `${[whole.why, calls, store.status.compared?.idle?.[run.key]].filter(Boolean).join(" ")} `,
    how: again ? `${told} ${repeats(store, again)}`.trim() : told || how(store, run, plainOf(store, run)),
    id: whole.cause.replaceAll(" ", "-"),
  };
}

/** How repeated runs were measured, and what they gave.
 * @param {Store} store @param {import("./types/analysis.js").Repeated} found */
function repeats(store, found) {
  const beside = store.status.recorded ? " The lanes below are the recorded ones, with the figures of these runs." : "";
  const spreads = spreadWords({ ...found, speedup: null, tokens_per_s: null }).join("; ");
  return `Measured here in ${spreads}. Lanes in turns, prefill and drawing excluded.${beside}`;
}

const EMPTY = {
  line: "The verdict appears here: what speculation gained or lost, and why.",
  cause: "",
  how: "",
  id: "empty",
};

/** Numbers of the rounds that are shown, while a run streams or time is scrubbed. No cause: that is the engine's to
 * name. @param {Store} store @param {Run} run @returns {Words} */
function soFar(store, run) {
  const numbers = summary(roundsOf(store, [run]));
  const baseline = forcedOf(run) ? null : plainOf(store, run);
  const plain = baseline && summary(roundsOf(store, [baseline]));
  const ratio =
    numbers.drafted && numbers.perSecond && baseline && plain?.perSecond
      ? `, **${times(numbers.perSecond / plain.perSecond)}** the speed of ${nameOf(store, baseline)} so far (once)`
      : "";
  const tau = tauWords(numbers.tau, `**${perCall(numbers.tau)}**`);
  return {
    line: `${nameOf(store, run)}, ${callWords(numbers)}${tau && ": "}${tau}${ratio}.`,
    cause: "",
    how: how(store, run, baseline),
    id: "so-far",
  };
}

/** Where and how it was measured. @param {Store} store @param {Run} run @param {Run | null} baseline */
function how(store, run, baseline) {
  const place = [run.head?.device, run.head?.dtype].filter(Boolean).join(", ");
  const lossy = guaranteeOf(run).id === "changes" ? " Lossy: the text may differ from the target's own." : "";
  const day = run.head?.created?.slice(0, 10).replaceAll("-", "\u2011"); // no line ends within it
  const on = place ? ` on ${place}` : "";
  if (forcedOf(run))
    return `Measured here${on}, alone and from a forced beginning: its speed is compared with none.${lossy}`;
  if (store.status.recorded) {
    const turns = baseline && apart(run, baseline) ? ", one lane after the other" : "";
    const later = [...store.runs.values()].some(({ head }) => Number(head?.extras.trajectory ?? 0) > 0);
    const first = later
      ? " Run draws first trajectories: what earlier ones left behind is in the recording alone."
      : "";
    const place = `${day ? ` ${day}` : ""}${on || " on an unnamed device"}${turns}`;
    return `Recorded${place}; prefill excluded.${first}${lossy}`;
  }
  const cut = cutShort(store, [run, baseline]);
  const brief = baseline && short(run, baseline) ? " A short run" : "";
  if (store.status.opened) {
    const made = packed() ? `Recorded${day ? ` ${day}` : ""}` : `Opened from a file${day ? `, made ${day}` : ""}`;
    return `${made}${on}; prefill excluded.${cut || (brief && `${brief}.`)}${lossy}`;
  }
  const measured = baseline ? `Measured with rounds in turns, never two at once${on && ","}` : "Measured";
  const range = brief && `${brief}: Repeat gives a range.`;
  return `${measured}${on}; prefill and drawing excluded.${cut || range}${lossy}`;
}

/** Whether runs that have ended took so little time that another time they would take quite another.
 * @param {Run} run @param {Run} baseline */
const short = (run, baseline) => [run, baseline].every(({ end }) => end && (end.total_ms ?? Infinity) < SHORT_MS);

/** That runs did not come to their end. @param {Store} store @param {(Run | null)[]} runs */
function cutShort(store, runs) {
  const ends = runs.flatMap((run) => (run ? [run.end?.reason ?? (store.status.phase === "done" ? "lost" : "")] : []));
  if (ends.includes("stopped")) return " Stopped: told is what ran until then.";
  return ends.includes("lost") ? " Unfinished: told is what arrived." : "";
}

/** Whether two recorded runs did not overlap in time: the earlier had ended when the later began.
 * @param {Run} run @param {Run} baseline */
function apart(run, baseline) {
  const [first, second] = [run, baseline].sort((a, b) => began(a) - began(b));
  const end = began(first) + (first.end?.prefill_ms ?? NaN) + (first.end?.total_ms ?? NaN);
  return end < began(second) + 1000; // the stamps are whole seconds
}

/** When a run began, in milliseconds. @param {Run} run */
const began = (run) => Date.parse(run.head?.created ?? "");
