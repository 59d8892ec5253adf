// @ts-check
// What tells lanes apart besides their methods and knobs: prompt, target, sampling, seed, else the file; only where
// these differ among the lanes on the stage.

import { forcedOf } from "../run.js";
import { firstWords } from "./choice.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/trace.js").RunStarted} Head
 */

const WORDS = 30; // letters of a prompt

/** @param {Head} head */
const sampling = ({ sampling: { temperature, top_p, top_k } }) =>
  [
    Number(temperature ?? 0) === 0 ? "greedy" : `temperature ${temperature}`,
    Number(top_p ?? 1) < 1 && `top-p ${top_p}`,
    Number(top_k ?? 0) > 0 && `top-k ${top_k}`,
  ]
    .filter(Boolean)
    .join(", ");

/** What a run was asked: of one with a forced beginning the prompt that stood before it, as another run has it.
 * @param {Head} head @param {readonly Head[]} heads */
function askedOf(head, heads) {
  if (!forcedOf({ head })) return head.prompt;
  const whole = heads.filter((one) => !forcedOf({ head: one }) && head.prompt.startsWith(one.prompt));
  return whole.map(({ prompt }) => prompt).sort((a, b) => b.length - a.length)[0] ?? head.prompt;
}

/** @param {Head} head */
const target = ({ models }) =>
  String(models.target?.id ?? "")
    .split("/")
    .filter(Boolean)
    .at(-1) ?? "";

/** Where a text and others part, at the start of a word. @param {string} text @param {readonly string[]} others */
function partsAt(text, others) {
  let at = 0;
  while (at < text.length && others.every((other) => other[at] === text[at])) at += 1;
  return text.lastIndexOf(" ", Math.max(0, at - 1)) + 1;
}

/** A prompt by the first words that it has not in common with all others. @param {string} prompt
 * @param {readonly string[]} prompts */
function quoted(prompt, prompts) {
  const at = partsAt(prompt, prompts);
  return `“${at ? "… " : ""}${firstWords(prompt.slice(at), WORDS)}”`;
}

/** In words, each told only where it differs; a seed only where something is drawn with it, a file only where nothing
 * else differs.
 * @param {readonly Run[]} runs on the stage @param {Run} run one of them @returns {string[]} */
export function whose(runs, run) {
  const heads = runs.flatMap(({ head }) => head ?? []);
  const { head } = run;
  if (!head || heads.length < 2) return [];
  /** @param {(head: Head) => unknown} read */
  const differ = (read) => new Set(heads.map(read)).size > 1;
  const told = [];
  const asked = heads.map((one) => askedOf(one, heads));
  if (new Set(asked).size > 1) told.push(quoted(askedOf(head, heads), asked));
  if (differ(target)) told.push(`target ${target(head)}`);
  if (differ(sampling)) told.push(sampling(head));
  const drawn = heads.some((one) => Number(one.sampling.temperature ?? 0) > 0);
  const series = heads.some((one) => typeof one.extras.trajectory === "number"); // its seeds follow from its place
  if (drawn && !series && differ((one) => one.seed)) told.push(`seed ${head.seed}`);
  if (!told.length && new Set(runs.map((one) => one.file)).size > 1) told.push(run.file);
  return told;
}
