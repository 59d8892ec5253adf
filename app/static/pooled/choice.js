// @ts-check
// What of pooled runs is worth showing first, and which columns say anything.

import { noTab } from "../rooms/address.js";

/** @typedef {string | number | null | (number | null)[]} Cell an interval in numbers: its mean and ends */
/** @typedef {{name: string, caption: string, columns: string[], rows: Cell[][]}} Table */

/**
 * The figures to begin with: of a method with its usual knobs, those with an entropy and a steady size first.
 * @param {Pick<import("../types/measured.js").PoolSection, "methods" | "figures">} section @param {string[]} labels
 * @returns {string}
 */
export function telling(section, labels) {
  const usual = new Map();
  for (const { method, label } of section.methods) if (!usual.has(method)) usual.set(method, label);
  const plain = labels.filter((label) => [...usual.values()].includes(label));
  /** @param {string} label */
  const weight = (label) => (section.figures[label].entropy.tcr.length ? 1 : 0) + section.figures[label].steady;
  return (plain.length ? plain : labels).reduce(
    (best, label) => (best && weight(best) >= weight(label) ? best : label),
    "",
  );
}

/** What an address asks of pooled runs that they do not have, in words; nothing where they have it.
 * @param {readonly Pick<import("../types/measured.js").PoolSection, "task" | "figures">[]} sections
 * @param {string} pool a task, and after a tilde whose figures */
export function noPool(sections, pool) {
  const [task, ...rest] = pool.split("~");
  const label = rest.join("~");
  const section = sections.find((one) => one.task === task);
  if (pool && !section)
    return noTab(
      "pool",
      task,
      sections.map((one) => one.task),
    );
  const labels = Object.keys(section?.figures ?? {});
  if (!label || labels.includes(label)) return "";
  const known = labels.map((one) => `"${one}"`); // they hold commas
  return section ? noTab(`pool of ${task}`, label, known) : "";
}

/** A table without the columns in which no row says anything. @param {Table} table @returns {Table} */
export function told(table) {
  const says = table.columns.map(
    (_, i) => !i || table.rows.some((row) => row[i] !== "–" && row[i] !== "" && row[i] != null),
  );
  /** @template T @param {T[]} cells */
  const keep = (cells) => cells.filter((_, i) => says[i]);
  return { ...table, columns: keep(table.columns), rows: table.rows.map((cells) => keep(cells)) };
}
