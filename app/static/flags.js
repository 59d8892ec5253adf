// @ts-check
// Flags on positions of a run: importance, by what swapping did (mined labels) and by what a judge thought
// (`node.judge`), and the visitor's own reviews.

import { columns } from "./columns.js";
import { h } from "./dom.js";
import { importance } from "./draw.js";
import { flagMark } from "./flagmarks.js";
import { swapOf } from "./mined.js";
import { onReviews } from "./review/reviews.js";
import { reviewsAt } from "./review/runreviews.js";

/**
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/lab.js").Lab} Lab
 * @typedef {import("./types/workshop.js").Item} Item
 * @typedef {{items: readonly Item[], final: readonly number[], same: number, next: number}} Followed
 *   a set's items of the run's prompt; the run is the mined response up to `same`, items before `next` are placed
 * @typedef {{kind: "mined" | "judge" | "review", important: boolean, words: string, item: Item | null}} Flag
 */

const WAIT = 1200; // ms after the page stands, before the recorded sets are read
/** @type {WeakMap<Run, {version: number, prompt: string | undefined, sets: Followed[], at: Map<number, Item>}>} */
const known = new WeakMap();
/** @type {import("./types/workshop.js").Mined | null} */
let mined = null;
let version = 0;
/** Whether the recorded sets are read; until then nobody knows what they say.
 * @type {"read" | "loading" | "failed"} */
let labels = "read";

/** Keep flags up to date with the mined sets that are loaded; says so on the topic "flags".
 * @param {import("./types/store.js").Store} store @param {Lab} lab */
export function watchFlags(store, lab) {
  const { mined: sets } = lab;
  mined = sets;
  labels = "loading";
  const settle = (/** @type {typeof labels} */ now) => {
    labels = now;
    store.emit("flags");
  };
  sets.on(() => {
    version += 1;
    const all = sets.list?.every(({ name }) => sets.sets.has(name));
    if (labels === "failed" && all) labels = "read"; // by the Judge room
    store.emit("flags");
  });
  onReviews(() => store.emit("flags"));
  const off = store.on("status", () => {
    if (store.status.phase !== "done") return;
    off();
    setTimeout(
      () =>
        sets
          .recorded()
          .then((list) => Promise.all(list.map((set) => sets.open(set.name))))
          .then(
            () => settle("read"),
            (error) => {
              console.warn(`mined sets: ${error.message}`);
              settle("failed");
            },
          ),
      WAIT,
    );
  });
}

/** Mined labels by position, as far as the run follows the response that they were mined on. A swap that kept the
 * answer stays in the mined response, so that a run may leave it there; labels of naive mining then speak for the rest.
 * @param {Run} run @returns {Map<number, Item>} */
function minedOf(run) {
  let state = known.get(run);
  if (!state || state.version !== version || state.prompt !== run.head?.prompt) {
    const sets = run.head && mined ? mined.of(run.head.prompt, run.head.models.target) : [];
    state = {
      version,
      prompt: run.head?.prompt,
      sets: sets.map((items) => ({ items, final: items[0].prompt.final, same: 0, next: 0 })),
      at: new Map(),
    };
    known.set(run, state);
  }
  for (const set of state.sets) follow(run, set, state.at);
  return state.at;
}

/** @param {Run} run @param {Followed} set @param {Map<number, Item>} at */
function follow(run, set, at) {
  const { final, items } = set;
  while (set.same < final.length && run.tokens[set.same]?.token === final[set.same]) set.same += 1;
  const reach = Math.min(set.same, run.tokens.length - 1);
  for (; set.next < items.length && items[set.next].label.t <= reach; set.next += 1) {
    const { t } = items[set.next].label;
    if (!at.has(t)) at.set(t, items[set.next]);
  }
}

/** The flags of a position. @param {Run} run @param {number} pos
 * @returns {Flag[]} */
