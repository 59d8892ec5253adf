// @ts-check
// One lane: its header, what its text was made to begin with, and its running text.

import { nameOf } from "../columns.js";
import { h } from "../dom.js";
import { FORCED, forcedText, forcedWords, isMade, takeAway } from "../run/continue.js";
import { CanvasFlow, textOfLane } from "./canvas.js";
import { LaneHead } from "./head.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/card.js").Card} Card
 */

export class Lane {
  /** @param {Store} store @param {Run} run @param {(card: Card) => void} onTitle */
  constructor(store, run, onTitle) {
    this.run = run;
    this.head = new LaneHead(store, run, onTitle);
    this.text = textOfLane(store, run);
    this.forced = h("p.forced", { hidden: true });
    this.element = h(
      `article.lane${run.card.guarantee === "reference" ? ".reference" : ""}`,
      { "data-lane": run.key },
      this.head.element,
      this.head.fault,
      this.forced,
      this.text instanceof CanvasFlow ? this.text.bar : null,
      this.text.element,
    );
  }

  /** Draw the rounds that came since the last call. */
  grow() {
    if (this.text.done === 0) {
      this.beginning();
      this.head.settings();
    }
    this.text.grow();
    this.head.numbers();
    this.text.name(nameOf(this.text.store, this.run));
  }

  /** Show the iteration under the cursor, in a lane that is written in place. */
  turn() {
    if (this.text instanceof CanvasFlow) this.text.draw();
  }

  /** Show the rounds up to the time cursor. */
  scrub() {
    this.head.numbers();
    this.text.scrub();
  }

  /** What stood before the first token of this lane, where its beginning was forced. */
  beginning() {
    const words = forcedWords(this.run);
    this.forced.hidden = !words;
    if (!words) return;
    const { before, chosen } = forcedText(this.run);
    this.forced.title = FORCED;
    const { store } = this.text;
    const away = { type: "button", onclick: () => takeAway(store, this.run) };
    this.forced.replaceChildren(
      h("span.told", {}, words, isMade(this.run) ? h("button.v-button", away, "Take this lane away") : null),
      h("span.text", {}, before, h("b", { text: chosen })),
    );
  }
}
