// @ts-check
// The text of a lane that is written in place: the canvas after one iteration, coloured by the iteration that last
// wrote each place, with a bar that steps through them.

import { placeChip } from "../chips.js";
import { h, tell } from "../dom.js";
import { still } from "../hush.js";
import { cellAt, inPlace, iterations, iterationWords, scaleOf, shownRound } from "../run/canvas.js";
import { LaneFlow } from "./flow.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 */

/** The text of a lane: running, or in place. @param {Store} store @param {Run} run */
export const textOfLane = (store, run) => (inPlace(run) ? new CanvasFlow(store, run) : new LaneFlow(store, run));

export class CanvasFlow extends LaneFlow {
  /** what is drawn: the round, its place in time, and how its chips are told */
  stamp = "";

  /** @param {Store} store @param {Run} run */
  constructor(store, run) {
    super(store, run);
    const turn = (/** @type {-1 | 1} */ by) => () => this.step(by);
    this.back = h("button.plain", { type: "button", text: "‹", onclick: turn(-1) });
    this.next = h("button.plain", { type: "button", text: "›", onclick: turn(1) });
    this.said = h("span.said", { "aria-live": "polite" });
    this.scale = h("span.scale", { "aria-label": "Colours: the iteration that last wrote a place", role: "img" });
    /** Above the text. */
    this.bar = h("div.canvasbar", { hidden: true }, this.back, this.next, this.said, this.scale);
    this.sheet = h("div.canvas", { role: "presentation" });
    this.element.append(this.sheet);
  }

  /** Draw what came since the last call. @override */
  grow() {
    this.done = this.run.rounds.length;
    this.shown = this.store.visibleRounds(this.run);
    this.draw();
  }

  /** Show what the time shows, or the iteration under the cursor. @override */
  scrub() {
    this.shown = this.store.visibleRounds(this.run);
    this.draw();
  }

  /** Draw everything anew. @override */
  again() {
    this.stamp = "";
    this.draw();
    this.flag();
  }

  draw() {
    const { run, store } = this;
    const at = shownRound(store, run);
    const round = run.rounds[at];
    const total = iterations(run);
    const stamp = JSON.stringify([at, total, store.options.whitespace]);
    if (this.stamp === stamp) return;
    this.stamp = stamp;
    this.bar.hidden = !round;
    this.chips = [];
    if (!round) {
      this.sheet.replaceChildren();
      return;
    }
    const { whitespace } = store.options;
    const places = round.canvas?.length ?? round.tokens.length;
    for (let i = 0; i < places; i += 1)
      this.chips[round.start + i] = placeChip(run, at, round.start + i, total, whitespace);
    const bare = round.canvas ? [] : [h("p.told", { text: "Recorded lightly: what stood here was not kept." })];
    this.sheet.replaceChildren(...this.chips.filter(Boolean), ...(places ? [] : bare));
    this.flagsDone = 0;
    if (round.tokens.length) this.flag();
    this.dim();
    this.tellBar(at, total);
  }

  /** @param {number} at the round that is shown @param {number} total iterations */
  tellBar(at, total) {
    const { run } = this;
    this.said.ariaLive = still(this.store) ? "polite" : "off";
    tell(this.said, iterationWords(run.rounds[at], total));
    this.back.disabled = at <= 0;
    this.next.disabled = at >= run.rounds.length - 1;
    this.back.setAttribute("aria-label", "The iteration before");
    this.next.setAttribute("aria-label", "The next iteration");
    const scale = scaleOf(total);
    const words = `Colours by the iteration that last wrote a place: ${scale.map(({ words }) => words).join(", ")}`;
    this.scale.setAttribute("aria-label", words);
    this.scale.title = `${words}. Underlined: written by the iteration that is shown.`;
    this.scale.replaceChildren(
      "written in ",
      ...scale.map(({ step, words }) => h(`span.placed.w${step}`, { text: words })),
    );
  }

  /** To another iteration: the cursor goes there, at the place where it is. @param {-1 | 1} by */
  step(by) {
    const { run, store } = this;
    const to = shownRound(store, run) + by;
    const round = run.rounds[to];
    if (!round) return;
    const own = store.cursor?.run === run.key ? store.cursor.pos : null;
    const pos = cellAt(round, own) ? own : round.start;
    if (to >= store.visibleRounds(run)) store.setTime({ mode: "calls", at: to + 1, playing: false });
    store.setCursor({ run: run.key, round: to, pos, node: null });
  }

  /** Places are no stretches of lines. @override @returns {HTMLElement[]} */
  cuts() {
    return [];
  }

  /** Nothing of a draft stands here. @override */
  half() {}

  /** Height of the whole text, in pixels. @override */
  get height() {
    return this.sheet.offsetTop + this.sheet.offsetHeight + 18;
  }
}
