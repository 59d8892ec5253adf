// @ts-check
// The position of the chosen token in every method, one line each.

import { nameOf } from "../columns.js";
import { h } from "../dom.js";
import { lineAt } from "./positiontable.js";

/** @param {HTMLElement} element @param {any} store */
export function mount(element, store) {
  const title = h("h3");
  const list = h("div.list");
  element.classList.add("v-view", "others");
  element.replaceChildren(title, list);

  function draw() {
    const focus = store.cursor;
    element.hidden = store.lanes.length < 2;
    title.textContent =
      focus?.pos == null ? "The same position in every method" : `Position ${focus.pos} in every method`;
    if (focus?.pos == null)
      return list.replaceChildren(
        h("p.v-empty", { text: "Choose a token: each method then tells in one line what it did there." }),
      );
    list.replaceChildren(
      ...store.lanes.map((/** @type {string} */ key) => {
        const run = store.runs.get(key);
        return h(
          "button.plain",
          {
            type: "button",
            "aria-current": key === focus.run ? "true" : null,
            onclick: () => run.tokens[focus.pos] && store.setCursor({ run: key, pos: focus.pos }),
          },
          h("b", {}, nameOf(store, run)),
          h("span", {}, lineAt(store, run, focus.pos)),
        );
      }),
    );
  }

  const later = () => store.frame("others", draw);
  for (const topic of ["runs", "cursor", "time"]) store.on(topic, later);
  store.on("data", () => store.seldom("others", draw, 400));
  later();
}
