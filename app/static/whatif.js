// @ts-check
// What if the threshold, or the temperature, were another: decisions recomputed from recorded numbers, up to the first
// that changes.

import { captionOf } from "./caption.js";
import { nameOf, nodeSelection, selectedRun } from "./columns.js";
import { movedConfig } from "./config.js";
import { count, h, s, tell } from "./dom.js";
import { fmt, label, linear, pieceOf } from "./draw.js";
import { offer } from "./figure.js";
import { hush } from "./hush.js";
import { idle, idleWords } from "./idle.js";
import { unitAfter } from "./lanes/text.js";
import { pictureOf } from "./picture.js";
import { reheated, samplingOf, temperable, temperatureWords } from "./temperature.js";
import { blind, knobsOf, movable, NOT_YET, numbersOf, replay, thresholdOf } from "./thresholds.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/lab.js").Lab} Lab
 * @typedef {ReturnType<typeof replay>} Result
 * @typedef {object} State
 * @property {Run | null} run whose thresholds are moved
 * @property {Record<string, unknown> | null} knobs moved; null while nothing was moved
 * @property {SVGSVGElement | null} figure
 * @property {string} shape of the sliders: they are built anew when it changes
 * @property {() => void} later draw soon
 */

/** @typedef {ReturnType<typeof build>} Parts */

/** The temperature as a knob that is moved. @type {Pick<import("./types/card.js").Knob,
 *   "low" | "high" | "step" | "unit" | "help">} */
const TEMPERATURE = {
  low: 0.1,
  high: 3,
  step: 0.05,
  unit: "",
  help: "of the sampling: both distributions become p^(1/T), normalised",
};

/** The elements that are filled anew. */
function build() {
  return {
    name: h("span.v-sub"),
    about: h("p.v-sub"),
    reset: h("button.v-button", { type: "button", text: "As run" }),
    sliders: h("div.v-sliders"),
    words: h("p.v-whatif-words"),
    strip: h("div"),
    row: h("p.v-row"),
    empty: h("p.v-empty"),
  };
}

/** @param {HTMLElement} element @param {Store} store @param {Lab} [lab] */
export function mount(element, store, lab) {
  const parts = build();
  element.classList.add("v-view", "v-whatif");
  element.replaceChildren(
    h("header.v-head", {}, h("h3", { text: "What if" }), parts.name, h("span.v-tools", {}, parts.reset)),
    parts.words,
    parts.sliders,
    parts.about,
    parts.strip,
    parts.row,
    parts.empty,
  );
  const draw = () => show(store, state, parts, lab);
  const later = () => store.frame("whatif", draw);
  /** @type {State} */
  const state = { run: null, knobs: null, figure: null, shape: "", later };
  parts.reset.onclick = () => {
    state.knobs = null;
    state.shape = "";
    publish(store, state, null);
    later();
  };
  for (const topic of /** @type {const} */ (["runs", "time", "cursor", "status"])) store.on(topic, later);
  store.on("options", (name) => name === "whatif" && later());
  store.on("data", () => store.seldom("whatif", draw));
  new ResizeObserver(later).observe(parts.strip);
  const set = hush(store, parts.words, () => element.contains(document.activeElement)); // of what is moved in here
  for (const moved of ["focusin", "focusout"]) element.addEventListener(moved, set);
  offer(element, lab, () => (state.figure ? pictureOf(element, captionOf(store, lab)) : null));
  later();
}

