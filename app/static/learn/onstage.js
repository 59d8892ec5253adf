// @ts-check
// What a method did in the runs that are on the stage now, for its page.

import { count } from "../dom.js";
import { perCall, percent, perSecond, times } from "../draw.js";
import { answerOf } from "../run/answer.js";
import { writesAlone } from "../run/calls.js";
import { draftedNothing } from "../run/guarantee.js";
import { speedOver } from "../run/spread.js";
import { partsAt, referenceOf } from "../stage/bands.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {[name: string, value: string, anchor: import("../words.js").Anchor | null]} Fact
 */

/** The lanes of a method that have rounds. @param {Store} store @param {string} method @returns {Run[]} */
export const lanesOf = (store, method) =>
  store.lanes
    .flatMap((key) => store.runs.get(key) ?? [])
    .filter((run) => run.card.name === method && run.rounds.length);

/** The numbers of a lane; what it has no value for is left out. @param {Store} store @param {Run} run
 * @returns {Fact[]} */
export function factsOf(store, run) {
  const stats = store.stats(run);
  const reference = referenceOf(store);
  const ratio = speedOver(store, run, reference);
  const parts = partsAt(store, run, reference);
  const answer = answerOf(run.end)?.words;
  const silent = draftedNothing(run);
  /** @type {(Fact | null)[]} */
  const facts = [
    stats.iterations
      ? ["iterations", String(stats.iterations), null]
      : ["target calls", String(stats.calls), "target-call"],
    writesAlone(stats) ? ["draft calls", String(stats.rounds), null] : null,
    ["tokens", String(stats.tokens), null],
    stats.tau === null ? null : ["tokens a call", perCall(stats.tau), "tau"],
    stats.drafted ? ["drafted", count(stats.drafted, "token"), "drafter"] : null,
    stats.drafted ? ["accepted", percent(stats.acceptRate), "acceptance-rate"] : null,
    stats.perSecond === null ? null : ["speed", `${perSecond(stats.perSecond)} tokens/s`, "speedup"],
    ratio ? ["against the reference", `${times(ratio)}, once`, "speedup"] : null,
    !reference || reference === run
      ? null
      : ["text", parts === null ? "the reference's" : `another from position ${parts} on`, null],
    answer ? ["answer", answer, null] : null,
    silent ? ["draft", "none: it drafted nothing", null] : null,
  ];
  return facts.filter((fact) => fact !== null);
}
