// @ts-check
// The running text of a lane: chips in rounds, those in stretches, and these in sections that are only drawn in view.
// Stretches end where a line does, so nobody sees them; they are cut when the browser has laid the text out anyway.

import { ghostChips, halfChips, tokenChip } from "../chips.js";
import { count, h } from "../dom.js";
import { prob } from "../draw.js";
import { flagsFor } from "../flags.js";
import { stepOf, stepWords } from "../run/steps.js";
import { TOKENS } from "../typing.js";
import { lineStarts, trimStart } from "./text.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 */

const STRETCH = 40; // chips that a change may lay out again
const SECTION = 4; // stretches

/** Rounds in a row without tokens, which share one mark. @typedef {{mark: HTMLElement, first: number, last: number}}
 *   Silence */

export class LaneFlow {
  /** rounds that are drawn, and rounds that the time cursor shows */
  done = 0;
  shown = 0;
  /** chips by position @type {HTMLElement[]} */
  chips = [];
  /** the parts of each round @type {HTMLElement[][]} */
  rounds = [];
  /** by round, where it has no tokens @type {Silence[]} */
  silences = [];
  /** what grows, and its chips @type {HTMLElement | null} */
  stretch = null;
  count = 0;
  /** tokens that have their flags */
  flagsDone = 0;
  dimmed = false;
  /** the round that has begun @type {HTMLElement | null} */
  begun = null;
  /** the end of the text is in view; followed by scroll events, so that growing never asks for a layout */
  atEnd = true;

  /** @param {Store} store @param {Run} run */
  constructor(store, run) {
    this.store = store;
    this.run = run;
    this.element = h("div.flow", {
      role: "listbox",
      tabindex: 0,
      "data-key": run.key,
      [TOKENS]: true,
    });
    this.element.addEventListener(
      "scroll",
      () => {
        this.atEnd = this.element.scrollTop + this.element.clientHeight >= this.element.scrollHeight - 40;
      },
      { passive: true },
    );
  }

  /** What the text is called. @param {string} lane */
  name(lane) {
    const label = `${lane}: running text`;
    if (this.element.getAttribute("aria-label") !== label) this.element.setAttribute("aria-label", label);
  }

