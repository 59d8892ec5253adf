// @ts-check
// Whether a learner's answer is right, as engine/learn/lessons.py decides it. The answers come with the lesson.

/**
 * @typedef {import("../types/wire.js").PageTask} PageTask
 * @typedef {{round?: number | null, node?: number | null, pos?: number | null}} Selected
 */

const NEARLY = 1e-9;

/**
 * `given` is the index of an option, a number, a selected place, or a value of the knob.
 * @param {PageTask} task @param {number | Selected} given
 */
export function isRight(task, given) {
  if (typeof given === "object") return task.kind === "select" && (task.answers ?? []).some((one) => same(one, given));
  if (!Number.isFinite(given)) return false;
  if (task.kind === "choice") return task.options?.[given]?.right ?? false;
  if (task.kind === "predict") return Math.abs(given - (task.answer ?? Number.NaN)) <= (task.tolerance ?? 0) + NEARLY;
  return task.kind === "set" && countAt(task, given) === task.want;
}

/** How many draft tokens have the state at a value of the knob; null outside of what was counted.
 * @param {PageTask} task @param {number} value */
export function countAt({ counts = [] }, value) {
  const last = counts.at(-1);
  if (!last || value > last[0] + NEARLY) return null;
  return counts.findLast(([from]) => from <= value + NEARLY)?.[1] ?? null;
}

/** @param {import("../types/wire.js").LearnPlace} place @param {Selected} given */
function same(place, given) {
  if (place.round !== given.round) return false;
  if (place.node === null || given.node == null) return place.pos === given.pos;
  return place.node === given.node;
}
