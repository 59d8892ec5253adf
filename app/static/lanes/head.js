// @ts-check
// The header of a lane: the method, what it promises, its figures, how its run ended, and its answer.

import { ownNameOf } from "../columns.js";
import { h, tell } from "../dom.js";
import { perCall, percent, perSecond, times } from "../draw.js";
import { answerOf } from "../run/answer.js";
import { inPlace } from "../run/canvas.js";
import { draftedNothing, guaranteeOf } from "../run/guarantee.js";
import { toggleProof } from "../run/proof.js";
import { remarksOf } from "../run/remarks.js";
import { ofDrafted, shownFigures, spreadWords } from "../run/spread.js";
import { going } from "../run/waiting.js";
import { whose } from "../run/whose.js";
import { CUT } from "../run.js";
import { word } from "../words.js";
import { knobParts } from "./text.js";

/**
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../types/card.js").Card} Card
 */

const ONCE = "Speed against the reference lane of this comparison";
const AGAIN = "Median over the runs of this lane's speed divided by the reference lane's in the same run";

/** @type {Partial<Record<string, string>>} */
const REASONS = {
  ...CUT,
  limit: "token limit",
  eos: "complete",
  stop: "complete",
  context: "context full",
};
/** Of a run that has no end, by the phase of the page. @type {Partial<Record<string, string>>} */
const STATES = { running: "decoding", done: "unfinished" };
/** @typedef {[name: string, title: string, anchor: import("../words.js").Anchor | null]} Figure */
/** @type {Figure[]} */
const FIGURES = [
  ["tok/s", "Emitted tokens a second of decoding, without the prefill and without drawing.", "speedup"],
  ["tokens/call", "Tokens a target call, the correction or bonus included.", "tau"],
  ["calls", "Target calls so far; the prefill is not counted.", "target-call"],
  [
    "accepted",
    "Share of the draft tokens that were accepted. A tree drafts several for one place, of which it keeps one at most.",
    "acceptance-rate",
  ],
];

/** Of a lane whose text is written in place. @type {Figure[]} */
const PLACED = [
  FIGURES[0],
  ["iterations", "Passes over all places of the text so far; the target is never called.", null],
];

export class LaneHead {
  /** @param {Store} store @param {Run} run @param {(card: Card) => void} onTitle */
  constructor(store, run, onTitle) {
    this.store = store;
    this.run = run;
    const { card } = run;
    this.figures = (inPlace(run) ? PLACED : FIGURES).map(([name, title, anchor]) => ({
      value: h("span", {}, "–"),
      note: h("span.note"), // beside its name: of what, of whom
      name,
      title,
      anchor,
    }));
    const tabindex = store.lanes[0] === run.key ? null : "-1"; // one tab stop a word, in the first lane
    this.ratio = h("span.ratio");
    this.knobs = h("span");
    this.remarks = h("p.remarks", { hidden: true });
    /** What tells this lane from others besides its method. */
    this.whose = h("p.whose", { hidden: true });
    this.state = h("span.state");
    this.title = h(
      "button.plain",
      { onclick: () => onTitle(card), title: "What this method does" },
      ownNameOf(store, run),
    );
    /** @type {HTMLElement} */
    this.badge = h("button.badge", {
      type: "button",
      "aria-haspopup": "dialog",
      onclick: () => toggleProof(this.badge, store, run),
    });
    this.answer = h("p.answer", { hidden: true });
    this.spread = h("p.spread", { hidden: true });
    /** Below the header. */
    this.fault = h("p.fault", { role: "status", hidden: true });
    this.element = h(
      "header",
      {},
      h("div.lane-title", {}, this.title),
      this.whose,
      h("div.lane-marks", {}, this.badge, this.state),
      h(
        "div.lane-figures",
        {},
        h(
          "dl.figures",
          {},
          this.figures.map((f) =>
            h(
              "div",
              { title: f.title },
              h("dt", {}, word(f.name, f.anchor, { tabindex }), " ", f.note),
              h("dd", {}, f.value),
            ),
          ),
        ),
      ),
      this.answer,
      h("div.lane-rest", {}, this.spread, h("div.lane-knobs", {}, this.knobs), this.remarks),
    );
    this.figures[0].value.after(this.ratio);
    this.settings();
  }