export function flagsAt(run, pos) {
  /** @type {Flag[]} */
  const flags = [];
  const item = minedOf(run).get(pos);
  if (item) {
    const { label } = item;
    const how = item.naive ? "here alone, with no swap before it" : "here";
    const became = label.important
      ? `${label.target_answer ?? "none"} became ${label.draft_answer ?? "none"}`
      : "stayed";
    flags.push({
      kind: "mined",
      important: label.important,
      item,
      words: `Mined: ${swapOf(label)} was tried ${how}; the answer ${became}.`,
    });
  }
  const node = columns(run)[pos]?.node;
  if (node?.judge != null && node.state !== "accepted") {
    const important = node.state !== "relaxed";
    const decision = important ? "rejected as important" : "let pass as not important";
    flags.push({
      kind: "judge",
      important,
      item: null,
      words: `Judge: importance ${importance(node.judge)}, ${decision}.`,
    });
  }
  for (const { verdict, note, star } of reviewsAt(run, pos)) {
    const told = [star ? "starred" : "", verdict, note].filter(Boolean).join(": ");
    flags.push({ kind: "review", important: false, item: null, words: `Your review: ${told}.` });
  }
  return flags;
}

/** @type {WeakMap<Run, {seen: number, found: boolean}>} */
const judged = new WeakMap();

/** What is said of a run without a flag. @param {boolean} [still] in a picture or on paper, where nothing more comes */
export const unflagged = (still = false) =>
  ({ read: "not judged", loading: still ? "labels not read" : "labels loading", failed: "labels not read" })[labels];

/** Whether some position has a flag. @param {Run} run @returns {boolean} */
export const flagged = (run) => minedOf(run).size > 0 || judgedIn(run);

/** Whether a judge decided somewhere; only new columns are read. @param {Run} run @returns {boolean} */
function judgedIn(run) {
  const state = judged.get(run) ?? { seen: 0, found: false };
  judged.set(run, state);
  const list = columns(run);
  for (; !state.found && state.seen < list.length; state.seen += 1) {
    const { node } = list[state.seen];
    state.found = node?.judge != null && node.state !== "accepted";
  }
  return state.found;
}

/** The marks of a position for its chip, or null. @param {Run} run @param {number} pos @returns {HTMLElement|null} */
export function flagsFor(run, pos) {
  const flags = flagsAt(run, pos);
  return flags.length
    ? h(
        "i.flags",
        { title: flags.map((flag) => flag.words).join("\n") },
        flags.map((flag) => flagMark(flag.kind, flag.important, flag.words)),
      )
    : null;
}

/** The flags of these runs with their words. @param {Iterable<Run>} runs
 * @returns {{kind: "mined" | "judge", important: boolean, words: string}[]} */
export function flagKey(runs) {
  const shown = [...runs];
  /** @param {"mined" | "judge"} kind @param {[string, string]} words */
  const both = (kind, words) => words.map((one, i) => ({ kind, important: i === 0, words: one }));
  return [
    ...(shown.some((run) => minedOf(run).size > 0)
      ? both("mined", ["the draft's token changes the answer", "the answer stays"])
      : []),
    ...(shown.some(judgedIn) ? both("judge", ["judge: important", "judge: let pass"]) : []),
  ];
}

/** The key to the signs of these runs. @param {Iterable<Run>} runs @returns {HTMLElement} */
export const flagLegend = (runs) =>
  h(
    "span.flaglegend",
    { "aria-label": "Flags of importance" },
    flagKey(runs).map(({ kind, important, words }) => h("span", {}, flagMark(kind, important), words)),
  );

/** The flags of a position in words; a mined one opens its fork. @param {Run} run @param {number|null} pos
 * @param {Lab} [lab] @returns {HTMLElement[]} */
export function flagLines(run, pos, lab) {
  if (pos == null) return [];
  return flagsAt(run, pos).map(({ kind, important, words, item }) =>
    h(
      "p.flagline",
      {},
      flagMark(kind, important),
      h("span", {}, words),
      lab && (item || kind === "review") ? opener(item, lab) : null,
    ),
  );
}

/** The button of a flag: to the mined fork, or to the visitor's review. @param {Item | null} item @param {Lab} lab */
const opener = (item, { ui }) =>
  h(
    "button.v-button",
    { type: "button", onclick: () => (item ? ui.open("workshop", item.key) : ui.open("notes")) },
    item ? "Open the fork" : "Open the review",
  );
