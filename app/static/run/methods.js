// @ts-check
// The methods of a comparison: a chip for each, the picker, and a form of their knobs.

import { count, h, tell } from "../dom.js";
import { icon } from "../icons.js";
import { knobForm } from "../knobform.js";
import { methodPicker } from "../picker.js";
import { refocused } from "../refocus.js";
import { plainLane } from "./choice.js";
import { composedCards } from "./composer.js";
import { popover } from "./popover.js";

/** @typedef {import("../types/wire.js").LaneRequest} Lane */

/** @param {import("../types/lab.js").Lab} lab
 * @param {(partial: { lanes: readonly Lane[] }, redraw?: boolean) => void} edit */
export function methodChoice(lab, edit) {
  const { session } = lab;
  const composed = composedCards(lab);
  let open = false; // the form of the knobs
  /** @type {Map<string, import("../knobform.js").Typed>} */
  const typed = new Map(); // by place and method of a lane
  const lanes = () => session.config?.lanes ?? [];
  const names = () => lanes().map((lane) => lane.method);
  /** @param {string} name */
  const card = (name) =>
    [...(session.catalogue?.methods ?? []), ...composed.of(names())].find((item) => item.name === name);

  const chips = h("div.chips", { role: "group", "aria-label": "Methods" });
  const told = h("span.unseen", { role: "status" });
  const add = h("button.plain.add", {}, icon("plus"), "Choose methods");
  const settings = h("div.settings", { hidden: true });
  const toggle = h(
    "button.plain",
    { "aria-expanded": "false", onclick: toggleSettings },
    icon("sliders"),
    "Method settings",
  );
  const picker = methodPicker(
    lab,
    () => composed.of(names()),
    (chosen) => edit({ lanes: chosen }),
  );
  const { anchor, close } = popover(add, picker.element, { opening: picker.draw, opened: picker.focus });

  function show() {
    showChips();
    if (open) showSettings();
    void learn();
  }

  /** The cards of composed methods are of the models that are chosen. */
  async function learn() {
    if (await composed.learn(names())) showAll();
  }

  function showAll() {
    showChips();
    if (open) showSettings();
    if (picker.element.isConnected) picker.draw();
  }

  /** The place of a method that is taken away has the next one, then. */
  function showChips() {
    const held = [...chips.children].findIndex((chip) => chip.contains(document.activeElement));
    chips.replaceChildren(
      ...lanes().map((lane, i) => {
        const unknown = { title: lane.method, guarantee: "", unavailable: "" };
        const { title, guarantee, unavailable } = card(lane.method) ?? composed.misfit(lane.method) ?? unknown;
        const moved = Object.keys(lane.knobs).length;
        const words = `${count(moved, "setting")} changed`;
        return h(
          `span.chip.${guarantee}${unavailable ? ".unable" : ""}`,
          { title: unavailable || null },
          unavailable ? h("span.unseen", {}, "Cannot run on these models: ") : null,
          h("span.name", {}, title, moved ? h("i", { role: "img", "aria-label": words }, String(moved)) : null),
          h(
            "button.plain",
            { "aria-label": `Remove ${title}`, onclick: () => change(lanes().toSpliced(i, 1), `${title} removed`) },
            icon("close"),
          ),
        );
      }),
    );
    if (held >= 0) ([...chips.querySelectorAll("button")].slice(0, held + 1).at(-1) ?? add).focus();
  }

  /** Other lanes, by a button beside the list of methods. @param {readonly Lane[]} to @param {string} what */
  function change(to, what) {
    edit({ lanes: to });
    tell(told, `${what}: ${count(to.length, "method")}`);
  }

  function showSettings() {
    refocused(settings, fillSettings);
  }

  function fillSettings() {
    settings.replaceChildren(
      ...lanes().flatMap((lane, at) => {
        const found = card(lane.method);
        if (!found) return [];
        const part = knobForm(found, lane.knobs, (knobs) => setKnobs(at, knobs), typedIn(`${at} ${lane.method}`));
        const another = () => change([...lanes(), plainLane(lane.method)], `${found.title} added`);
        part.append(h("button.plain.again", { onclick: another }, "Add a lane of this method"));
        return [part];
      }),
    );
  }

  /** @param {string} lane */
  function typedIn(lane) {
    const known = typed.get(lane) ?? new Map();
    typed.set(lane, known);
    return known;
  }

  /** The forms hold the focus: only the counts beside the names are drawn anew. @param {number} at
   * @param {Lane["knobs"]} knobs */
  function setKnobs(at, knobs) {
    edit({ lanes: lanes().map((lane, i) => (i === at ? { ...lane, knobs } : lane)) }, false);
    showChips();
  }

  function toggleSettings() {
    open = !open;
    toggle.setAttribute("aria-expanded", String(open));
    settings.hidden = !open;
    if (open) showSettings();
  }

  session.on("methods", () => {
    showAll();
    void learn();
  });
  return {
    element: h("div.how", {}, h("span.label", {}, "Methods"), anchor, chips, told),
    toggle,
    settings,
    show,
    close,
  };
}
