// @ts-check
// What a run's head says of its models: parts that are not used, drafts made otherwise, tokenizers that differ.

/** @typedef {import("../types/trace.js").RunStarted} RunStarted */

/** Sentences for the head of a lane; none for most runs. @param {RunStarted | null | undefined} head */
export function remarksOf(head) {
  if (!head) return [];
  const remarks = head.extras?.adapted ? [head.extras.adapted] : [];
  /** @type {Map<string, string[]>} */
  const roles = new Map(); // by what is said of models in these roles
  for (const [role, model] of Object.entries(head.models)) {
    if (model.ids === "pieces")
      remarks.push(
        `Another tokenizer drafts: the ${model.common} of its pieces that the target has too can be drafted.`,
      );
    if (model.ids === "specials")
      remarks.push(`Draft and target differ in special tokens: the ${model.common} ids that agree can be drafted.`);
    const notes = Array.isArray(model.notes) ? model.notes : [];
    for (const note of notes) roles.set(note, [...(roles.get(note) ?? []), role]);
  }
  return [...remarks, ...[...roles].map(([note, whose]) => `${whose.join(" and ")}: ${note}`)];
}
