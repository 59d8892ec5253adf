// @ts-check
// Buttons for the other tokens of a place: each makes a lane that goes on from it.

import { h } from "../dom.js";
import { pieceOf, prob } from "../draw.js";
import { alternativesAt } from "../run/continue.js";

/** @param {import("../types/store.js").Store} store
 * @param {ReturnType<typeof import("../run/continue.js").createContinuing> | undefined} continuing
 * @param {import("./subject.js").Subject} it @returns {HTMLElement[]} */
export function alternativeButtons(store, continuing, { run, pos }) {
  const found =
    continuing && pos !== null && !store.halfRound(run) ? alternativesAt(run, pos, store.options.distribution) : [];
  if (!continuing || pos === null || !found.length) return [];
  const against = continuing.hindrance(run);
  return [
    h("span", { text: "What if it had written" }),
    ...found.map(({ token, p }) =>
      h(
        "button.v-button",
        {
          type: "button",
          disabled: against !== "",
          title: against || `A new lane: the text before position ${pos}, this token, and what follows`,
          onclick: () => continuing.start(run, pos, token),
        },
        h("code", { text: pieceOf(run, token) }),
        ` ${prob(p)}`,
      ),
    ),
  ];
}
