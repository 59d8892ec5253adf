// @ts-check
// Which steps of which lessons are done: kept in this browser, and exported as JSON.

const KEY = "draftscope.lessons";

/** @typedef {Record<string, number[]>} Progress lesson: steps that are done, from 0, rising */

/** @returns {Progress} */
export function progress() {
  try {
    return readProgress(localStorage.getItem(KEY) ?? "");
  } catch {
    return {}; // storage may be switched off
  }
}

/** What a text says of progress; what is damaged in it is left out. @param {string} text @returns {Progress} */
export function readProgress(text) {
  /** @type {unknown} */
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    return {};
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) return {};
  const steps = (/** @type {unknown} */ given) =>
    Array.isArray(given) ? given.filter((one) => Number.isInteger(one) && one >= 0) : [];
  return Object.fromEntries(Object.entries(found).map(([name, given]) => [name, steps(given)]));
}

/** One more step is done. @param {Progress} before @param {string} lesson @param {number} step @returns {Progress} */
export function withStep(before, lesson, step) {
  const steps = new Set([...(before[lesson] ?? []), step]);
  return { ...before, [lesson]: [...steps].sort((a, b) => a - b) };
}

/** @param {string} lesson @param {number} step */
export function markDone(lesson, step) {
  try {
    localStorage.setItem(KEY, JSON.stringify(withStep(progress(), lesson, step)));
  } catch {
    // as above: the lesson goes on, and is forgotten with the page
  }
}
