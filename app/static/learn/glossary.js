// @ts-check
// Every word of the page; typing narrows the list.

import { samples } from "../columns.js";
import { count, h } from "../dom.js";
import { importance, nats, prob } from "../draw.js";
import { addressOf, notHere } from "./places.js";
import { prose } from "./prose.js";

/**
 * @typedef {import("../types/wire.js").Word} Word
 * @typedef {import("../types/store.js").Store} Store
 */

/** Words that a search finds: those whose name holds it first, then those whose text does.
 * @param {readonly Word[]} words @param {string} sought */
export function found(words, sought) {
  const plain = sought.trim().toLowerCase();
  if (!plain) return [...words];
  const named = words.filter(({ term }) => term.toLowerCase().includes(plain));
  const told = words.filter((word) => !named.includes(word) && textOf(word).includes(plain));
  return [...named, ...told];
}

/** @param {Word} word */
const textOf = ({ text, names }) => `${text.replaceAll(/<[^>]*>/g, "")} ${names.join(" ")}`.toLowerCase();

/** @param {HTMLElement} element @param {Store} store @param {import("../types/lab.js").Lab} lab */
export async function drawGlossary(element, store, lab) {
  const { words } = await lab.api.get("glossary");
  const list = h("dl.glossary");
  const told = h("p.quiet", { role: "status" });
  const search = h("input", {
    type: "search",
    placeholder: "Search the words of this page",
    "aria-label": "Search the glossary",
    oninput: () => show(),
  });
  const items = new Map(words.map((word) => [word, item(word, store)]));
  function show() {
    const some = found(words, search.value);
    list.replaceChildren(...some.map((word) => items.get(word) ?? ""));
    told.textContent = some.length ? count(some.length, "word") : `No word here has “${search.value.trim()}” in it.`;
  }
  const chosen = words.find(({ anchor }) => anchor === store.options.name);
  element.append(notHere("word", store.options.name, Boolean(chosen)), h("div.learn-search", {}, search, told), list);
  show();
  if (!chosen) return search.focus({ preventScroll: true });
  const spot = items.get(chosen);
  spot?.classList.add("chosen");
  spot?.scrollIntoView({ block: "center" });
  const term = spot?.querySelector("dt");
  if (!term) return;
  term.tabIndex = -1; // keys go on from the word
  term.focus({ preventScroll: true });
}

/** @param {Word} word @param {Store} store */
function item(word, store) {
  return h("div", { id: `word-${word.anchor}` }, h("dt", {}, word.term), h("dd", {}, meaning(word, store)));
}

/** The entry of a word where it stands on the page. @param {Word} word @param {Store} store */
export const entry = (word, store) => [
  h("h3", {}, word.term),
  ...meaning(word, store),
  h("p", {}, h("a", { href: addressOf("glossary", word.anchor) }, "In the glossary")),
];

/** What a word means: its text, its formula with the selected token's numbers, and where to read on.
 * @param {Word} word @param {Store} store */
function meaning(word, store) {
  const see = word.see.map(({ name, title }) => {
    const method = name.startsWith("methods/") ? name.slice("methods/".length) : "";
    return h("a", { href: method ? addressOf("methods", method) : addressOf("glossary", name) }, title);
  });
  return [
    prose(word.text),
    word.formula ? h("div.formula", {}, prose(word.formula)) : null,
    values(word, store),
    see.length ? h("p.see", {}, "See ", ...see.flatMap((link, i) => (i ? [", ", link] : [link])), ".") : null,
  ];
}

/** The symbols of a formula with the selected token's numbers. @param {Word} word @param {Store} store */
function values(word, store) {
  const place = store.cursor;
  const run = place && store.runs.get(place.run);
  const node = place && store.node(place);
  if (!run || !node) return null;
  const parts = numbersOf(word, run, node).map(([symbol, number]) =>
    h("span", {}, prose(symbol), /^[<>]/.test(number) ? ` ${number[0]} ${number.slice(1)}` : ` = ${number}`),
  );
  if (!parts.length) return null;
  return h("p.values", {}, h("i", {}, `At the selected token of ${run.card.title ?? place.run}: `), ...parts);
}

/** The numbers of a draft token that are no probabilities. @type {Readonly<Record<string, typeof prob>>} */
const FORMS = { h_draft: nats, h_target: nats, margin: nats, judge: importance };

/** Symbols and the numbers of a draft token; no draw where the run is greedy, in which it decides nothing.
 * @param {Pick<Word, "symbols">} word @param {import("../types/store.js").Run} run
 * @param {import("../types/trace.js").Node} node @returns {[symbol: string, number: string][]} */
export const numbersOf = ({ symbols }, run, node) =>
  symbols.flatMap(({ symbol, field }) => {
    const value = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (node))[field];
    const shown = typeof value === "number" && (field !== "u" || samples(run));
    return shown ? [[symbol, (FORMS[field] ?? prob)(value)]] : [];
  });
