// @ts-check
// The text that a draft token was copied from: where it stood, with the run of tokens that matched.

import { h, inText } from "./dom.js";
import { pieceOf } from "./draw.js";
import { givenOf } from "./looks.js";
import { sourceOf, sourceWords } from "./source.js";

const AROUND = 8;

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/trace.js").Node} Node
 * @typedef {import("./source.js").Source} Source
 */

/** @typedef {{words: string, pieces: string[], low: number, high: number, at: number, prompt: number,
 *   ago: number|null}} Passage  pieces of the whole text; [low, high) matched; at is the copied token (it may lie past
 *   the end); the first `prompt` pieces are the prompt */

/** The passage of a draft token, or null when its source has no place, or the trace lacks the text.
 * @param {Run} run @param {Node | null | undefined} node @returns {Passage|null} */
export function passageOf(run, node) {
  const source = sourceOf(node);
  if (!source || source.pos === undefined || source.pos < 0) return null;
  const words = sourceWords(source, givenOf(run));
  const step = source.step ?? 0;
  if (source.passage) {
    const pieces = source.passage.map((id) => run.pieces.get(id) ?? pieceOf(run, id));
    return { words, pieces, ...range(source, source.here ?? 0, step), prompt: 0, ago: null };
  }
  if (!source.part) return null;
  const prompt = run.head?.prompt_pieces ?? [];
  const { ago = 0 } = source; // how many trajectories before this one
  const response = ago === 0 ? run.tokens.map((token) => token.piece) : earlierOf(run)[trajectoryOf(run) - ago];
  if (!response && source.part === "response") return null;
  const at = source.part === "prompt" ? source.pos : prompt.length + source.pos;
  return { words, pieces: [...prompt, ...(response ?? [])], ...range(source, at, step), prompt: prompt.length, ago };
}

/** The pieces of earlier trajectories of the problem, where the run's head holds them. @param {Run} run */
const earlierOf = (run) => /** @type {readonly (readonly string[])[]} */ (run.head?.extras?.earlier ?? []);

/** Which trajectory of its problem a run is, from 0. @param {Run} run @returns {number} */
const trajectoryOf = (run) => Number(run.head?.extras?.trajectory ?? 0);

/** @param {Source} source @param {number} at @param {number} step */
function range(source, at, step) {
  if (source.kind === "adjacency") return { low: at, high: at + 1, at: at + 1 };
  const length = source.order ?? source.match ?? 0;
  return { low: Math.max(0, at - step - length), high: at - step, at };
}

/** The passage as an element, cut to the neighbourhood unless `whole`. @param {Passage} passage
 * @param {boolean=} whole */
export function passageText({ pieces, low, high, at }, whole = false) {
  const from = whole ? 0 : Math.max(0, low - AROUND);
  const to = whole ? pieces.length : Math.min(pieces.length, at + AROUND + 1);
  const text = (/** @type {number} */ a, /** @type {number} */ b) =>
    inText(pieces.slice(Math.max(from, a), Math.min(to, b)).join(""));
  const copied =
    pieces[at] === undefined
      ? ""
      : h("b.copied", { title: "the place that the draft token was copied from" }, text(at, at + 1));
  return h(
    "span.passage",
    {},
    from > 0 ? "…" : "",
    text(from, low),
    h("mark", {}, text(low, high)),
    text(high, at),
    copied,
    text(at + 1, to),
    to < pieces.length ? "…" : "",
  );
}

/** The lane that shows a passage's text, or null. @param {Store} store @param {Run} run @param {Passage} passage */
export function laneOf(store, run, { ago, pieces, prompt, at }) {
  if (ago === null || at < prompt) return null;
  if (ago === 0) return run;
  const wanted = trajectoryOf(run) - ago;
  const same = (/** @type {Run} */ one) =>
    one.head?.method === run.head?.method &&
    one.head?.prompt === run.head?.prompt &&
    one.head?.extras?.trajectory === wanted;
  return (
    [...store.runs.values()].find(
      (one) => same(one) && one.tokens.map((token) => token.piece).join("") === pieces.slice(prompt).join(""),
    ) ?? null
  );
}

/** The whole text in a box of its own, scrolled to the place. @param {Passage} passage @param {string} title */
export function openPassage(passage, title) {
  const text = h("p.passage-text", { tabindex: 0 }, passageText(passage, true));
  /** @type {HTMLDialogElement} */
  const dialog = h(
    "dialog.passage-box",
    { "aria-label": title },
    h("header", {}, h("h3", {}, title), h("button.plain", { onclick: () => dialog.close() }, "Close")),
    h("p.quiet", {}, passage.words),
    text,
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.querySelector("[data-lab]")?.append(dialog);
  dialog.showModal();
  const mark = dialog.querySelector("mark");
  mark?.scrollIntoView({ block: "center" });
  mark?.classList.add("found");
  text.focus();
}

/** Go to where a draft token comes from: in a lane if one shows it, else in a box. False when there is nothing to go
 * to. @param {Store} store @param {import("./types/lab.js").Lab} lab */
export function followSource(store, lab) {
  const sel = store.cursor ?? store.focus();
  const run = sel && store.runs.get(sel.run);
  const passage = run && passageOf(run, store.node(sel));
  if (!passage) return false;
  const lane = laneOf(store, run, passage);
  let shown = false;
  if (lane)
    lab.ui.emit("flash", {
      key: lane.key,
      from: Math.max(0, passage.low - passage.prompt),
      to: Math.min(passage.at, passage.pieces.length - 1) - passage.prompt,
      found: () => {
        shown = true;
      },
    });
  if (shown) return true;
  openPassage(
    passage,
    passage.ago === null
      ? "In the fixed collection"
      : passage.at < passage.prompt
        ? `In the ${givenOf(run)}`
        : `In trajectory ${trajectoryOf(run) - passage.ago + 1}`,
  );
  return true;
}