/** @param {Store} store @param {State} state @param {Parts} parts @param {Lab} [lab] */
function show(store, state, parts, lab) {
  const locked = (store.cursor && store.runs.get(store.cursor.run)) ?? selectedRun(store);
  const usable = (/** @type {Run} */ run) => Boolean(run.head && namesOf(run).length);
  const asked = store.status.phase === "done" && store.options.whatif?.upto === NOT_YET ? store.options.whatif : null;
  const wanted = [asked ? store.runs.get(asked.run) : null, locked, ...store.runs.values()];
  const run = wanted.find((one) => one && usable(one)) ?? null;
  if (run !== state.run) {
    state.knobs = null;
    if (state.run && !asked && store.options.whatif?.upto !== NOT_YET) publish(store, state, null);
  }
  state.run = run;
  if (asked) {
    state.knobs = run?.key === asked.run ? { ...firstOf(run), ...asked.moved } : null;
    state.shape = "";
    if (!state.knobs) publish(store, state, null);
  }
  parts.empty.hidden = Boolean(run);
  for (const part of [parts.sliders, parts.words, parts.strip, parts.row, parts.reset]) part.hidden = !run;
  if (!run) {
    parts.name.textContent = parts.about.textContent = "";
    parts.empty.textContent = store.lanes.length
      ? "Nothing to move: no run here decides on draft tokens by draws of the exact rule, or by thresholds."
      : "Thresholds and the temperature of a run can be moved here, without a model.";
    return;
  }
  const says = temperable(run) ? "a draft token is accepted where its draw is below p / q" : thresholdOf(run)?.says;
  parts.name.textContent = nameOf(store, run);
  parts.about.textContent = says ?? "";
  const names = namesOf(run);
  const shape = `${run.key}/${run.head?.id}/${names}`;
  if (shape !== state.shape) {
    state.shape = shape;
    parts.sliders.replaceChildren(...names.map((name) => slider(store, state, run, name)));
  }
  const knobs = state.knobs ?? firstOf(run);
  const { result, words } = outcome(run, knobs, Boolean(state.knobs), store.visibleRounds(run));
  parts.reset.disabled = !state.knobs;
  tell(parts.words, words);
  state.figure = strip(run, result, Boolean(state.knobs), parts.strip.clientWidth || 420);
  parts.strip.replaceChildren(state.figure);
  const { changed } = result;
  const again = state.knobs && anew(lab, run, movedOf(state.knobs, firstOf(run)));
  parts.row.replaceChildren(
    ...(changed
      ? [
          h("button.v-button", {
            type: "button",
            text: "Go to the first change",
            onclick: () => store.setCursor(nodeSelection(run, changed.round, changed.node)),
          }),
        ]
      : []),
    ...(again ? [h("button.v-button", { type: "button", text: "Run with this", onclick: again })] : []),
  );
  if (state.knobs) publish(store, state, result);
}

/** What runs the lanes of the stage once more with the moved numbers; null where nothing can, or nothing was moved.
 * @param {Lab | undefined} lab @param {Run} run @param {Record<string, number>} moved */
function anew(lab, run, moved) {
  const { session } = lab ?? {};
  const config = session?.ran && session.catalogue?.models.length && movedConfig(session.ran, run, moved);
  if (!session || !config || !Object.keys(moved).length) return null;
  return () => {
    session.configure(config, "whatif");
    void session.run();
  };
}

/** What can be moved: the thresholds of the rule, or the temperature where the exact rule alone decides by draws.
 * @param {Run} run @returns {string[]} */
const namesOf = (run) => (temperable(run) ? ["temperature"] : movable(run));

/** The same as they were. @param {Run} run @returns {Record<string, unknown>} */
const firstOf = (run) => (temperable(run) ? { temperature: samplingOf(run).temperature } : knobsOf(run));

/** What would follow, and how it is said. @param {Run} run @param {Record<string, unknown>} knobs
 * @param {boolean} moved @param {number} upto rounds to look at @returns {{result: Result, words: string}} */
function outcome(run, knobs, moved, upto) {
  if (temperable(run)) {
    const result = reheated(run, Number(knobs.temperature), upto);
    return { result, words: temperatureWords(run, result, Number(knobs.temperature)) };
  }
  const result = replay(run, knobs, upto);
  const never = result.known && !result.marks.length ? idleSentence(run, knobs, upto) : "";
  return { result, words: [sentence(run, result, moved), never].filter(Boolean).join(" ") };
}

/** Tells the score; other views may read it too.
 * @param {Store} store @param {State} state @param {Result | null} result */
function publish(store, state, result) {
  if (!result || !state.run || !state.knobs) {
    if (store.options.whatif) store.setOption("whatif", null);
    return;
  }
  const known = store.options.whatif;
  if (known && known.run === state.run.key && known.knobs === state.knobs && known.upto === result.known) return;
  store.setOption("whatif", {
    run: state.run.key,
    knobs: state.knobs,
    moved: movedOf(state.knobs, firstOf(state.run)),
    upto: result.known,
    marks: new Set(result.marks),
    settled: result.settled,
    changed: result.changed?.pos ?? null,
  });
}

