// @ts-check
// Right or wrong in words, where the trace knows the reference answer; of two long answers, the words that differ.

import { differing } from "./differing.js";

/** `words` in the room of a head, `whole` with both answers. @typedef {{right: boolean, sign: string, words: string,
 *   whole: string}} Told */

const FEW = 4; // words of an answer that is told whole

/** @param {{readonly checked?: import("../types/trace.js").Checked} | null | undefined} end @returns {Told | null} */
export function answerOf(end) {
  const checked = end?.checked;
  if (!checked) return null;
  const { right, answer, reference } = checked;
  const sign = right ? "✓" : "✗";
  const given = answer === null ? "no answer found" : `answer ${answer}`;
  const whole = `${sign} ${given}: ${right ? "right" : `wrong, it is ${reference}`}`;
  return { right, sign, words: shortOf(right, answer ?? "", reference) || whole, whole };
}

/** Two long answers in short; nothing of short ones, or of those that differ in blanks alone. @param {boolean} right
 * @param {string} answer @param {string} reference */
function shortOf(right, answer, reference) {
  const [ours, theirs] = [answer, reference].map((text) => text.trim().split(/\s+/));
  if (Math.min(ours.length, theirs.length) <= FEW) return "";
  const apart = differing(ours, theirs);
  if (right) return apart ? `✓ right, though ${apart}` : `✓ right: all ${theirs.length} words`;
  return apart && `✗ ${apart}`;
}
