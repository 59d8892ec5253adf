// @ts-check
// Beside the stage: a lesson, one step at a time with a task that the page checks, or the story of a case.

import { titleOf } from "../columns.js";
import { h, said, tell } from "../dom.js";
import { minus } from "../draw.js";
import { icon } from "../icons.js";
import { carries } from "../packed.js";
import { catalogueOf } from "./catalogue.js";
import { linksOf } from "./lessons.js";
import { addressOf, follow } from "./places.js";
import { markDone, progress } from "./progress.js";
import { prose } from "./prose.js";
import { showStep, take } from "./show.js";
import { countAt, isRight } from "./tasks.js";

/**
 * @typedef {import("../types/wire.js").PageLesson} PageLesson
 * @typedef {import("../types/wire.js").PageStep} PageStep
 * @typedef {import("../types/wire.js").PageTask} PageTask
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/lab.js").Lab} Lab
 * @typedef {(topic: "cursor" | "whatif" | "status") => void} Hear
 * @typedef {{box: HTMLElement, hear?: Hear}} Drawn what a task draws, and how it listens
 */

const ELSEWHERE = "This step is about other runs than those on the page. “Show me” opens them.";

/** @type {import("../types/lab.js").Mount} */
export function mount(element, store, lab) {
  /** @type {Hear | undefined} */
  let hear;
  let wanted = 0; // the newest drawing; an older one that comes late is dropped
  element.addEventListener("click", (event) => follow(event, store));

  async function draw() {
    const mine = ++wanted;
    const [name, at] = store.options.beside.split("~");
    hear = undefined;
    if (!name || element.hidden) element.replaceChildren(name ? h("p.quiet", { role: "status" }, "Opening …") : "");
    element.hidden = !name;
    element.closest("[data-room]")?.toggleAttribute("data-lesson", Boolean(name)); // for what makes room
    if (!name || at === undefined) cover(element, false);
    if (!name) return;
    try {
      if (at === undefined) return await drawStory(element, name, store, lab);
      const { lessons } = await lab.api.get("lessons");
      if (mine !== wanted) return;
      element.replaceChildren();
      const lesson = lessons.find((one) => one.name === name);
      if (lesson?.steps[Number(at)]) hear = drawStep(element, lesson, Number(at), lessons, store, lab);
      else throw new Error(`There is no step ${Number(at) + 1} of a lesson “${name}”.`);
    } catch (error) {
      if (mine !== wanted) return;
      cover(element, false);
      element.replaceChildren(h("p.warn", {}, said(error)), closer(store));
    }
  }
  store.on("options", (option) => {
    if (option === "beside") draw();
    if (option === "whatif") hear?.("whatif");
  });
  store.on("cursor", () => hear?.("cursor"));
  store.on("status", () => hear?.("status"));
  element.closest("[data-room]")?.addEventListener("leave", (event) => {
    const inside = element.contains(document.activeElement);
    if (event.defaultPrevented || !store.options.beside || (store.cursor && !inside)) return;
    event.preventDefault(); // Escape closes the lesson, elsewhere on the stage once no token is chosen
    leave(store);
  });
  draw();
}

/** @param {Store} store */
const closer = (store) =>
  h(
    "button.plain",
    { type: "button", "aria-label": "Close the lesson", title: "Close (Esc)", onclick: () => leave(store) },
    icon("close"),
  );

/** Covers what would tell the answer to a prediction, or shows it. @param {HTMLElement} element @param {boolean} on */
const cover = (element, on) => element.closest(".lab")?.toggleAttribute("data-covered", on);

/** What a case is about. @param {HTMLElement} element @param {string} name @param {Store} store @param {Lab} lab */
async function drawStory(element, name, store, lab) {
  await catalogueOf(lab);
  const preset = lab.session.catalogue?.presets.find((one) => one.name === name);
  if (store.options.beside !== name) return;
  element.replaceChildren(
    h(
      "header",
      {},
      carries("gallery") ? h("a", { href: addressOf("gallery", name) }, "Gallery of cases") : h("span", {}, "Case"),
      closer(store),
    ),
    h(
      "div.lesson-body",
      {},
      h("h3", {}, preset?.title ?? `There is no case “${name}”.`),
      h("p", {}, preset?.point ?? ""),
      h("p", {}, preset?.story ?? ""),
    ),
  );
}

/**
 * @param {HTMLElement} element @param {PageLesson} lesson @param {number} at @param {readonly PageLesson[]} lessons
 * @param {Store} store @param {Lab} lab @returns {Hear}
 */
