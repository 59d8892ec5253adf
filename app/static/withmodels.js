// @ts-check
// With which models a room works: those that are chosen in Compare.

import { h } from "./dom.js";

/** Their name; empty before the page knows any. @param {import("./types/lab.js").Session} session */
export const chosenModels = (session) => session.config?.models ?? session.catalogue?.models[0] ?? "";

/** A line that tells them, and changes with the choice until `leave` is called.
 * @param {import("./types/lab.js").Session} session */
export function withModels(session) {
  const line = h("span.quiet.withmodels");
  const leave = session.on("config", draw);
  function draw() {
    const models = chosenModels(session);
    line.textContent = models ? `Models: ${models}, as chosen in Compare.` : "";
  }
  draw();
  return { line, leave };
}
