/** The verdict: one sentence from measured numbers, its dominant cause, and how it was measured. */

import { lockedRun, nameOf } from "./columns.js";
import { h, s } from "./dom.js";
import { FONT, fmt, percent } from "./draw.js";
import { offer, svgText } from "./figure.js";
import { byPosition, incomparable, plainOf, roundsOf, summary } from "./numbers.js";

const SAME = 0.02; // speeds closer than this are called equal
const FEW = 8; // rounds below which nothing is concluded
const LIVE_MS = 250;

/** @param {HTMLElement} element @param {any} store @param {any=} lab */
export function mount(element, store, lab) {
  const line = h("p.v-verdict-line", { role: "status" });
  const cause = h("span.v-verdict-cause");
  const how = h("span.v-verdict-how");
  element.classList.add("v-view", "v-verdict");
  element.replaceChildren(line, h("p.v-verdict-small", {}, cause, how));
  const draw = () => {
    const words = verdict(store);
    line.replaceChildren(...strong(words.line));
    cause.textContent = words.cause;
    how.textContent = words.how;
    element.dataset.cause = words.id;
  };
  const later = () => store.frame("verdict", draw);
  const live = () => store.seldom("verdict", draw, LIVE_MS);
  for (const topic of ["runs", "data", "time", "status"]) store.on(topic, live);
  store.on("cursor", later);
  offer(element, lab, () => {
    const figure = s("svg", { viewBox: "0 0 900 64" });
    [line, cause, how].forEach((part, i) =>
      figure.append(
        s("text", {
          x: 8,
          y: 20 + 18 * i,
          text: part.textContent,
          "font-family": FONT,
          "font-size": i ? 11 : 14,
          fill: i ? "var(--ink-2)" : "var(--ink)",
        }),
      ),
    );
    return svgText(figure, element);
  });
  later();
}

/** Text with what stands between double stars in bold. */
function strong(text) {
  return text.split("**").map((part, i) => (i % 2 ? h("b", { text: part }) : part));
}

/** The lane that the sentence is about: the one shown below if it drafts, else the fastest that does. */
function subject(store) {
  const lanes = store.lanes.map((key) => store.runs.get(key)).filter((run) => run && store.visibleRounds(run) > 0);
  const drafts = lanes.filter((run) => run.head && roundsOf(store, [run]).some((round) => round.drafted > 0));
  const chosen = lockedRun(store);
  if (drafts.includes(chosen)) return chosen;
  return (
    drafts.sort(
      (a, b) => (summary(roundsOf(store, [b])).perSecond ?? 0) - (summary(roundsOf(store, [a])).perSecond ?? 0),
    )[0] ?? null
  );
}

/** The sentence, its cause and its basis. @param {any} store @returns {{line: string, cause: string, how: string, id: string}} */
export function verdict(store) {
  const run = subject(store);
  if (!run) return nothing(store);
  const rounds = roundsOf(store, [run]);
  const numbers = summary(rounds);
  const name = nameOf(store, run);
  const perCall = `**${fmt(numbers.tau)}** tokens a target call`;
  const cost = numbers.costRatio === null ? "" : `; a draft step costs **${fmt(numbers.costRatio, 2)}** of one`;
  const baseline = plainOf(store, run);
  const plain = baseline ? summary(roundsOf(store, [baseline])) : null;
  const found = dominant(rounds, numbers, plain);
  const soFar = run.end ? "" : " so far";
  if (rounds.length < FEW)
    return {
      line: `${name}: ${perCall}${cost}${soFar}.`,
      cause: `Only ${rounds.length} round${rounds.length === 1 ? "" : "s"}: too few to name a cause. `,
      how: how(store, run, null),
      id: "few",
    };
  const blocked = baseline ? "" : reason(store, run);
  if (blocked || !numbers.perSecond || !plain?.perSecond) {
    return {
      line: `${name} makes ${perCall}${cost}${soFar}.`,
      cause: `${found.words} `,
      how: `No speed is claimed: ${blocked || "no times were recorded"}.`,
      id: found.id,
    };
  }
  const speed = numbers.perSecond / plain.perSecond;
  const who = nameOf(store, baseline);
  const claim =
    Math.abs(speed - 1) < SAME
      ? `is as fast as ${who}`
      : speed > 1
        ? `is **${times(speed)}** faster than ${who}`
        : `is **${times(1 / speed)}** slower than ${who}`;
  return {
    line: `${name} ${claim} here${soFar}: ${perCall}${cost}.`,
    cause: `${found.words} `,
    how: how(store, run, baseline),
    id: found.id,
  };
}

