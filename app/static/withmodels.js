// @ts-check
// With which models a room works: those that are chosen in Compare.

import { h } from "./dom.js";

/** Their name; empty before the page knows any.
 * @param {Pick<import("./types/lab.js").Session, "config" | "catalogue">} session */
export const chosenModels = (session) => session.config?.models ?? session.catalogue?.models[0] ?? "";

/** Whether they read a source first; nothing where nobody knows before they are loaded.
 * @param {Pick<import("./types/lab.js").Session, "config" | "catalogue">} session */
export const familyOf = (session) => session.catalogue?.families[chosenModels(session)];

/** Those of some things that the models of a family can do: all where nobody knows the family.
 * @template {{readonly family: string}} T
 * @param {readonly T[]} things @param {string | undefined} family @returns {T[]} */
export const fitting = (things, family) => things.filter((one) => !family || one.family === family);

/** A line that tells them, and changes with the choice until `leave` is called.
 * @param {import("./types/lab.js").Session} session
 * @param {() => void} [other] hears that models of another family are chosen */
export function withModels(session, other = () => {}) {
  let family = familyOf(session);
  const line = h("span.quiet.withmodels");
  const leave = session.on("config", draw);
  function draw() {
    const models = chosenModels(session);
    line.textContent = models ? `Models: ${models}, as chosen in Compare.` : "";
    if (family === familyOf(session)) return;
    family = familyOf(session);
    other();
  }
  draw();
  return { line, leave };
}
