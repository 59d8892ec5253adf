/** Mined sets: the files of `python -m engine mine` as items, one a mismatch, and which of them are loaded. */

const LARGEST = 20_000_000; // characters of one file

/** @typedef {{key: string, set: string, task: string, naive: boolean, prompt: any, label: any, index: number}} Item */

/** The head, prompts and items of a mined file. Lines of live mining that are no prompts are passed over.
 * @param {string} text JSON lines @param {string} name
 * @returns {{name: string, head: any, prompts: any[], items: Item[]}} */
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
  const set = emptySet(name, head);
  for (const prompt of rest) addPrompt(set, prompt);
  return set;
}

/** A set without prompts. @param {string} name @param {any} head */
export const emptySet = (name, head) => ({ name, head, prompts: [], items: [] });

/** Add a finished prompt; one that is there already is replaced. @param {any} set @param {any} prompt */
export function addPrompt(set, prompt) {
  if (prompt?.kind !== "prompt" || !Array.isArray(prompt.labels) || !Array.isArray(prompt.final))
    throw new Error(`${set.name} holds a line that is no mined prompt.`);
  const same = (other) => other.prompt === prompt.prompt;
  set.prompts = [...set.prompts.filter((other) => !same(other)), prompt];
  set.items = [
    ...set.items.filter((item) => !same(item.prompt)),
    ...prompt.labels.map((label) => itemOf(set, prompt, label)),
  ];
  set.items.forEach((item, i) => (item.index = i));
}

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

/** Piece of a token of a label, its id where it has no text. @param {any} label @param {"target"|"draft"} who
 * @returns {string} */
export const pieceOfLabel = (label, who) => label[`${who}_piece`] || `#${label[`${who}_token`]}`;

/** The response up to the swap, as text. @param {Item} item @returns {string} */
export const before = (item) => (item.prompt.pieces ?? []).slice(0, item.label.t).join("");

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
  const listeners = new Set();
  const mined = {
    list: null,
    sets: new Map(),
    shown: "",
    on: (fn) => (listeners.add(fn), () => listeners.delete(fn)),
    emit: () => listeners.forEach((fn) => fn()),
    /** The recorded sets, once. */
    async recorded() {
      mined.asked ??= api.get("mined").then((body) => (mined.list = body.sets));
      return mined.asked;
    },
    /** A recorded set by name. */
    async open(name) {
      if (!mined.sets.has(name))
        mined.sets.set(
          name,
          readMined(await (await api.answer(`mined?name=${encodeURIComponent(name)}`)).text(), name),
        );
      mined.emit();
      return mined.sets.get(name);
    },
    put(set) {
      mined.sets.set(set.name, set);
      mined.emit();
    },
    /** What is known of a prompt, a list of items for each set that holds it: naive ones last, but the set shown first.
     * @param {string} text @returns {Item[][]} */
    of(text) {
      const others = [...mined.sets.values()].sort((a, b) => Boolean(a.head.naive) - Boolean(b.head.naive));
      const sets = new Set([mined.sets.get(mined.shown), ...others].filter(Boolean));
      return [...sets]
        .map((set) => set.items.filter((item) => item.prompt.text === text))
        .filter((items) => items.length);
    },
  };
  return mined;
}
