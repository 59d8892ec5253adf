// @ts-check
// The round inspector: why this token; first a sentence, then the two distributions and the draw.

import { barFigure, barRows, barsHeight, cutAt } from "./bars.js";
import { captionOf } from "./caption.js";
import { nameOf, nodeSelection, samples } from "./columns.js";
import { fresh, h, s } from "./dom.js";
import { pieceOf, rich, SIGNS, sign, stateOf } from "./draw.js";
import { offer } from "./figure.js";
import { flagLines } from "./flags.js";
import { hush } from "./hush.js";
import { alternativeButtons } from "./inspector/alternatives.js";
import { chanceStrip, cutOf } from "./inspector/chance.js";
import { formulaOf, plainText } from "./inspector/formula.js";
import { numbers } from "./inspector/numbers.js";
import { neutral } from "./inspector/sentence.js";
import { leftBy } from "./inspector/siblings.js";
import { subject } from "./inspector/subject.js";
import { windowOf, windowTable } from "./inspector/window.js";
import { math } from "./mathml.js";
import { followSource, passageOf, passageText } from "./passage.js";
import { pictureOf } from "./picture.js";
import { inPlace } from "./run/canvas.js";
import { createContinuing } from "./run/continue.js";
import { samplingOf } from "./temperature.js";
import { overlapN } from "./thresholds.js";
import { STATES, word } from "./words.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/lab.js").Lab} Lab
 * @typedef {import("./inspector/subject.js").Subject} Subject
 * @typedef {ReturnType<typeof build>} Parts
 */

const TITLE = "Why this token"; // while there is none
const NONE = "Choose a token: the sentence here says in the rule's own terms why it was accepted or rejected.";

/** The elements that are filled anew, and the widths of the figures' places. */
function build() {
  return {
    widths: { bars: 0, strip: 0 },
    name: h("h3", { text: TITLE }),
    place: h("span.v-sub"),
    why: h("p.v-why"),
    which: h("p.v-which"),
    from: h("p.v-from"),
    flags: h("div.v-flags"),
    bars: h("div.v-bars"),
    others: h("div.v-alternatives", { role: "group", "aria-label": "What if it had written another token" }),
    strip: h("div.v-strip"),
    numbers: h("dl.v-numbers"),
    formula: h("section.v-formula", { "aria-label": "The rule with this token's numbers" }),
    window: h("div.v-beside"),
    order: h("button.v-button", {
      type: "button",
      text: "Sort by draft",
      title: "Bars in the order of the draft's probability; else of the target's",
    }),
    distribution: h("button.v-button", {
      type: "button",
      text: "Raw",
      title: "Raw: softmax at temperature 1; else as sampled, after temperature, top-k and top-p",
    }),
    back: h("button.v-button", { type: "button", text: "‹", "aria-label": "Previous draft token of this round" }),
    next: h("button.v-button", { type: "button", text: "›", "aria-label": "Next draft token of this round" }),
  };
}

/** @param {HTMLElement} element @param {Store} store @param {import("./types/lab.js").Lab} [lab] */
export function mount(element, store, lab) {
  const parts = build();
  element.classList.add("v-view", "v-inspector");
  element.replaceChildren(
    h(
      "header.v-head",
      {},
      parts.name,
      parts.place,
      h("span.v-tools", {}, parts.distribution, parts.order, parts.back, parts.next),
    ),
    parts.why,
    parts.which,
    parts.from,
    parts.flags,
    parts.bars,
    parts.others,
    parts.formula,
    h("div.v-facts", {}, parts.strip, parts.numbers),
    parts.window,
  );
  const continuing = lab && createContinuing(store, lab);
  const draw = () => show(store, parts, lab, continuing);
  const later = () => store.frame("inspector", draw);
  parts.order.onclick = () => store.setOption("order", store.options.order === "draft" ? "target" : "draft");
  parts.distribution.onclick = () =>
    store.setOption("distribution", store.options.distribution === "sampled" ? "raw" : "sampled");
  parts.back.onclick = () => step(store, -1);
  parts.next.onclick = () => step(store, 1);
  store.on("data", () => store.seldom("inspector", draw));
  for (const topic of /** @type {const} */ (["runs", "cursor", "hover", "time", "options", "flags", "status"]))
    store.on(topic, later);
  // Widths come from the observer: reading them while other views change the page would force a layout.
  const watch = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries)
      parts.widths[target === parts.bars ? "bars" : "strip"] = contentRect.width;
    later();
  });
  watch.observe(parts.bars);
  watch.observe(parts.strip);
  hush(store, parts.why);
  offer(element, lab, () => pictureOf(element, captionOf(store, lab)));
  later();
}

