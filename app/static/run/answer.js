// @ts-check
// Right or wrong in words, where the trace knows the reference answer.

/** @typedef {{right: boolean, sign: string, words: string}} Told */

/** @param {{readonly checked?: import("../types/trace.js").Checked} | null | undefined} end @returns {Told | null} */
export function answerOf(end) {
  const checked = end?.checked;
  if (!checked) return null;
  const { right, answer, reference } = checked;
  const given = answer === null ? "no answer found" : `answer ${answer}`;
  return {
    right,
    sign: right ? "✓" : "✗",
    words: right ? `✓ ${given}: right` : `✗ ${given}: wrong, it is ${reference}`,
  };
}
