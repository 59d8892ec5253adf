// @ts-check
// Which run a run is: a short name for everything that was asked for, the same wherever it is made again.

/** @typedef {import("../types/trace.js").RunStarted} RunStarted */

/** @type {WeakMap<RunStarted, string>} */
const known = new WeakMap();

/** Method, knobs, models, prompt, sampling, seed and limits as one short word. @param {RunStarted} head */
export function identityOf(head) {
  const found = known.get(head) ?? short(asked(head));
  known.set(head, found);
  return found;
}

/** @param {RunStarted} head */
function asked({ method, knobs, models, prompt_ids, sampling, seed, max_new_tokens, stop }) {
  const ids = Object.entries(models).map(([role, { id, revision }]) => [role, id ?? "", revision ?? ""]);
  return [method, sorted(knobs), ids.sort(), prompt_ids, sorted(sampling), seed, max_new_tokens, stop];
}

/** @param {object} record */
const sorted = (record) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));

/** 53 bits of a value's JSON as base 36 (cyrb53): tells runs apart, keeps nothing secret. @param {unknown} value */
export function short(value) {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (const char of JSON.stringify(value)) {
    const code = char.codePointAt(0) ?? 0;
    a = Math.imul(a ^ code, 0x9e3779b1);
    b = Math.imul(b ^ code, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return (2 ** 32 * (b & 0x1fffff) + (a >>> 0)).toString(36);
}