/** @param {Store} store @param {Parts} parts @param {Lab} [lab]
 * @param {ReturnType<typeof createContinuing>} [continuing] */
function show(store, parts, lab, continuing) {
  const it = subject(store);
  parts.back.disabled = parts.next.disabled = !it;
  if (!it) {
    parts.order.hidden = parts.distribution.hidden = true;
    fresh(parts.why, NONE, () => [NONE]);
    parts.name.textContent = TITLE;
    parts.place.textContent = "";
    const { which, from, flags, bars, others, formula, strip, numbers, window } = parts;
    for (const part of [which, from, flags, bars, others, formula, strip, numbers, window]) part.replaceChildren();
    return;
  }
  showSentence(store, parts, it);
  showPassage(store, parts, it, lab);
  parts.flags.replaceChildren(...flagLines(it.run, it.pos, lab));
  showDistributions(store, parts, it);
  parts.others.replaceChildren(...alternativeButtons(store, continuing, it));
  showFormula(parts.formula, it);
  showWindow(parts.window, it);
}

/** What the target read beside the draft; folded as the visitor left it. @param {HTMLElement} part
 * @param {Subject} it */
function showWindow(part, { run, round }) {
  const window = windowOf(run, round);
  const open = part.querySelector("details")?.open ?? true;
  fresh(part, window && JSON.stringify(window), () => (window ? [windowTable(window, open)] : []));
}

