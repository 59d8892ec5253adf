// @ts-check
// One lane: header with its figures, running text in stretches, and those in sections that are only drawn in view.
// Stretches end where a line does, so nobody sees them; they are cut when the browser has laid the text out anyway.

import { ghostChips, halfChips, tokenChip } from "./chips.js";
import { h, num } from "./dom.js";
import { percent } from "./draw.js";
import { flagsFor } from "./flags.js";
import { knobText, lineStarts, trimStart } from "./lanetext.js";
import { answerOf } from "./run/answer.js";
import { forcedText, forcedWords } from "./run/continue.js";
import { draftedNothing, guaranteeOf } from "./run/guarantee.js";
import { toggleProof } from "./run/proof.js";
import { repeatedOf, spreadWords, times } from "./run/spread.js";
import { forcedOf } from "./run.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/card.js").Card} Card
 */

const STRETCH = 40; // chips that a change may lay out again
const SECTION = 4; // stretches
/** @type {Partial<Record<string, string>>} */
const REASONS = {
  stopped: "stopped",
  error: "failed",
  limit: "token limit",
  eos: "complete",
  stop: "complete",
  context: "context full",
};
const FIGURES = [
  ["tok/s", "Emitted tokens a second of decoding, without the prefill and without drawing."],
  ["τ", "Tokens a target call, the correction or bonus included."],
  ["calls", "Target calls so far; the prefill is not counted."],
  ["accepted", "Share of the draft tokens that were accepted."],
];

export class Lane {
  /** rounds that are drawn, and rounds that the time cursor shows */
  done = 0;
  shown = 0;
  /** chips by position @type {HTMLElement[]} */
  chips = [];
  /** the parts of each round @type {HTMLElement[][]} */
  rounds = [];
  /** what grows, and its chips @type {HTMLElement | null} */
  stretch = null;
  count = 0;
  /** tokens that have their flags */
  flagsDone = 0;
  dimmed = false;
  /** the end of the text is in view; followed by scroll events, so that growing never asks for a layout */
  atEnd = true;

  /** @param {Store} store @param {Run} run @param {(card: Card) => void} onTitle */
  constructor(store, run, onTitle) {
    this.store = store;
    this.run = run;
    const { card, key } = run;
    const reference = card.guarantee === "reference";
    this.figures = FIGURES.map(([name, title]) => ({ value: h("span", {}, "–"), name, title }));
    this.ratio = h("span.ratio", { title: "Speed against the reference lane of this comparison" });
    this.knobs = h("span", {}, knobText(run));
    this.state = h("span.state");
    /** @type {HTMLElement} */
    this.badge = h(`button.badge.${card.guarantee}`, {
      type: "button",
      "aria-haspopup": "dialog",
      onclick: () => toggleProof(this.badge, store, run),
    });
    this.promise();
    this.answer = h("p.answer", { hidden: true });
    this.spread = h("p.spread", { hidden: true });
    this.forced = h("p.forced", { hidden: true });
    this.fault = h("p.fault", { role: "status", hidden: true });
    this.flow = h("div.flow", {
      role: "listbox",
      tabindex: 0,
      "aria-label": `${card.title}: running text`,
      "data-key": key,
    });
    this.element = h(
      `article.lane${reference ? ".reference" : ""}`,
      { "data-lane": key },
      h(
        "header",
        {},
        h(
          "div.lane-title",
          {},
          h("button.plain", { onclick: () => onTitle(card), title: "What this method does" }, card.title ?? key),
          this.badge,
        ),
        h("div.lane-knobs", {}, this.knobs, this.state),
        h(
          "dl.figures",
          {},
          this.figures.map((f) => h("div", { title: f.title }, h("dt", {}, f.name), h("dd", {}, f.value))),
        ),
        this.answer,
        this.spread,
      ),
      this.fault,
      this.forced,
      this.flow,
    );
    this.figures[0].value.after(this.ratio);
    this.flow.addEventListener(
      "scroll",
      () => {
        this.atEnd = this.flow.scrollTop + this.flow.clientHeight >= this.flow.scrollHeight - 40;
      },
      { passive: true },
    );
  }

  /** Draw the rounds that came since the last call. */
  grow() {
    const { run, store } = this;
    if (this.done === 0) {
      this.beginning();
      this.knobs.textContent = knobText(run);
      this.promise();
    }
    const visible = store.visibleRounds(run);
    for (; this.done < run.rounds.length; this.done++) this.addRound(run.rounds[this.done], this.done >= visible);
    this.shown = visible;
    this.flag(this.flagsDone);
    this.dim();
    this.numbers();
  }

  /** What stood before the first token of this lane, where its beginning was forced. */
  beginning() {
    const words = forcedWords(this.run);
    this.forced.hidden = !words;
    if (!words) return;
    const { before, chosen } = forcedText(this.run);
    this.forced.replaceChildren(h("span.told", { text: words }), h("span.text", {}, before, h("b", { text: chosen })));
  }

