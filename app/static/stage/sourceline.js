// @ts-check
// The source line above the lanes: what the encoder read. Its words light up as the token in focus looked at them.

import { h } from "../dom.js";
import { percent } from "../draw.js";
import { lookedAt, sharesOf, wordsOf } from "../looks.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 */

/** @type {import("../types/lab.js").Mount} */
export function mount(element, store) {
  const text = h("p.sourcetext");
  const said = h("p.sourcesaid");
  const line = [h("span.sourcename", {}, "Source"), text, said];
  /** @type {{run: Run | null, words: import("../looks.js").Word[], parts: HTMLElement[]}} */
  let shown = { run: null, words: [], parts: [] };

  function draw() {
    const focus = store.focus();
    const run = sourced(store, focus?.run);
    if (!run) {
      shown = { run, words: [], parts: [] };
      element.replaceChildren();
      return;
    }
    if (run !== shown.run) write(run);
    if (!text.isConnected) element.replaceChildren(...line);
    const token = focus?.run === run.key ? store.token(focus) : null;
    const looks = token && token.round === focus?.round ? token.looks : null;
    const shares = sharesOf(shown.words, looks);
    const most = Math.max(...shares, 1e-9);
    shown.parts.forEach((part, i) => {
      part.classList.toggle("lit", shares[i] > 0);
      part.style.setProperty("--share", String(shares[i] / most));
      part.title = shares[i] > 0 ? `${percent(shares[i])} of the attention` : "";
    });
    said.textContent = looks ? `${token?.piece.trim()} looked at ${lookedAt(run, looks)}` : hint(run);
  }

  /** @param {Run} run */
  function write(run) {
    const words = wordsOf(run);
    shown = { run, words, parts: words.map((word) => h("span.sourceword", { text: word.text })) };
    text.replaceChildren(...shown.parts);
  }

  const later = () => store.frame("sourceline", draw);
  for (const topic of /** @type {const} */ (["runs", "data", "cursor", "hover", "status"])) store.on(topic, later);
  draw();
}

/** The run whose source is shown: the one in focus, else the first that has a source.
 * @param {Store} store @param {string | undefined} key */
function sourced(store, key) {
  const own = store.runs.get(key ?? "");
  if (own?.head?.source) return own;
  return [...store.runs.values()].find((run) => run.head?.source) ?? null;
}

/** What to do, or why there is nothing to see. @param {Run} run */
const hint = (run) =>
  run.tokens.length && !run.tokens.some((token) => token.looks)
    ? "This run did not record where its tokens looked."
    : "Point at a token to see which words it looked at.";