  /** The token that is told of this text while it has the focus. @param {HTMLElement | undefined} chip */
  point(chip) {
    const id = chip?.id ?? "";
    if ((this.element.getAttribute("aria-activedescendant") ?? "") === id) return;
    if (id) this.element.setAttribute("aria-activedescendant", id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** Draw the rounds that came since the last call. */
  grow() {
    const { run, store } = this;
    const visible = store.visibleRounds(run);
    for (; this.done < run.rounds.length; this.done++) this.addRound(run.rounds[this.done], visible);
    this.shown = visible;
    this.flag(this.flagsDone);
    this.dim();
  }

  /** Keep the end of a growing text in view. */
  follow() {
    if (this.atEnd && this.store.status.phase === "running") this.element.scrollTop = this.element.scrollHeight;
  }

  /** @param {import("../types/trace.js").Round} round @param {number} visible rounds */
  addRound(round, visible) {
    const { run, store } = this;
    const { ghosts, whitespace } = store.options;
    const step = stepOf(round);
    if (!round.tokens.length && !step) return this.addSilent(round.index, visible);
    const wrapper = this.wrapper(round.index, round.index >= visible);
    if (step) wrapper.append(h("span.stepmark", { title: stepWords(step), text: prob(step.score) }));
    wrapper.classList.toggle("step", Boolean(step?.accepted));
    for (const token of round.tokens) {
      if (ghosts && (token.origin === "correction" || token.origin === "bonus")) {
        wrapper.append(...ghostChips(run, round, whitespace));
      }
      const chip = tokenChip(run.key, token, whitespace);
      this.chips[token.pos] = chip;
      wrapper.append(chip);
      this.count++;
    }
  }

  /** A round without tokens: those in a row share a mark, which counts them. @param {number} index
   * @param {number} visible rounds */
  addSilent(index, visible) {
    const before = this.silences[index - 1];
    const silence = before ?? { mark: this.wrapper(index, true), first: index, last: index };
    silence.last = index;
    this.silences[index] = silence;
    this.rounds[index] = [silence.mark];
    showSilence(silence, visible);
  }

  /** Lay the text out anew: lines break elsewhere. */
  again() {
    const { scrollTop } = this.element;
    this.element.replaceChildren();
    this.done = this.flagsDone = this.count = 0;
    this.chips = [];
    this.rounds = [];
    this.silences = [];
    this.stretch = this.begun = null;
    this.grow();
    this.half();
    this.element.scrollTop = scrollTop;
  }

  /** Flags of importance above the tokens from a position on; tells whether any token got one or lost its own. */
  flag(from = 0) {
    const { run, chips, store } = this;
    let changed = false;
    for (let pos = from; pos < run.tokens.length; pos++) {
      const chip = chips[pos];
      if (!chip) continue;
      chip.querySelector(".flags")?.remove();
      const marks = store.options.flags ? flagsFor(run, pos) : null;
      changed ||= chip.classList.contains("flagged") !== Boolean(marks);
      chip.classList.toggle("flagged", Boolean(marks));
      if (marks) chip.append(marks);
    }
    this.flagsDone = run.tokens.length;
    return changed;
  }

  /** A part of a round at the end of the text. @param {number} index @param {boolean} future */
  wrapper(index, future) {
    const wrapper = h(`span.round${future ? ".fut" : ""}`, { "data-r": index, role: "presentation" });
    this.rounds[index] ??= [];
    this.rounds[index].push(wrapper);
    (this.stretch ?? this.newStretch()).append(wrapper);
    return wrapper;
  }

  newStretch() {
    const last = this.element.lastElementChild;
    const section = last && last.childElementCount < SECTION ? last : h("div.section", { role: "presentation" });
    if (section !== last) this.element.append(section);
    const stretch = h("div.stretch", { role: "presentation" });
    section.append(stretch);
    this.stretch = stretch;
    this.count = 0;
    return stretch;
  }

  /** Chips that start a line, at least a stretch apart. Ask for those of all lanes before any lane is cut: that is one
   * layout. */
  cuts() {
    if (!this.stretch || this.count < STRETCH) return [];
    /** @type {NodeListOf<HTMLElement>} */
    const chips = this.stretch.querySelectorAll(".k, .g");
    return lineStarts([...chips], STRETCH);
  }

  /** Begin a new stretch with each of these chips, which are in order. @param {HTMLElement[]} chips */
  cut(chips) {
    /** @type {[first: HTMLElement, part: HTMLElement][]} */
    const starts = [];
    for (const first of chips) {
      /** @type {HTMLElement | null} */
      const home = first.closest(".round");
      if (home) starts.push([first, home.querySelector(".k, .g") === first ? home : this.splitRound(home, first)]);
    }
    for (const [i, [first, part]] of starts.entries()) {
      const [stretch, end] = [this.newStretch(), starts[i + 1]?.[1]];
      for (let item = /** @type {Element | null} */ (part); item && item !== end; ) {
        const next = item.nextElementSibling;
        stretch.append(item);
        item = next;
      }
      this.count = stretch.querySelectorAll(".k").length;
      trimStart(first);
    }
  }

  /** What of a round follows from a chip on, as a part of its own.
   * @param {HTMLElement} home @param {HTMLElement} first */
  splitRound(home, first) {
    const half = /** @type {HTMLElement} */ (home.cloneNode(false));
    half.classList.add("cont");
    for (let chip = /** @type {Element | null} */ (first); chip; ) {
      const next = chip.nextElementSibling;
      half.append(chip);
      chip = next;
    }
    home.after(half);
    this.rounds[Number(home.dataset.r)].push(half);
    return half;
  }

  /** Show the first n rounds. */
  scrub() {
    const n = this.store.visibleRounds(this.run);
    const [from, to] = n < this.shown ? [n, this.shown] : [this.shown, n];
    for (let i = from; i < to; i++) {
      const silence = this.silences[i];
      if (silence) {
        showSilence(silence, n);
        i = silence.last;
      } else for (const part of this.rounds[i] ?? []) part.classList.toggle("fut", i >= n);
    }
    const moved = n !== this.shown;
    this.shown = n;
    this.half();
    if (moved) this.element.scrollTop = this.element.scrollHeight;
  }

  /** The round that has begun and is not decided yet, after the text that is shown. */
  half() {
    const { run, store } = this;
    const round = store.halfRound(run);
    this.begun?.remove();
    this.begun = null;
    const { inside } = store.time;
    if (!round || !inside) return;
    this.begun = h(
      "span.round.half",
      { "data-r": round.index, role: "presentation" },
      halfChips(run, round, inside, store.options.whitespace),
    );
    const last = this.rounds[round.index - 1]?.at(-1);
    if (last) last.after(this.begun);
    else this.element.prepend(this.begun);
  }

  /** Fade what the filters leave out. */
  dim() {
    const { store, run, chips } = this;
    const active = store.filters.size > 0;
    if (!active && !this.dimmed) return;
    this.dimmed = active;
    for (const token of run.tokens) {
      const round = run.rounds[token.round];
      const node = token.node == null ? null : round.nodes[token.node];
      chips[token.pos]?.classList.toggle("dim", active && !store.passes(run, round, node, token));
    }
  }

  /** Height of the whole text, in pixels. */
  get height() {
    const last = /** @type {HTMLElement | null} */ (this.element.lastElementChild);
    return last ? last.offsetTop + last.offsetHeight + 18 : 0;
  }

  /** Bring a chip into the lane's own view, without moving the page. @param {Element | null | undefined} chip */
  reveal(chip) {
    if (!chip) return;
    const box = this.element.getBoundingClientRect();
    const spot = chip.getBoundingClientRect();
    if (spot.height === 0) return;
    if (spot.top < box.top + 8) this.element.scrollTop += spot.top - box.top - box.height / 3;
    else if (spot.bottom > box.bottom - 8) this.element.scrollTop += spot.bottom - box.bottom + box.height / 3;
  }
}

/** Show how many of the rounds in a row without tokens are among the first n. @param {Silence} silence
 * @param {number} n */
function showSilence({ mark, first, last }, n) {
  const shown = Math.min(n, last + 1) - first;
  mark.classList.toggle("fut", shown <= 0);
  if (shown > 1) mark.dataset.silent = String(shown);
  else delete mark.dataset.silent;
  mark.title = shown > 0 ? `${count(shown, "round")} without a token` : "";
}