function drawStep(element, lesson, at, lessons, store, lab) {
  const step = lesson.steps[at];
  const text = h("div.doc");
  if (at === 0) text.append(prose(lesson.text));
  text.append(prose(step.text));
  const go = (/** @type {number} */ to) => {
    take(lesson.name, to, lesson.steps[to], store, lab);
  };
  const after = h("div.lesson-after", { role: "status" });
  const solved = () => {
    markDone(lesson.name, at);
    cover(element, false);
  };
  const task = step.task ? drawTask(step, step.task, after, solved, store) : null;
  if (!task) solved();
  cover(element, step.task?.kind === "predict" && !progress()[lesson.name]?.includes(at));
  const last = at === lesson.steps.length - 1;
  const heading = h("h3", { tabindex: "-1" }, step.title);
  const elsewhere = h("p.quiet", { role: "status" });
  const lookUp = () => tell(elsewhere, isElsewhere(step, store) ? ELSEWHERE : "");
  lookUp();
  element.append(
    h(
      "header",
      {},
      h("a", { href: addressOf("lessons", lesson.name) }, lesson.title),
      h("span.quiet", {}, `${at + 1} of ${lesson.steps.length}`),
      closer(store),
    ),
    h(
      "div.lesson-body",
      {},
      heading,
      text,
      h("button.lesson-show", { type: "button", onclick: () => showStep(step, store, lab) }, "Show me"),
      elsewhere,
      task?.box ?? "",
      after,
      last ? h("p.see", {}, "Go on with ", ...linksOf(lesson, lessons, lab), ".") : "",
    ),
    h(
      "div.lesson-foot",
      {},
      h("button", { type: "button", disabled: at === 0, onclick: () => go(at - 1) }, "Back"),
      last
        ? h("button.primary", { type: "button", onclick: () => leave(store) }, "Done")
        : h("button.primary", { type: "button", onclick: () => go(at + 1) }, "Next"),
    ),
  );
  heading.focus({ preventScroll: true });
  return (topic) => (topic === "status" ? lookUp() : task?.hear?.(topic));
}

/** Whether other runs are on the stage than those that a step speaks of. @param {PageStep} step @param {Store} store */
const isElsewhere = (step, { lanes, status }) => lanes.length > 0 && status.recorded !== step.case;

/**
 * @param {PageStep} step @param {PageTask} task @param {HTMLElement} after where the page answers
 * @param {() => void} solved
 * @param {Store} store @returns {Drawn}
 */
function drawTask(step, task, after, solved, store) {
  const ask = h("div.doc.ask");
  ask.append(prose(task.ask));
  let found = false;
  /** @param {boolean} right @param {(string | Node)[]} words */
  function answer(right, ...words) {
    after.dataset.right = String(right);
    after.replaceChildren(h("strong", {}, right ? "Right. " : found ? "Not this one. " : "Not yet. "), ...words);
    found ||= right;
    if (right) done();
  }
  function done() {
    solved();
    if (task.after) after.append(told(task.after));
  }
  const hint = () => (task.hint ? [told(task.hint)] : []);

  if (task.kind === "choice") {
    const options = (task.options ?? []).map((option, i) => {
      const button = h("button.lesson-option", {
        type: "button",
        "aria-pressed": "false",
        onclick() {
          for (const other of options) other.setAttribute("aria-pressed", String(other === button));
          answer(isRight(task, i), told(option.why));
        },
      });
      button.append(prose(option.text));
      return button;
    });
    return { box: h("div.task", {}, ask, h("div.lesson-options", {}, options)) };
  }
  if (task.kind === "predict") {
    const input = h("input", { type: "number", step: "any", "aria-label": "Your prediction", required: true });
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      const right = isRight(task, input.valueAsNumber);
      const truth = `${task.answer} ${task.unit ?? ""}`.trim();
      const about = task.tolerance ? ` (±${task.tolerance} counts as right)` : "";
      after.dataset.right = String(right);
      after.replaceChildren(
        h("strong", {}, right ? "Right. " : "Not quite. "),
        minus(`You said ${input.value}; it is ${truth}${about}.`),
      );
      done(); // the prediction has been made, right or wrong
    };
    return {
      box: h(
        "form.task",
        { onsubmit: submit },
        ask,
        h("div.row", {}, input, h("span.quiet", {}, task.unit ?? ""), h("button", { type: "submit" }, "Reveal")),
        h("p.covered.quiet", {}, "Numbers on the page are covered until you do."),
      ),
    };
  }
  const lane = () => store.lanes[task.lane ?? 0];
  if (task.kind === "select")
    return {
      box: h("div.task", {}, ask),
      hear(topic) {
        const { cursor } = store;
        if (topic !== "cursor" || !cursor || isElsewhere(step, store)) return;
        if (isShown(step, cursor, store)) return; // what "Show me" points at is no answer
        if (cursor.run !== lane()) answer(false, `That is another lane; look in ${titleOf(store, lane())}.`);
        else if (isRight(task, cursor)) answer(true);
        else answer(false, "It is another token.", ...hint());
      },
    };
  return {
    box: h("div.task", {}, ask),
    hear(topic) {
      const { whatif } = store.options;
      if (topic !== "whatif" || !whatif || isElsewhere(step, store)) return;
      const value = whatif.knobs?.[task.knob ?? ""];
      if (whatif.run !== lane() || typeof value !== "number") return;
      const now = countAt(task, value);
      const set = minus(String(+value.toFixed(3)));
      if (isRight(task, value)) answer(true, `${task.knob} at ${set}: ${now} ${task.state}.`);
      else answer(false, `${task.knob} at ${set} leaves ${now ?? "no known number"} ${task.state}.`);
    },
  };
}

/** @param {string} html */
function told(html) {
  const box = h("div.doc");
  box.append(prose(html));
  return box;
}

/** @param {PageStep} step @param {import("../types/store.js").Selection} cursor @param {Store} store */
const isShown = ({ at }, cursor, store) =>
  at !== null && cursor.run === store.lanes[at.lane] && cursor.round === at.round && cursor.node === at.node;

/** The page without the lesson, with the stage in focus as the next thing of which it speaks.
 * @param {import("../types/store.js").Store} store */
function leave(store) {
  store.setOption("beside", "");
  document.getElementById("stage")?.focus({ preventScroll: true });
}