/** The token, whose it is, its place, and why. @param {Store} store @param {Parts} parts @param {Subject} it */
function showSentence(store, parts, it) {
  const { run, round, node, token, own, cell } = it;
  const state = cell ? "placed" : token ? stateOf(token, node) : node?.state;
  const shownToken = cell ? cell.token : token ? token.token : node?.token;
  parts.name.replaceChildren(
    s(
      "svg",
      { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
      sign(state ?? "target", 0, 0, 5.5),
    ),
    h("span.v-token", { text: shownToken === undefined ? "?" : pieceOf(run, shownToken, 24) }),
    h("span.v-state", {}, word(SIGNS[state ?? ""]?.label ?? "", STATES[state ?? ""])),
  );
  const which = node && !own ? `, draft token ${(it.index ?? 0) + 1} of ${round.nodes.length}` : "";
  const when = cell ? `iteration ${round.extras.iteration}` : `round ${it.roundIndex}`;
  parts.place.textContent = `${nameOf(store, run)}: ${when}, position ${it.pos}${which}`;
  const why = cell?.why ?? token?.why ?? (token && token.node == null ? null : node?.why) ?? neutral(it, state);
  fresh(parts.why, why, () => rich(why));
}

const FATES = new Map([
  [true, "holds"],
  [false, "does not hold"],
  [null, "was not recorded"],
]);

/** What decided, in symbols and in this token's numbers. @param {HTMLElement} part @param {Subject} it */
function showFormula(part, { run, node }) {
  const { lines, legend } = formulaOf(run, node);
  const said = lines.map((line) => [line.about, line.holds, plainText(line.symbols), plainText(line.numbers)]);
  fresh(part, said, () => [
    ...lines.map(({ about, symbols, numbers, holds }) =>
      h(
        "p.v-rule",
        {},
        h("span.v-about", { text: `${about} if` }),
        math(symbols),
        h("span.v-about", { text: "here" }),
        math(numbers),
        h(`span.v-fate.${holds ? "yes" : "no"}`, { text: FATES.get(holds) }),
      ),
    ),
    legend.length
      ? h(
          "p.v-signs",
          {},
          ...legend.map(({ sign, words, anchor }) => h("span", {}, math(sign), " ", word(words, anchor))),
        )
      : h("span"),
  ]);
  part.hidden = !lines.length;
}

/** The text that the draft token was copied from. @param {Store} store @param {Parts} parts @param {Subject} it
 * @param {Lab} [lab] */
function showPassage(store, parts, { run, node }, lab) {
  const passage = passageOf(run, node);
  parts.from.replaceChildren(
    ...(passage
      ? [
          `From: ${passage.words}: `,
          passageText(passage),
          " ",
          h(
            "button.v-button",
            { type: "button", title: "Go there (s)", onclick: () => lab && followSource(store, lab) },
            "Go there",
          ),
        ]
      : []),
  );
}

/** Both distributions as bars, the draw as a strip, and the numbers. @param {Store} store @param {Parts} parts
 * @param {Subject} it */
function showDistributions(store, parts, it) {
  const { run, round, index, node, token, emitted } = it;
  const width = parts.widths.bars || 480;
  const sampled = Boolean(node?.law_target ?? node?.law_draft);
  const distribution = sampled && store.options.distribution === "sampled" ? "sampled" : "raw";
  parts.distribution.hidden = !sampled;
  parts.distribution.setAttribute("aria-pressed", String(distribution === "raw"));
  const left = leftBy(round, index);
  const lists = sampled && distribution === "raw" ? null : left?.lists;
  parts.which.textContent =
    sampled || left
      ? whichWords(Boolean(left), Boolean(lists), sampled, distribution)
      : drawnOtherwise(run) && token?.top_target
        ? RAW
        : "";
  const draft = lists?.draft ?? (distribution === "sampled" ? node?.law_draft : null) ?? node?.top_draft ?? null;
  const target =
    lists?.target ??
    (distribution === "sampled" ? node?.law_target : null) ??
    node?.top_target ??
    token?.top_target ??
    null;
  parts.order.hidden = !draft || !target;
  parts.order.setAttribute("aria-pressed", String(store.options.order === "draft"));
  const n = overlapN(run, node);
  const replaced = samples(run) && node !== null && emitted?.origin === "correction" && node.state === "rejected";
  const residual = replaced ? (round?.nodes[node.parent]?.reason?.weight ?? 1) : null;
  const rows = barRows({
    draft,
    target,
    candidate: node,
    n,
    order: store.options.order,
    keep: [node?.token, emitted?.token],
    cut: lists ? undefined : cutAt(run, node, distribution),
  });
  const height = barsHeight(run);
  parts.bars.style.minHeight = draft || target ? `${height}px` : "";
  parts.bars.replaceChildren(
    draft || target
      ? barFigure({
          run,
          rows,
          draft,
          target,
          width,
          height,
          n,
          distribution,
          candidate: node?.token ?? null,
          emitted: emitted?.token ?? null,
          state: node?.state,
          origin: emitted?.origin ?? "target",
          residual,
          cut: samples(run) ? cutOf(node) : null,
        })
      : h("p.v-empty", { text: noBars(it) }),
  );
  parts.strip.replaceChildren(
    chanceStrip(samples(run) ? node : node && { ...node, u: undefined }, round, parts.widths.strip || 220),
  );
  const told = numbers(it, n, residual);
  fresh(parts.numbers, told, () =>
    told.flatMap(([term, value, hint, anchor]) => [
      h("dt", { title: hint }, word(term, anchor)),
      h(value.length > 16 ? "dd.v-long" : "dd", { text: value }),
    ]),
  );
}

/** Why there are no distributions. @param {Subject} it */
const noBars = ({ run }) =>
  inPlace(run)
    ? "No draft and no target here: of each place its token and the probability of that were recorded."
    : "This trace was recorded lightly: it holds decisions, not distributions.";

const RAW = "Sentence and bars speak of the raw distribution; drawn was after temperature, top-k and top-p.";

/** Whether a run draws from other distributions than the raw ones.
 * @param {import("./types/store.js").Run} run */
function drawnOtherwise(run) {
  const { temperature, top_k, top_p } = samplingOf(run);
  return temperature > 0 && (temperature !== 1 || top_k > 0 || top_p < 1);
}

/** Of which distributions sentence and bars speak. @param {boolean} left rejected siblings took something from them
 * @param {boolean} shown the bars show what they left @param {boolean} sampled @param {string} distribution */
function whichWords(left, shown, sampled, distribution) {
  const these = sampled ? "the sampled distributions (after temperature, top-k and top-p)" : "both distributions";
  const what = left ? `what rejected siblings left of ${these}` : these;
  if (shown || (!left && distribution === "sampled")) return `Sentence and bars speak of ${what}.`;
  const bars = distribution === "raw" && sampled ? "the raw ones" : "these before a sibling was rejected";
  return `The sentence speaks of ${what}; the bars show ${bars}.`;
}

/** To another draft token of the round, or a token of it without one. @param {Store} store @param {number} by */
function step(store, by) {
  const it = subject(store);
  if (!it) return;
  const { run, round, roundIndex } = it;
  const places = (round.nodes ?? []).map((_, i) => nodeSelection(run, roundIndex, i));
  for (const token of round.tokens ?? [])
    if (token.node === null || token.node === undefined)
      places.push({ run: run.key, round: roundIndex, pos: token.pos, node: null });
  const at = places.findIndex((place) =>
    it.token && it.token.node == null ? place.node === null && place.pos === it.pos : place.node === it.index,
  );
  const next = places[(at + by + places.length) % places.length];
  if (next) store.setCursor(next);
}
