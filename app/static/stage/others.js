// @ts-check
// The position of the chosen token in every method, one line each; of the token that the inspector shows while none is.

import { nameOf, resolve } from "../columns.js";
import { h } from "../dom.js";
import { across } from "../run.js";
import { lineAt } from "./positiontable.js";

/** @param {HTMLElement} element @param {import("../types/store.js").Store} store */
export function mount(element, store) {
  const title = h("h3");
  const list = h("div.list");
  element.classList.add("v-view", "others");
  element.replaceChildren(title, list);

  function draw() {
    const at = store.cursor ? null : resolve(store, {});
    const focus = store.cursor ?? (at && { run: at.run.key, pos: at.pos });
    element.hidden = store.lanes.length < 2;
    title.textContent =
      focus?.pos == null ? "The same position in every method" : `Position ${focus.pos} in every method`;
    const { run: own, pos } = focus ?? { run: "", pos: null };
    if (pos === null)
      return list.replaceChildren(
        h("p.v-empty", { text: "Choose a token: each method then tells in one line what it did there." }),
      );
    const from = store.runs.get(own);
    list.replaceChildren(
      ...store.lanes.flatMap((key) => {
        const run = store.runs.get(key);
        if (!run || !from) return [];
        const there = across(from, run, pos);
        return h(
          "button.plain",
          {
            type: "button",
            "aria-current": key === own ? "true" : null,
            onclick: () => run.tokens[there] && store.setCursor({ run: key, pos: there }),
          },
          h("b", {}, nameOf(store, run)),
          h("span", {}, lineAt(store, run, there)),
        );
      }),
    );
  }

  const later = () => store.frame("others", draw);
  for (const topic of /** @type {const} */ (["runs", "cursor", "time"])) store.on(topic, later);
  store.on("data", () => store.seldom("others", draw, 400));
  later();
}
