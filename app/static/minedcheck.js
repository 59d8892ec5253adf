// @ts-check
// What a mined file must hold for its items to be drawn; the rest may be missing.

/** @typedef {Record<string, [words: string, holds: (value: any) => boolean]>} Shape */

const isText = (/** @type {unknown} */ value) => typeof value === "string";
const isWhole = (/** @type {unknown} */ value) => Number.isSafeInteger(value) && Number(value) >= 0;
/** @param {(value: any) => boolean} holds */
const maybe = (holds) => (/** @type {unknown} */ value) => value === undefined || value === null || holds(value);
const isObject = (/** @type {unknown} */ value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @type {Shape} */
const HEAD = {
  task: ["a text", isText],
  models: ["an object", maybe(isObject)],
  judge: ["an object with a number as its threshold", maybe((judge) => maybe(Number.isFinite)(judge.threshold))],
};
/** @type {Shape} */
const PROMPT = {
  prompt: ["a text", isText],
  text: ["a text", maybe(isText)],
  pieces: ["a list of texts", maybe((pieces) => Array.isArray(pieces) && pieces.every(isText))],
};
/** @type {Shape} */
const LABEL = {
  ...Object.fromEntries(["t", "target_token", "draft_token"].map((name) => [name, ["a whole number", isWhole]])),
  important: ["true or false", (value) => typeof value === "boolean"],
  ...Object.fromEntries(["target_text", "draft_text"].map((name) => [name, ["a text", isText]])),
  ...Object.fromEntries(
    ["target_piece", "draft_piece", "target_answer", "draft_answer"].map((name) => [name, ["a text", maybe(isText)]]),
  ),
  score: ["a number", maybe(Number.isFinite)],
};

/** @param {string} what @param {unknown} given @param {Shape} shape @returns {string} */
function wrong(what, given, shape) {
  if (!isObject(given)) return `${what} must be an object`;
  const found = /** @type {Record<string, unknown>} */ (given);
  const name = Object.keys(shape).find((one) => !shape[one][1](found[one]));
  return name ? `${name} of ${what} must be ${shape[name][0]}` : "";
}

/** Why a file's first line cannot be taken; empty where it can. @param {unknown} head */
export const wrongHead = (head) => wrong("its first line", head, HEAD);

/** Why a prompt with its labels cannot be taken; empty where it can.
 * @param {{labels: readonly unknown[]}} prompt */
export const wrongPrompt = (prompt) =>
  wrong("a line", prompt, PROMPT) || prompt.labels.map((label) => wrong("a label", label, LABEL)).find(Boolean) || "";
