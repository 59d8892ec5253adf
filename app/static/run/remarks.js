// @ts-check
// What a run's head says of its models: parts that are not used, drafts made otherwise, tokenizers that differ.

/** @typedef {import("../types/trace.js").RunStarted} RunStarted */

/** What is said of a head's models. @param {RunStarted} head */
const notesOf = ({ models }) => Object.values(models).flatMap(({ notes }) => (Array.isArray(notes) ? notes : []));

/** Sentences for the head of a lane; none for most runs. @param {RunStarted | null | undefined} head
 * @param {readonly RunStarted[]} [before] heads of the lanes before it: what one of the same target says of models is
 *   not said again */
export function remarksOf(head, before = []) {
  if (!head) return [];
  const told = new Set(before.filter(({ models }) => models.target?.id === head.models.target?.id).flatMap(notesOf));
  const remarks = head.extras?.adapted ? [head.extras.adapted] : [];
  /** @type {Map<string, string[]>} */
  const roles = new Map(); // by what is said of models in these roles
  for (const [role, model] of Object.entries(head.models)) {
    if (model.ids === "pieces")
      remarks.push(
        `Another tokenizer drafts: the ${model.common} of its pieces that the target has too can be drafted.`,
      );
    if (model.ids === "specials")
      remarks.push(
        "Draft and target differ in special tokens, or the draft model has fewer ids: " +
          `the ${model.common} that agree can be drafted.`,
      );
    const notes = Array.isArray(model.notes) ? model.notes : [];
    for (const note of notes) if (!told.has(note)) roles.set(note, [...(roles.get(note) ?? []), role]);
  }
  return [...remarks, ...[...roles].map(([note, whose]) => `${whose.join(" and ")}: ${note}`)];
}
