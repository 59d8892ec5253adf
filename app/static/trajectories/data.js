// @ts-check
// The trajectories on show: a recorded example, or a live job that is still growing. No DOM here.

import { count } from "../dom.js";

/** So many of them, in words. @param {number} n */
export const trajectories = (n) => (n === 1 ? "1 trajectory" : `${n} trajectories`);

/**
 * @typedef {import("../types/trajectory.js").Shown} Shown
 * @typedef {import("../types/trajectory.js").Message} Message
 * @typedef {import("../types/trajectory.js").Row} Row
 */

/** Where trajectories come from, and how they were drawn. @param {Shown} shown */
export function factsOf({ n, temperature, max_new_tokens, seed, command, target, live, models }) {
  const limits = `at most ${count(max_new_tokens, "token")}, seed ${seed}`;
  const facts = `${trajectories(n)} a method, temperature ${temperature}, ${limits}`;
  if (command) return `Recorded (${facts}; target ${target?.id})`;
  return `${live ? "Being drawn now" : "Drawn on this page"}: ${facts}; models ${models}`;
}

/** An empty job from its first message. @param {import("../types/measured.js").TrajectoryHead} head @returns {Shown} */
export const fresh = (head) => ({
  ...head,
  live: true,
  methods: head.methods.map((method) => ({ ...method, rows: [] })),
});

/** Take the next message of a live job. @param {Shown} shown @param {Message} message */
export function take(shown, message) {
  if (message.kind === "figure") shown.figure = message.figure;
  if (!("key" in message)) return;
  const rows = shown.methods.find((one) => one.key === message.key)?.rows;
  if (!rows) return;
  const { key: _key, ...item } = message;
  if (item.kind === "start") rows.push({ ...item, pieces: [...item.pieces], reused: [], times: [], first: [] });
  else if (item.kind === "row")
    rows[rows.length - 1] = {
      ...item,
      pieces: [...item.pieces],
      reused: [...item.reused],
      times: [...item.times],
      first: [...item.first],
    };
  else {
    const row = rows[rows.length - 1];
    row.pieces.push(...item.pieces);
    for (const name of /** @type {const} */ (["reused", "times", "first"]))
      row[name].splice(item.from, Infinity, ...item[name]);
    row.tau = item.tau;
  }
}

/** Share of a row's tokens that lie in an n-gram of at least `order`. @param {Row} row @param {number} order */
export const reusedShare = (row, order) =>
  row.reused.length ? row.reused.filter((n) => n >= order).length / row.reused.length : null;
