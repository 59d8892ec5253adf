// @ts-check
// Mined sets: the files of `python -m engine mine` as items, one a mismatch, and which of them are loaded.

import { visible } from "./dom.js";
import { wrongHead, wrongPrompt } from "./minedcheck.js";

const LARGEST = 20_000_000; // characters of one file

/**
 * @typedef {import("./types/workshop.js").Item} Item
 * @typedef {import("./types/workshop.js").Mined} Mined
 * @typedef {import("./types/workshop.js").MinedHead} MinedHead
 * @typedef {import("./types/workshop.js").NamedModel} NamedModel
 * @typedef {import("./types/workshop.js").MinedPrompt} MinedPrompt
 * @typedef {import("./types/workshop.js").MinedSet} MinedSet
 * @typedef {import("./types/mining.js").Label} Label
 */

/** The head, prompts and items of a mined file. Lines of live mining that are no prompts are passed over.
 * @param {string} text JSON lines @param {string} name
 * @returns {MinedSet} */
export function readMined(text, name) {
  if (text.length > LARGEST) throw new Error(`${name} is larger than ${LARGEST / 1e6} MB, which is the limit.`);
  const lines = text
    .split("\n")
    .filter((line) => line.trim())
    .map((line, i) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new Error(`${name}, line ${i + 1} is not JSON.`);
      }
    });
  const [head, ...rest] = lines;
  if (head?.kind !== "mining" || head.schema !== 1)
    throw new Error(`${name} is no mined file: its first line must be {"kind": "mining", "schema": 1, ...}.`);
  const wrong = wrongHead(head);
  if (wrong) throw new Error(`${name} cannot be shown: ${wrong}.`);
  const set = emptySet(name, head);
  for (const prompt of rest) addPrompt(set, prompt);
  return set;
}

/** A set without prompts. @param {string} name @param {MinedHead} head @returns {MinedSet} */
export const emptySet = (name, head) => ({ name, head, prompts: [], items: [] });

/** Add a finished prompt; one that is there already is replaced.
 * @param {MinedSet} set @param {Partial<MinedPrompt> | null | undefined} given a line of a file */
export function addPrompt(set, given) {
  if (given?.kind !== "prompt" || !Array.isArray(given.labels) || !Array.isArray(given.final))
    throw new Error(`${set.name} holds a line that is no mined prompt.`);
  const prompt = /** @type {MinedPrompt} */ (given);
  const wrong = wrongPrompt(prompt);
  if (wrong) throw new Error(`${set.name} cannot be shown: ${wrong}.`);
  const same = (/** @type {MinedPrompt} */ other) => other.prompt === prompt.prompt;
  set.prompts = [...set.prompts.filter((other) => !same(other)), prompt];
  const items = [
    ...set.items.filter((item) => !same(item.prompt)),
    ...prompt.labels.map((label) => itemOf(set, prompt, label)),
  ];
  set.items = items.map((item, index) => (item.index === index ? item : { ...item, index }));
}

/** @param {MinedSet} set @param {MinedPrompt} prompt @param {Label} label @returns {Item} */
function itemOf(set, prompt, label) {
  const { task, naive = false } = set.head;
  return {
    key: [task, naive ? "each" : "running", prompt.key, label.t, label.target_token, label.draft_token].join("|"),
    set: set.name,
    task,
    naive: Boolean(naive),
    prompt,
    label,
    index: 0,
  };
}

/** Piece of a token of a label, its id where it has no text. @param {Label} label @param {"target"|"draft"} who
 * @returns {string} */
export const pieceOfLabel = (label, who) => label[`${who}_piece`] || `#${label[`${who}_token`]}`;

/** The tokens of a label: "the → a", white space made visible. @param {Label} label @returns {string} */
export const swapOf = (label) => `${visible(pieceOfLabel(label, "target"))} → ${visible(pieceOfLabel(label, "draft"))}`;

/** The response up to the swap, as text. @param {Item} item @returns {string} */
export const before = (item) => (item.prompt.pieces ?? []).slice(0, item.label.t).join("");

/** Whether two models, as heads name them, are one; who is not named may be.
 * @param {NamedModel} [a] @param {NamedModel} [b] @returns {boolean} */
const sameModel = (a, b) =>
  !a || !b || (a.revision && b.revision ? a.revision === b.revision : !a.id || !b.id || a.id === b.id);

/** Where two texts first differ, moved back to the start of a word; -1 when they are the same.
 * @param {string} a @param {string} b @returns {number} */
export function firstDifference(a, b) {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i += 1;
  if (i === a.length && i === b.length) return -1;
  while (i > 0 && /[\w.]/.test(a[i - 1])) i -= 1;
  return i;
}

/** The loaded sets: `list` what the server has, `sets` what is here; views subscribe.
 * @param {import("./types/lab.js").Api} api */
export function createMined(api) {
  /** @type {Set<() => void>} */
  const listeners = new Set();
  /** @type {Map<string, MinedSet>} */
  const sets = new Map();
  /** Those on their way: two rooms may ask for one. @type {Map<string, Promise<MinedSet>>} */
  const reading = new Map();
  /** @type {Promise<NonNullable<Mined["list"]>> | undefined} */
  let asked;
  /** @type {{-readonly [K in keyof Mined]: Mined[K]}} */
  const mined = {
    list: null,
    sets,
    shown: "",
    on: (hear) => {
      listeners.add(hear);
      return () => {
        listeners.delete(hear);
      };
    },
    emit: () => {
      for (const hear of listeners) hear();
    },
    recorded() {
      asked ??= api.get("mined").then(
        (body) => {
          mined.list = body.sets;
          return body.sets;
        },
        (error) => {
          asked = undefined; // who asks next may have more luck
          throw error;
        },
      );
      return asked;
    },
    async open(name) {
      const set = sets.get(name);
      if (set) return set;
      const coming = reading.get(name) ?? read(name).finally(() => reading.delete(name));
      reading.set(name, coming);
      return coming;
    },
    put(set) {
      sets.set(set.name, set);
      mined.emit();
    },
    /** Naive sets come last, but the set shown first. What another target did with a swap says nothing of this one. */
    of(text, target) {
      const others = [...sets.values()].sort((a, b) => Number(a.head.naive ?? false) - Number(b.head.naive ?? false));
      const first = sets.get(mined.shown);
      return [...new Set(first ? [first, ...others] : others)]
        .filter((set) => sameModel(set.head.models?.target, target))
        .map((set) => set.items.filter((item) => item.prompt.text === text))
        .filter((items) => items.length);
    },
  };
  return mined;

  /** @param {string} name of a recorded set */
  async function read(name) {
    const answer = await api.answer(`mined?name=${encodeURIComponent(name)}`);
    const set = readMined(await answer.text(), name);
    mined.put(set);
    return set;
  }
}