  /** What the run's head tells: its knobs, what it promises with them, and what is otherwise with its models. */
  settings() {
    const knobs = knobParts(this.run).map(({ text, help }) => h("span", { title: help || null }, text));
    this.knobs.replaceChildren(...knobs.flatMap((knob, i) => (i ? [" · ", knob] : [knob])));
    const { lanes, runs } = this.store;
    const before = lanes.slice(0, lanes.indexOf(this.run.key)).flatMap((key) => runs.get(key)?.head ?? []);
    const remarks = remarksOf(this.run.head, before);
    this.remarks.hidden = !remarks.length;
    this.remarks.textContent = remarks.join(" ");
    this.promise();
  }

  promise() {
    const { name, title, sign } = guaranteeOf(this.run); // of this run: its card may promise more
    this.badge.className = `badge ${sign}`;
    this.badge.textContent = name;
    this.badge.title = title;
  }

  /** Everything that changes as rounds come, at the time that is shown; its name, since another lane may have come. */
  numbers() {
    const name = ownNameOf(this.store, this.run);
    tell(this.title, name);
    const reference = [...this.store.runs.values()].find(({ card }) => card.guarantee === "reference");
    const shown = shownFigures(this.store, this.run, reference);
    const { stats } = shown;
    const speed = perSecond(shown.perSecond);
    const { accepted, alike } = shown;
    const texts = inPlace(this.run)
      ? [speed, String(stats.iterations)]
      : [speed, perCall(shown.tau), String(stats.calls), percent(accepted)];
    const notes = [
      "",
      "",
      alike ? "" : "in this run",
      accepted === null ? "" : ofDrafted(shown).replace(" ", "\u00a0"),
    ];
    texts.forEach((text, i) => {
      tell(this.figures[i].value, text);
      tell(this.figures[i].note, notes[i]);
    });
    const told = whose([...this.store.runs.values()], this.run).join(", ");
    tell(this.whose, told);
    this.whose.hidden = !told;
    this.speedup(shown);
    this.ending(stats.rounds === this.run.rounds.length ? this.run.end : null);
  }

  /** Against the reference lane: of this run, or of its repetitions where there are some.
   * @param {ReturnType<typeof shownFigures>} shown */
  speedup({ again, ratio }) {
    tell(this.ratio, ratio ? `${times(ratio)}${again ? "" : " once"}` : "");
    const about = again ? AGAIN : ONCE;
    if (this.ratio.title !== about) this.ratio.title = about;
    this.spread.hidden = !again;
    this.spread.replaceChildren(...(again ? spreadWords(again).map((words) => h("span", {}, words)) : []));
  }

  /** How the run ended, with its answer or its fault. @param {Run["end"] | null} end */
  ending(end) {
    const { run, store } = this;
    const without = run.end ? "" : STATES[store.status.phase]; // in the middle of a run that has ended it is none
    const text = end ? (REASONS[end.reason] ?? end.reason) : (without ?? "");
    tell(this.state, text);
    this.state.className = `state ${end ? end.reason : text}`;
    this.state.title = end?.message ?? "";
    const told = answerOf(end);
    const due = run.end ? run.end.checked : (run.head ?? run.asked).extras.answer && going(store.status.phase);
    this.answer.hidden = !told && !due; // one that is to come has its line
    tell(this.answer, told?.words ?? "");
    this.answer.title = told && told.whole !== told.words ? told.whole : "";
    this.answer.className = `answer ${told?.right ? "right" : "wrong"}`;
    const failed = end?.reason === "error";
    const fault = failed
      ? end.message || "This run failed; what it wrote before stays."
      : end
        ? draftedNothing(run)
        : "";
    this.fault.hidden = !fault;
    tell(this.fault, fault);
  }
}
