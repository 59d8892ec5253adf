// @ts-check
// The numbers of a request as fields: each refuses what the server would.

import { h } from "../dom.js";

/** @typedef {"max_new_tokens" | "temperature" | "top_p" | "top_k" | "seed"} Name */

/** @type {readonly (readonly [Name, string, Readonly<Record<string, string | number>>, string])[]} */
const NUMBERS = [
  ["max_new_tokens", "Max tokens", { min: 1, step: 1 }, "at most this many new tokens"],
  ["temperature", "Temperature", { min: 0, max: 100, step: "any" }, "0 is greedy: always the most probable token"],
  ["top_p", "Top-p", { min: 0.001, max: 1, step: "any" }, "keep the most probable tokens up to this mass; 1 keeps all"],
  ["top_k", "Top-k", { min: 0, max: 1_000_000, step: 1 }, "keep this many of the most probable tokens; 0 keeps all"],
  ["seed", "Seed", { min: 0, max: Number.MAX_SAFE_INTEGER, step: 1 }, "the same seed gives the same draws"],
];

/** @param {(partial: Partial<import("../types/lab.js").Config>) => void} edit gets a number that is allowed */
export function numberFields(edit) {
  const fields = NUMBERS.map(([name, label, bounds, help]) => {
    const input = h("input", {
      type: "number",
      required: true,
      "aria-label": label,
      "aria-description": help,
      ...bounds,
    });
    input.addEventListener("change", () => input.reportValidity() && edit({ [name]: Number(input.value) }));
    return { name, input, element: h("label.field.short", { title: help }, h("span", {}, label), input) };
  });
  return {
    elements: fields.map((field) => field.element),
    /** @param {import("../types/lab.js").Config} config */
    show(config) {
      for (const { name, input } of fields) input.value = String(config[name]);
    },
    /** @param {Name} name @param {number} limit */
    most(name, limit) {
      fields.find((field) => field.name === name)?.input.setAttribute("max", String(limit));
    },
  };
}