/** The numbers that are not as they were. @param {Record<string, unknown>} knobs @param {Record<string, unknown>} first
 * @returns {Record<string, number>} */
const movedOf = (knobs, first) =>
  Object.fromEntries(
    Object.entries(knobs).flatMap(([name, value]) =>
      typeof value === "number" && value !== first[name] ? [[name, value]] : [],
    ),
  );

/** A threshold with the mark of its value as run.
 * @param {Store} store @param {State} state @param {Run} run @param {string} name */
function slider(store, state, run, name) {
  const knob = temperable(run) ? TEMPERATURE : run.card.knobs.find((one) => one.name === name);
  const said = (/** @type {number} */ value) => `${fmt(value)}${unitAfter(value, knob?.unit ?? "")}`;
  const first = firstOf(run);
  const value = Number(first[name]);
  const whole = Number.isInteger(value) && Number.isInteger(knob?.step);
  const reach = Math.max(1, Math.abs(value) * 2.5);
  const low = Math.max(knob?.low ?? 0, Math.min(0, value));
  const high = Math.max(value, Math.min(knob?.high ?? reach, whole ? Math.ceil(Math.max(8, reach)) : reach));
  const step = knob === TEMPERATURE ? Number(knob.step) : whole ? 1 : stepOf(high - low);
  const now = Number(state.knobs?.[name] ?? value);
  const show = h("output.v-value", { "aria-live": "off", text: said(now) }); // the slider tells its value
  const input = h("input", {
    type: "range",
    min: low,
    max: high,
    step,
    value: now,
    id: `v-whatif-${name}`,
    "aria-valuetext": said(now),
    "aria-describedby": `v-whatif-${name}-help`,
  });
  input.addEventListener("input", () => {
    const moved = Number(input.value);
    show.textContent = said(moved);
    input.setAttribute("aria-valuetext", said(moved));
    /** @type {Record<string, unknown>} */
    const knobs = {
      ...first,
      ...(state.knobs ?? {}),
      [name]: Math.abs(moved - value) <= step / 2 ? value : moved,
    };
    state.knobs = Object.keys(knobs).some((key) => knobs[key] !== first[key]) ? knobs : null;
    if (!state.knobs) publish(store, state, null);
    state.later();
  });
  const mark = h("span.v-mark", {
    style: `left:${(100 * (value - low)) / (high - low || 1)}%`,
    title: `as run: ${value}`,
  });
  return h(
    "div.v-slider",
    {},
    h("label", { for: `v-whatif-${name}`, text: name }),
    h("span.v-track", {}, input, mark),
    show,
    h("span.v-help", { id: `v-whatif-${name}-help`, text: helpFrom(knob?.help ?? "", low) }),
  );
}

/** The help of a knob on a slider that begins at 0: without what it says of numbers below that, which mean others.
 * @param {string} help @param {number} low */
export const helpFrom = (help, low) => (low < 0 ? help : help.replace(/; -\d[^;]*/g, ""));

/** A round step, so that a slider meets round values: 1, 2 or 5 of a power of ten, at least 200 of them in a range.
 * @param {number} range @returns {number} */
export function stepOf(range) {
  const power = 10 ** Math.floor(Math.log10(range / 200));
  const found = [5, 2, 1].find((n) => n * power <= range / 200) ?? 1;
  return Number((found * power).toPrecision(1));
}

