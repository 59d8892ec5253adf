// @ts-check
// What a saved figure says of its runs: case or prompt, models, sampling, day. No DOM here.

import { firstWords } from "./run/choice.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/trace.js").RunStarted} Head
 */

/** The line below a figure of the runs on the stage; empty where there is none.
 * @param {Pick<Store, "lanes" | "runs" | "status">} store @param {import("./types/lab.js").Lab} [lab] */
export function captionOf(store, lab) {
  const heads = store.lanes.flatMap((key) => store.runs.get(key)?.head ?? []);
  if (!heads.length) return "";
  return [subject(heads, store.status.recorded, lab), models(heads), sampling(heads), day(heads)]
    .filter(Boolean)
    .join(" · ");
}

/** The case by its title, anything else by the first words of the prompt.
 * @param {readonly Head[]} heads @param {string | null} recorded @param {import("./types/lab.js").Lab} [lab] */
function subject(heads, recorded, lab) {
  const title = recorded && lab?.session.catalogue?.presets?.find(({ name }) => name === recorded)?.title;
  if (title) return title;
  const [first, ...others] = new Set(heads.map(({ prompt }) => prompt));
  const words = firstWords(first);
  if (!words) return "";
  return `“${words}”${others.length ? ` and ${others.length} more prompt${others.length > 1 ? "s" : ""}` : ""}`;
}

/** Target and draft models by their ids. @param {readonly Head[]} heads */
function models(heads) {
  const told = ["target", "draft"].map((role) => {
    const ids = heads.flatMap((head) => head.models[role]?.id ?? []);
    return ids.length ? `${role} ${several(ids)}` : "";
  });
  return told.filter(Boolean).join(", ");
}

/** How runs that are not greedy drew their tokens. @param {readonly Head[]} heads */
function sampling(heads) {
  const drawn = heads.filter(({ sampling: { temperature } }) => Number(temperature ?? 0) > 0);
  if (!drawn.length) return "";
  const greedy = drawn.length < heads.length ? "greedy and " : "";
  const top = (/** @type {"top_p" | "top_k"} */ name, /** @type {number} */ none) =>
    drawn.some((head) => Number(head.sampling[name] ?? none) !== none)
      ? `${name.replace("_", "-")} ${several(drawn.map((head) => head.sampling[name] ?? none))}`
      : "";
  return [
    `${greedy}temperature ${several(drawn.map((head) => head.sampling.temperature))}`,
    top("top_p", 1),
    top("top_k", 0),
    `seed ${several(drawn.map(({ seed }) => seed))}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** When they ran: a day, or the first and the last. @param {readonly Head[]} heads */
function day(heads) {
  const days = heads.flatMap(({ created }) => created?.slice(0, 10) || []).sort();
  if (!days.length) return "";
  return `recorded ${days[0]}${days[0] === days.at(-1) ? "" : ` to ${days.at(-1)}`}`;
}

/** Each once. @param {readonly unknown[]} values */
const several = (values) => [...new Set(values.map(String))].join(" and ");
