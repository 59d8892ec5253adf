// @ts-check
// The list of methods to compare: searchable, by family, several at once; the last entry composes one from its parts.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { FAMILIES, families, firstSentence, lanesOf, plainLane, toggled } from "./run/choice.js";
import { composer } from "./run/composer.js";

/**
 * @typedef {import("./types/wire.js").PageCard} PageCard
 * @typedef {import("./types/wire.js").LaneRequest} Lane
 * @typedef {import("./types/lab.js").Lab} Lab
 */

/**
 * The popover. `change` gets the lanes after each choice; `composed` are the cards of composed methods in use.
 * @param {Lab} lab
 * @param {() => readonly PageCard[]} composed
 * @param {(lanes: Lane[]) => void} change
 */
export function methodPicker(lab, composed, change) {
  const { session } = lab;
  let active = "";
  const lanes = () => session.config?.lanes ?? [];
  const most = () => session.catalogue?.limits.lanes ?? 0;
  const methods = () => [...(session.catalogue?.methods ?? []), ...composed()];
  /** @param {PageCard} card */
  const chosen = (card) => lanes().filter((lane) => lane.method === card.name).length;
  /** @param {PageCard} card */
  const closed = (card) => !chosen(card) && (card.unavailable !== "" || lanes().length >= most());

  const search = h("input", {
    type: "search",
    role: "combobox",
    placeholder: "Search methods",
    "aria-label": "Search methods",
    "aria-expanded": "true",
    "aria-controls": "method-list",
    "aria-autocomplete": "list",
    autocomplete: "off",
    oninput: () => {
      const [[, [first]] = ["", []]] = search.value.trim() ? families(methods(), search.value) : [];
      active = first?.name ?? ""; // Enter takes it
      draw();
    },
    onkeydown: keyed,
  });
  const list = h("div.picklist", {
    id: "method-list",
    role: "listbox",
    "aria-label": "Methods",
    "aria-multiselectable": "true",
    tabindex: 0,
    onkeydown: keyed,
    onclick: (/** @type {MouseEvent} */ event) => {
      const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
      if (option instanceof HTMLElement) choose(option.dataset.method ?? "");
    },
  });
  const said = h("p.picksaid", { role: "status" });
  const quick = h("div.quick", { role: "group", "aria-label": "Choose several" });
  const compose = composer(lab, (card) => set([...lanes(), plainLane(card.name)]));
  const element = h(
    "div.methodpicker",
    { role: "dialog", "aria-label": "Methods to compare" },
    h("div.pickhead", {}, search, quick, said),
    list,
    compose.element,
  );

  function draw() {
    const top = list.scrollTop;
    const full = lanes().length >= most();
    said.textContent = `${lanes().length} chosen${full ? `; ${most()} is the most that may run together here` : ""}`;
    drawQuick();
    const groups = families(methods(), search.value);
    list.replaceChildren(
      ...groups.map(([family, cards]) =>
        h(
          "div.pickgroup",
          { role: "group", "aria-label": FAMILIES[family] ?? family },
          h("div.pickfamily", { "aria-hidden": "true" }, FAMILIES[family] ?? family),
          cards.map(option),
        ),
      ),
    );
    if (!groups.length)
      list.append(h("div.pickfamily", { role: "option", "aria-disabled": "true" }, "No method has these words."));
    list.scrollTop = top;
    point(active);
    compose.update(full);
  }

  /** @param {PageCard} card */
  function option(card) {
    const n = chosen(card);
    return h(
      "div.pick",
      {
        role: "option",
        id: optionId(card.name),
        "data-method": card.name,
        "aria-selected": n > 0 ? "true" : "false",
        "aria-disabled": closed(card) ? "true" : null,
      },
      h("span.tick", { "aria-hidden": "true" }, n > 0 ? icon("check") : null),
      h(
        "span.what",
        {},
        h(
          "span.title",
          {},
          card.title,
          h(`span.badge.${card.guarantee}`, {}, card.guarantee),
          n > 1 ? h("i", {}, `${n} lanes`) : null,
        ),
        h("span.help", {}, card.unavailable || [firstSentence(card.summary), card.here].filter(Boolean).join(" ")),
      ),
    );
  }

  /** The buttons are drawn anew only when they would do something else: a click must not take the focus away. */
  function drawQuick() {
    const picks = quickPicks();
    const said = JSON.stringify(picks);
    if (quick.dataset.picks === said) return;
    quick.dataset.picks = said;
    quick.replaceChildren(
      ...picks.map(([text, names]) => h("button.small", { onclick: () => set(picked(names)) }, text)),
    );
  }

  /** @param {string[]} names none clears all */
  const picked = (names) => (names.length ? lanesOf(names, lanes(), most(), composed()) : []);

  /** @returns {[text: string, methods: string[]][]} */
  function quickPicks() {
    const able = methods().filter((card) => !card.unavailable);
    const all = able.map((card) => card.name);
    const names = new Set(all);
    /** @type {[string, string[]][]} */
    const picks = (session.catalogue?.picks ?? []).map((pick) => [
      pick.title,
      pick.methods.filter((name) => names.has(name)),
    ]);
    return [[all.length > most() ? `First ${most()}` : `All ${all.length}`, all], ...picks, ["None", []]];
  }

  /** @param {Lane[]} next */
  function set(next) {
    change(next);
    draw();
  }

  /** @param {string} method */
  function choose(method) {
    const card = methods().find((item) => item.name === method);
    if (!card || closed(card)) return;
    active = method;
    set(toggled(lanes(), method));
  }

  /** @param {string} method */
  function point(method) {
    const options = [...list.querySelectorAll("[role=option]")];
    for (const item of options) item.classList.toggle("active", item.id === optionId(method));
    const on = options.find((item) => item.id === optionId(method));
    for (const from of [search, list]) from.setAttribute("aria-activedescendant", on ? on.id : "");
    on?.scrollIntoView({ block: "nearest" });
  }

  /** Arrow keys move, Enter chooses (so does a blank in the list). @param {KeyboardEvent} event */
  function keyed(event) {
    const names = [...list.querySelectorAll("[role=option][data-method]")].map((item) =>
      item instanceof HTMLElement ? (item.dataset.method ?? "") : "",
    );
    const at = names.indexOf(active);
    const inList = event.currentTarget === list;
    /** @type {Record<string, number>} */
    const to = {
      ArrowDown: Math.min(at + 1, names.length - 1),
      ArrowUp: Math.max(at - 1, 0),
      PageDown: Math.min(at + 6, names.length - 1),
      PageUp: Math.max(at - 6, 0),
      ...(inList ? { Home: 0, End: names.length - 1 } : {}),
    };
    if (inList && LETTER.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      search.focus(); // where it is typed
      event.stopPropagation();
      return;
    }
    if (event.key in to) active = names[to[event.key]] ?? "";
    else if (event.key === "Enter" || (inList && event.key === " ")) choose(active);
    else return;
    point(active);
    event.preventDefault();
    event.stopPropagation();
  }

  draw();
  return { element, draw, focus: () => search.focus() };
}

const LETTER = /^\S$/u;

/** @param {string} method */
const optionId = (method) => `pick-${method}`;