  promise() {
    const { name, title } = guaranteeOf(this.run);
    this.badge.textContent = name;
    this.badge.title = title;
  }

  /** Keep the end of a growing text in view. */
  follow() {
    if (this.atEnd && this.store.status.phase === "running") this.flow.scrollTop = this.flow.scrollHeight;
  }

  /** @param {import("./types/trace.js").Round} round @param {boolean} future */
  addRound(round, future) {
    const { run, store } = this;
    const { ghosts, whitespace } = store.options;
    const wrapper = this.wrapper(round.index, future);
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

  /** Flags of importance above the tokens from a position on. */
  flag(from = 0) {
    const { run, chips, store } = this;
    for (let pos = from; pos < run.tokens.length; pos++) {
      const chip = chips[pos];
      if (!chip) continue;
      chip.querySelector(".flags")?.remove();
      const marks = store.options.flags ? flagsFor(run, pos) : null;
      chip.classList.toggle("flagged", Boolean(marks));
      if (marks) chip.append(marks);
    }
    this.flagsDone = run.tokens.length;
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
    const last = this.flow.lastElementChild;
    const section = last && last.childElementCount < SECTION ? last : h("div.section", { role: "presentation" });
    if (section !== last) this.flow.append(section);
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

  /** Begin a new stretch with each of these chips. @param {HTMLElement[]} chips */
  cut(chips) {
    for (const first of chips) {
      /** @type {HTMLElement | null} */
      const home = first.closest(".round");
      if (!home) continue;
      const rest = home.querySelector(".k, .g") === first ? home : this.splitRound(home, first);
      const stretch = this.newStretch();
      for (let item = /** @type {Element | null} */ (rest); item; ) {
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
    for (let i = from; i < to; i++) for (const part of this.rounds[i] ?? []) part.classList.toggle("fut", i >= n);
    const moved = n !== this.shown;
    this.shown = n;
    this.half();
    this.numbers();
    if (moved) this.flow.scrollTop = this.flow.scrollHeight;
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
    else this.flow.prepend(this.begun);
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

  numbers() {
    const { run, store } = this;
    const stats = store.stats(run);
    const drafts = run.card.guarantee !== "reference";
    const texts = [
      num(stats.perSecond, (stats.perSecond ?? 0) >= 100 ? 0 : 1),
      num(stats.tau),
      String(stats.rounds),
      drafts ? percent(stats.acceptRate) : "–",
    ];
    texts.forEach((text, i) => {
      const { value } = this.figures[i];
      if (value.textContent !== text) value.textContent = text;
    });
    const reference = [...store.runs.values()].find((other) => other.card.guarantee === "reference");
    const base = reference && reference !== run && !forcedOf(run) ? store.stats(reference).perSecond : null;
    this.ratio.textContent = base && stats.perSecond ? `${num(stats.perSecond / base, 1)}× once` : "";
    const again = store.time.at === Infinity ? repeatedOf(store, run.key) : null;
    if (again?.speedup) this.ratio.textContent = times(again.speedup.median);
    this.spread.hidden = !again;
    this.spread.replaceChildren(...(again ? spreadWords(again).map((words) => h("span", {}, words)) : []));
    const end = stats.rounds === run.rounds.length ? run.end : null;
    const text = end ? (REASONS[end.reason] ?? end.reason) : store.status.phase === "running" ? "decoding" : "";
    this.state.textContent = text;
    this.state.className = `state ${end ? end.reason : text}`;
    this.state.title = end?.message ?? "";
    const told = answerOf(end);
    this.answer.hidden = !told;
    this.answer.textContent = told?.words ?? "";
    this.answer.className = `answer ${told?.right ? "right" : "wrong"}`;
    const failed = end?.reason === "error";
    const fault = failed
      ? end.message || "This run failed; what it wrote before stays."
      : end
        ? draftedNothing(run)
        : "";
    this.fault.hidden = !fault;
    this.fault.textContent = fault;
  }

  /** Height of the whole text, in pixels. */
  get height() {
    const last = /** @type {HTMLElement | null} */ (this.flow.lastElementChild);
    return last ? last.offsetTop + last.offsetHeight + 18 : 0;
  }

  /** Bring a chip into the lane's own view, without moving the page. @param {Element | null | undefined} chip */
  reveal(chip) {
    if (!chip) return;
    const box = this.flow.getBoundingClientRect();
    const spot = chip.getBoundingClientRect();
    if (spot.height === 0) return;
    if (spot.top < box.top + 8) this.flow.scrollTop += spot.top - box.top - box.height / 3;
    else if (spot.bottom > box.bottom - 8) this.flow.scrollTop += spot.bottom - box.bottom + box.height / 3;
  }
}