/** What follows, in words. @param {Run} run @param {Result} result @param {boolean} moved */
export function sentence(run, { marks, was, settled, changed, known, tested }, moved) {
  if (!known && tested && unasked(run))
    return `The rule was asked about none of the ${count(tested, "tested token")}: the exact rule accepts them.`;
  if (!known)
    return (
      "This trace does not hold the numbers that the rule compares " +
      "(it was recorded lightly, or nothing was tested)."
    );
  const of = known < tested ? `${count(known, "token")} that it was asked about, of ${tested} tested` : "";
  const now = `The condition holds at ${marks.length} of ${of || `${known} tested tokens`}`;
  const anyway = thresholdOf(run)?.effect === "override" ? "accepts" : "rejects";
  const idling = marks.filter((pos) => settled.has(pos)).length;
  const which = idling < marks.length ? `${idling} of these ${marks.length}` : idling === 1 ? "it" : "all of these";
  const without = idling ? ` The exact rule ${anyway} ${which} anyway.` : "";
  if (!moved) return `${now}.${without} Move a threshold to see which decisions would change.`;
  const then = `${now}, ${was.length} as run.${without}`;
  if (!changed && blind(run))
    return `${then} No tested decision changes; of the branches that were not tested nothing is known.`;
  if (!changed) return `${then} No decision changes: the text would be the same to its end.`;
  const node = run.rounds[changed.round].nodes[changed.node];
  const first = `The first decision to change is ${pieceOf(run, node.token)} at position ${changed.pos}`;
  return `${then} ${first}; beyond it the text would differ: run to see.`;
}

/** Whether the exact rule accepts all that was tested, of which a rule that lets more pass is then not asked.
 * @param {Run} run */
const unasked = (run) =>
  thresholdOf(run)?.effect === "override" &&
  run.rounds.every(({ nodes }) => (nodes ?? []).every(({ state }) => state === "accepted" || state === "discarded"));

/** That no number reaches the threshold, where that is so.
 * @param {Run} run @param {Record<string, unknown>} knobs @param {number} upto rounds to look at */
function idleSentence(run, knobs, upto) {
  const threshold = thresholdOf(run);
  const nodes = run.rounds.slice(0, upto).flatMap((round) => round.nodes ?? []);
  const found = threshold && run.head ? idle(threshold, knobs, nodes.map(numbersOf), run.head.vocab) : null;
  return found ? idleWords(found) : "";
}

/** The whole response as one strip: as run below, moved above, pale where the exact rule decides all the same, unknown
 * beyond the first change.
 * @param {Run} run @param {Result} result @param {boolean} moved @param {number} width */
function strip(run, { marks, was, settled, changed }, moved, width) {
  const n = Math.max(1, run.tokens.length);
  const figure = s("svg.v-figure", {
    viewBox: `0 0 ${width} 62`,
    width,
    height: 62,
    role: "img",
    "aria-label": "Where the condition holds",
  });
  const x = linear(0, n, 56, width - 4);
  figure.append(
    s(
      "defs",
      {},
      s(
        "pattern",
        { id: "v-beyond", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        s("line", { x1: 0, y1: 0, x2: 0, y2: 6, stroke: "var(--line-2)", "stroke-width": 2 }),
      ),
    ),
  );
  figure.append(
    label(0, 16, "moved"),
    label(0, 36, "as run"),
    label(56, 58, "0", { "font-size": 10 }),
    label(width - 4, 58, String(n), { "font-size": 10, "text-anchor": "end" }),
    label((56 + width) / 2, 58, "position", { "font-size": 10, "text-anchor": "middle" }),
  );
  figure.append(s("path", { d: `M56 20H${width - 4}M56 40H${width - 4}`, stroke: "var(--line)" }));
  const w = Math.max(1.5, x(1) - x(0) - 0.5);
  const mark = (/** @type {number} */ pos, /** @type {number} */ y, /** @type {string} */ fill) =>
    s("rect", { x: x(pos), y, width: w, height: 12, fill, opacity: settled.has(pos) ? 0.35 : 1 });
  for (const pos of was) figure.append(mark(pos, 28, "var(--neutral)"));
  if (moved) for (const pos of marks) if (!changed || pos <= changed.pos) figure.append(mark(pos, 8, "var(--judge)"));
  if (changed) {
    const from = x(changed.pos + 1);
    figure.append(
      s("rect", { x: from, y: 2, width: Math.max(0, width - 4 - from), height: 18, fill: "url(#v-beyond)" }),
      s("line", { x1: from, x2: from, y1: 0, y2: 44, stroke: "var(--judge)", "stroke-width": 1.5 }),
    );
    if (width - from > 170)
      figure.append(
        label(from + 6, 15, "beyond here the text would differ", {
          "font-size": 10.5,
          fill: "var(--ink)",
          stroke: "var(--panel)",
          "stroke-width": 4,
          "paint-order": "stroke",
        }),
      );
  }
  return figure;
}