/** Why there is no lane to compare with. */
function reason(store, run) {
  const other = store.lanes
    .map((key) => store.runs.get(key))
    .find((one) => one?.rounds.length && one.rounds.every((round) => !round.drafted));
  return other ? `${nameOf(store, other)} has ${incomparable(run, other)}` : "no lane without a draft was run";
}

const times = (x) => `${x >= 10 ? x.toFixed(0) : x < 1.095 ? x.toFixed(2) : x.toFixed(1)}x`;

function nothing(store) {
  const run = lockedRun(store);
  const seen = run ? store.visibleRounds(run) : 0;
  if (!run || !seen)
    return {
      line: "The verdict appears here: what speculation gained or lost, and why.",
      cause: "",
      how: "",
      id: "empty",
    };
  const numbers = summary(roundsOf(store, [run]));
  return {
    line: `${nameOf(store, run)}: **${fmt(numbers.tau)}** tokens a target call.`,
    cause: "Speculation inactive: nothing was drafted. ",
    how: how(store, run, null),
    id: "inactive",
  };
}

/** Leading draft positions that pay: kept(d) tokens for one more draft step, against tokens a millisecond now. */
function worthwhile(marginal, numbers) {
  if (!numbers.perSecond || numbers.step === null) return 0;
  const first = marginal.findIndex((share) => share <= (numbers.perSecond / 1000) * numbers.step);
  return first < 0 ? marginal.length : first;
}

/** What decides the speed most, in words; the order and limits are those of engine/analysis/verdict.py. */
function dominant(rounds, numbers, plain) {
  const total = numbers.draft + numbers.verify + numbers.other || 1;
  const [draft, other] = [numbers.draft / total, numbers.other / total];
  const active = numbers.drafting / rounds.length;
  const call = plain?.call ? numbers.call / plain.call : 1;
  const gain = plain?.perSecond ? numbers.perSecond / plain.perSecond : numbers.tau * (1 - draft - other);
  const { marginal } = byPosition(rounds);
  const worth = worthwhile(marginal, numbers);
  const costly = { id: "draft", words: `Draft too costly: it takes ${percent(draft)} of the time.` };
  const overhead = { id: "overhead", words: `Overhead-bound: ${percent(other)} of the time is in neither model.` };
  if (active < 0.1)
    return { id: "inactive", words: `Speculation inactive: ${percent(active)} of the calls had a draft.` };
  if (other >= 0.25 && other > draft) return overhead;
  if (gain < 1 && numbers.costRatio >= 0.3) return costly;
  if (gain < 1 && call >= 1.5)
    return {
      id: "call",
      words: `Target call too costly: over a draft of ${fmt(numbers.drafted / numbers.drafting)} guesses it takes ${fmt(call, 2)} plain ones.`,
    };
  if (worth === 0)
    return {
      id: "acceptance",
      words: `Acceptance is too low from the first position on: kept in ${percent(marginal[0])} of the rounds, less than a draft step costs.`,
    };
  if (worth < marginal.length)
    return {
      id: "acceptance",
      words: `Acceptance falls after position ${worth}: position ${worth + 1} is kept in ${percent(marginal[worth])} of the rounds, less than its draft step costs.`,
    };
  if (gain >= 1 - SAME)
    return {
      id: "pays",
      words: `Every draft position pays for itself, up to position ${marginal.length} (kept in ${percent(marginal.at(-1))} of the rounds).`,
    };
  return other > draft ? overhead : costly;
}

function how(store, run, baseline) {
  const place = [run.head?.device, run.head?.dtype].filter(Boolean).join(", ");
  const lossy = run.head?.guarantee === "lossy" ? " Lossy: the text may differ from the target's own." : "";
  const recorded = store.status?.recorded;
  if (recorded)
    return `Recorded${run.head?.created ? ` ${run.head.created.slice(0, 10)}` : ""} on ${place || "an unnamed device"}${baseline && apart(run, baseline) ? ", one lane after the other" : ""}; prefill excluded.${lossy}`;
  return `${baseline ? "Measured with rounds in turns, never two at once" : "Measured"}${place ? ` on ${place}` : ""}; prefill and drawing excluded.${lossy}`;
}

/** Whether two recorded runs did not overlap in time: the earlier had ended when the later began. */
function apart(run, baseline) {
  const [first, second] = [run, baseline].sort((a, b) => Date.parse(a.head.created) - Date.parse(b.head.created));
  const end = Date.parse(first.head.created) + (first.end?.prefill_ms ?? NaN) + (first.end?.total_ms ?? NaN);
  return end < Date.parse(second.head.created) + 1000; // the stamps are whole seconds
}
