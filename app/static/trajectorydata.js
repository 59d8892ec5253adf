// The trajectories on show: a recorded example, or a live job that is still growing. No DOM here.

/** @typedef {{trajectory: number, pieces: string[], reused: number[], times: number[], first: number[], tokens: number, rounds: number,
 *   tau: number|null, seconds: number, answer: string|null, right: boolean|null, vote: any, reason: string|undefined,
 * message: string}} Row */

/** An empty job from its first message. @param {any} head */
export const fresh = (head) => ({
  ...head,
  live: true,
  methods: head.methods.map((method) => ({ ...method, rows: [] })),
});

/** Take the next message of a live job; returns the key of the method that grew. @param {any} shown
 * @param {any} message */
export function take(shown, message) {
  if (message.kind === "figure") {
    shown.figure = message.figure;
    return null;
  }
  const method = shown.methods.find((one) => one.key === message.key);
  if (!method) return null;
  const { kind, key, ...item } = message;
  if (kind === "start") method.rows.push({ ...item, reused: [], times: [], first: [] });
  else if (kind === "row") method.rows[method.rows.length - 1] = item;
  else if (kind === "round") {
    const row = method.rows.at(-1);
    row.pieces.push(...item.pieces);
    for (const name of ["reused", "times", "first"]) row[name].splice(item.from, Infinity, ...item[name]);
    row.tau = item.tau;
  }
  return key;
}

/** Share of a row's tokens that lie in an n-gram of at least `order`. @param {Row} row @param {number} order */
export const reusedShare = (row, order) =>
  row.reused.length ? row.reused.filter((n) => n >= order).length / row.reused.length : null;
