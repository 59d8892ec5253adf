// @ts-check
// Which methods run, as plain data: lanes in, lanes out. No DOM here.

import { count } from "../dom.js";

/**
 * @typedef {import("../types/wire.js").LaneRequest} Lane
 * @typedef {import("../types/wire.js").PageCard} PageCard
 */

/** In the order in which families are listed. @type {Readonly<Record<string, string>>} */
export const FAMILIES = {
  baseline: "Baseline",
  chain: "Chains",
  tree: "Trees",
  lookup: "Lookup",
  judge: "Judges",
  "non-autoregressive": "Non-autoregressive",
  composed: "Composed",
};

/** @param {string} method @returns {Lane} */
export const plainLane = (method) => ({ method, knobs: {} });

/** With the method when it was not there, without its last lane when it was. @param {readonly Lane[]} lanes
 * @param {string} method */
export function toggled(lanes, method) {
  const at = lanes.findLastIndex((lane) => lane.method === method);
  return at < 0 ? [...lanes, plainLane(method)] : lanes.filter((_, i) => i !== at);
}

/**
 * Lanes of these methods, at most so many; a method that was there before keeps its settings, and what was composed by
 * hand stays behind them.
 * @param {readonly string[]} methods
 * @param {readonly Lane[]} before
 * @param {number} most
 * @param {readonly PageCard[]} [composed] what was composed by hand
 * @returns {Lane[]}
 */
export function lanesOf(methods, before, most, composed = []) {
  const own = before.filter((lane) => composed.some((card) => card.name === lane.method)).slice(0, most);
  const found = methods.slice(0, most - own.length);
  return [...found.map((method) => before.find((lane) => lane.method === method) ?? plainLane(method)), ...own];
}

/** How far a card's name or title is from what is searched: the same 0, begins so 1, holds it 2, else 3.
 * @param {PageCard} card @param {string} search */
function farness({ name, title }, search) {
  const sought = search.trim().toLowerCase();
  const names = [name.toLowerCase(), title.toLowerCase()];
  if (names.includes(sought)) return 0;
  if (names.some((one) => one.startsWith(sought))) return 1;
  return names.some((one) => one.includes(sought)) ? 2 : 3;
}

/**
 * Cards by family that hold every word of the search in name, title, family, parts or first sentence. Those whose name
 * or title is nearest to it come first, and with them their family.
 * @param {readonly PageCard[]} cards
 * @param {string} search
 * @returns {[family: string, cards: PageCard[]][]}
 */
export function families(cards, search = "") {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  /** @param {PageCard} card */
  const found = (card) => {
    const { name, title, family, drafter, shape, rule, guarantee, paper } = card;
    const group = FAMILIES[family] ?? family;
    const text = [name, title, group, drafter, shape, rule, guarantee, paper, firstSentence(card.summary)].join(" ");
    return words.every((word) => text.toLowerCase().includes(word));
  };
  const order = [...new Set([...Object.keys(FAMILIES), ...cards.map((card) => card.family)])];
  const near = (/** @type {PageCard} */ a, /** @type {PageCard} */ b) => farness(a, search) - farness(b, search);
  return order
    .map(
      (family) =>
        /** @type {[string, PageCard[]]} */ ([family, cards.filter((c) => c.family === family && found(c)).sort(near)]),
    )
    .filter(([, members]) => members.length > 0)
    .sort(([, [a]], [, [b]]) => near(a, b));
}

const MODELS = [
  { family: "decoder-only", label: "Decoder-only" },
  { family: "encoder-decoder", label: "Encoder-decoder: read a source first" },
  { family: undefined, label: "Known once loaded" },
];

/** Pairs of models by family, in the order in which families are listed.
 * @param {readonly string[]} models @param {import("../types/wire.js").Catalogue["families"]} families
 * @returns {[label: string, models: string[]][]} */
export const byFamily = (models, families) =>
  MODELS.map(
    ({ family, label }) =>
      /** @type {[string, string[]]} */ ([label, models.filter((name) => families[name] === family)]),
  ).filter(([, names]) => names.length > 0);

/** @param {string} text */
export const firstSentence = (text) => text.match(/^.*?[.:](?=\s|$)/s)?.[0].replace(/:$/, ".") ?? text;

/** The first words of a text in at most so many characters. @param {string} text @param {number} most */
export function firstWords(text, most = 60) {
  const line = text.replace(/\s+/g, " ").trim();
  if (line.length <= most) return line;
  const cut = line.slice(0, most);
  return `${cut.slice(0, cut.includes(" ") ? cut.lastIndexOf(" ") : most)} …`;
}

/**
 * What is set, in a few words: models, sampling, seed, number of methods.
 * @param {import("../types/lab.js").Config} config
 * @returns {string[]}
 */
export function settingsInWords({ models, temperature, top_p, top_k, seed, lanes, max_new_tokens, chat }) {
  const sampled = [`temperature ${temperature}`, top_p < 1 && `top-p ${top_p}`, top_k > 0 && `top-k ${top_k}`];
  return [
    models,
    temperature === 0 ? "greedy" : sampled.filter(Boolean).join(", "),
    `seed ${seed}`,
    `up to ${count(max_new_tokens, "token")}`,
    chat ? "chat" : "",
    count(lanes.length, "method"),
  ].filter(Boolean);
}
