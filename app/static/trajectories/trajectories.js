// @ts-check
// The trajectory drawer: several answers to one problem by several methods, live or recorded; text, tokens a call,
// votes.

import { commandline } from "../commandline.js";
import { h, said } from "../dom.js";
import { catalogueOf } from "../learn/catalogue.js";
import { noTab } from "../rooms/address.js";
import { waitingWords } from "../run/waiting.js";
import { visitor } from "../visitor.js";
import { chosenModels, familyOf, fitting, withModels } from "../withmodels.js";
import { factsOf, fresh, take, trajectories } from "./data.js";
import { drawPool } from "./pool.js";
import { drawGrowth, drawRows, drawVotes } from "./rows.js";

/**
 * @typedef {import("../types/lab.js").Lab} Lab
 * @typedef {import("../types/store.js").Store} Store
 * @typedef {import("../types/card.js").Card} Card
 * @typedef {import("../types/measured.js").Trajectories} Recorded
 * @typedef {import("../types/trajectory.js").Shown} Shown
 * @typedef {import("../types/trajectory.js").Job} Job
 * @typedef {{methods: string[], n: number, temperature: number, max_new_tokens: number, seed: number,
 *   prompt: string}} Form
 * @typedef {import("../types/wire.js").Catalogue} Catalogue
 */

const FIRST = 4;
const GOES_ON = "The draw goes on: Stop ends it.";
/** What the answer of a problem is called, by its task; a program's is none to read.
 * @type {Readonly<Record<string, string>>} */
const RIGHT = { arithmetic: "Right answer", translation: "A right answer, of several wordings" };
const SIDE_BY_SIDE = 6; // methods of a family
/** Kept while the page lives, so that closing the drawer loses nothing.
 * @type {{recorded: Recorded | null, shown: Shown | null, form: Form | null}} */
const kept = { recorded: null, shown: null, form: null };

/** A recorded example as it is shown. @param {Recorded["examples"][number]} example @returns {Shown} */
const shownOf = (example) => ({
  ...example,
  methods: example.methods.map((method) => ({
    ...method,
    rows: method.rows.map((row) => ({
      ...row,
      pieces: [...row.pieces],
      reused: [...row.reused],
      times: [...row.times],
      first: [...row.first],
    })),
  })),
});

/** @param {HTMLElement} body @param {Store} store @param {Lab} lab */
export async function drawTrajectories(body, store, lab) {
  const spot = h("div.trajectories");
  body.append(spot);
  await catalogueOf(lab);
  const { catalogue } = lab.session;
  if (!catalogue) return;
  try {
    kept.recorded ??= await lab.api.get("trajectories");
  } catch (error) {
    return void spot.append(h("p.warn", {}, said(error)));
  }
  const { recorded } = kept;
  const [example] = recorded.examples;
  kept.shown ??= example ? shownOf(example) : null;
  kept.form ??= start(catalogue, recorded, lab.session);
  const view = {
    about: h("div.about"),
    growth: h("section.growth"),
    votes: h("section.votes"),
    rows: h("section.rows"),
    note: h("p.warn", { role: "alert" }),
  };
  /** @type {AbortController | null} what goes on */
  let job = null;
  let asked = false;
  const left = new AbortController();

  const draw = () => {
    asked = false;
    if (!spot.isConnected) return end();
    const { shown } = kept;
    drawAbout(view.about, shown);
    for (const part of [view.growth, view.votes, view.rows]) part.hidden = !shown;
    if (!shown) return;
    drawGrowth(view.growth, shown);
    drawVotes(view.votes, shown, catalogue.methods, recorded.reads);
    const chosen = shown.methods.find((one) => one.key === store.options.method) ?? shown.methods[0];
    drawRows(view.rows, shown, chosen?.key ?? null, (key) => store.setOption("method", key));
  };
  const later = () => {
    if (!asked) requestAnimationFrame(draw);
    asked = true;
  };
  const form = drawForm(lab, catalogue, recorded, kept.form, {
    run,
    stop: () => job?.abort(),
    example: () => {
      kept.shown = example ? shownOf(example) : null;
      draw();
    },
  });

  /** @param {Job} request */
  async function run(request) {
    job?.abort();
    job = new AbortController();
    const { signal } = job;
    view.note.textContent = "";
    form.busy(true, "Starting.");
    /** @type {Shown | null} */
    let mine = null;
    let [started, failed] = [false, false];
    try {
      const messages = lab.api.lines("trajectories/live", { ...request, visitor: visitor() }, signal);
      for await (const message of messages) {
        if (signal.aborted) break;
        if (message.kind === "error") throw new Error(message.error);
        if (message.kind === "begin") {
          mine = fresh(message);
        } else if (mine) {
          take(mine, message);
          if (message.kind !== "queued" && !started) {
            kept.shown = mine;
            store.setOption("method", "");
          }
          started ||= message.kind !== "queued"; // what was shown stays until then
        }
        const line = message.kind === "queued" ? message.line : null;
        form.busy(true, line ? `${waitingWords(line)}.` : progress(mine));
        later();
      }
    } catch (error) {
      failed = !signal.aborted;
      if (failed) view.note.textContent = said(error);
    }
    if (mine) mine.live = false;
    if (job?.signal === signal) {
      job = null;
      if (view.note.textContent === GOES_ON) view.note.textContent = "";
      const how = signal.aborted ? "Stopped." : failed ? "Ended early." : "Done.";
      form.busy(false, mine && started ? `${how} ${progress(mine)}` : "");
    }
    later();
  }

  /** The room is left, or this part of it: what goes on ends, and that is told. */
  function end() {
    left.abort();
    off();
    form.leave();
    if (!job) return;
    job.abort();
    job = null;
    lab.ui.notify("The draw was ended when it was left; what had come of it is kept in Trajectories.");
  }

  spot.append(form.element, view.note, view.about, view.growth, view.votes, view.rows, drawPool(recorded.results));
  const section = body.closest("[data-room]");
  for (const part of [body, section]) part?.addEventListener("close", end, { signal: left.signal });
  section?.addEventListener(
    "leave",
    (event) => {
      if (!job) return;
      event.preventDefault();
      view.note.textContent = GOES_ON;
    },
    { signal: left.signal },
  );
  const off = store.on("options", (name) => {
    if (name === "method") draw();
  });
  draw();
  const none = noTab("method", store.options.method.slice(0, 40), kept.shown?.methods.map(({ key }) => key) ?? []);
  if (store.options.method && none) lab.ui.notify(none);
  new ResizeObserver(([entry]) => {
    const wide = Math.round(entry.contentRect.width);
    if (wide && wide !== Number(spot.dataset.wide)) later();
    spot.dataset.wide = String(wide);
  }).observe(spot);
}

/** The problems that the chosen models can answer, by the name of their choice: of the recorded example, and held out.
 * @param {Recorded} recorded @param {string | undefined} family of the models @returns {[string, string, string][]}
 *   name, words, prompt */
export function problemsOf({ examples: [example], problems }, family) {
  const kinds = new Map(problems.map((one) => [one.task, one.family]));
  const fits = example && fitting([{ family: kinds.get(example.task) ?? family ?? "" }], family).length > 0;
  /** @type {Map<string, number>} */
  const counts = new Map();
  const held = fitting(problems, family).map(({ task, prompt }) => {
    const n = (counts.get(task) ?? 0) + 1;
    counts.set(task, n);
    return /** @type {[string, string, string]} */ ([`${task} ${n}`, `Held-out ${task} problem ${n}`, prompt]);
  });
  return [
    ...(fits ? [/** @type {typeof held[0]} */ (["example", "The recorded example's problem", example.prompt])] : []),
    ...held,
  ];
}

/** What the form starts with: the methods of the example, a problem, the numbers.
 * @param {Catalogue} catalogue @param {Recorded} recorded
 * @param {import("../types/lab.js").Session} session @returns {Form} */
function start(catalogue, recorded, session) {
  const [example] = recorded.examples;
  const usable = catalogue.methods.filter((card) => !card.unavailable).map((card) => card.name);
  const family = catalogue.methods.filter((card) => card.family === "lookup").map((card) => card.name);
  const methods = (example?.methods.map((one) => one.method) ?? family).filter((name) => usable.includes(name));
  return {
    methods: methods.slice(0, SIDE_BY_SIDE),
    n: FIRST,
    temperature: catalogue.trajectory_temperature,
    max_new_tokens: Math.min(160, catalogue.limits.tokens),
    seed: 0,
    prompt: problemsOf(recorded, familyOf(session))[0]?.[2] ?? session.config?.prompt ?? "",
  };
}

/** @param {Shown | null} shown */
function progress(shown) {
  if (!shown) return "Waiting for the models, or for a run of another page.";
  const ended = shown.methods.reduce((sum, method) => sum + method.rows.filter((row) => row.reason).length, 0);
  return `${ended} of ${trajectories(shown.n * shown.methods.length)}.`;
}

/** What is asked for. @param {Lab} lab @param {Catalogue} catalogue @param {Recorded} recorded @param {Form} form
 * @param {{run: (job: Job) => void, stop: () => void, example: () => void}} act */
function drawForm(lab, catalogue, recorded, form, act) {
  const { limits } = catalogue;
  const usable = catalogue.methods.filter((card) => !card.unavailable);
  form.methods = form.methods.filter((name) => usable.some((card) => card.name === name)); // other models run others
  const own = usable.filter((card) => card.family === "lookup");
  const other = usable.filter((card) => card.family !== "lookup");
  const chips = h("div.chips", { role: "group", "aria-label": "Methods to draw with" });
  const note = h("span.quiet", { role: "status" });
  /** @param {"n" | "temperature" | "max_new_tokens" | "seed"} name @param {string} text
   * @param {import("../types/dom.js").Attributes} attrs @param {string} title */
  const number = (name, text, attrs, title) => {
    /** @type {HTMLInputElement} */
    const input = h("input", {
      type: "number",
      required: true,
      value: form[name],
      ...attrs,
      onchange: () => {
        if (input.reportValidity()) form[name] = Number(input.value);
      },
    });
    return h("label.field.short", { title }, h("span", {}, text), input);
  };
  /** @type {HTMLTextAreaElement} */
  const prompt = h("textarea", {
    rows: 3,
    "aria-label": "Problem",
    spellcheck: "false",
    maxlength: 20000,
    oninput: () => {
      form.prompt = prompt.value;
      source.value = "";
    },
  });
  const [example] = recorded.examples;
  let offered = problemsOf(recorded, familyOf(lab.session));
  /** The text of a choice, all but one's own. @param {string} choice */
  const textOf = (choice) =>
    choice === "bar" ? lab.session.config?.prompt : offered.find(([name]) => name === choice)?.[2];
  /** @type {HTMLSelectElement} */
  const source = h("select", {
    "aria-label": "Take the problem from",
    onchange: () => {
      if (source.value === "") return prompt.focus();
      prompt.value = form.prompt = textOf(source.value) ?? "";
    },
  });
  /** The problems that the chosen models can answer; one for others that was chosen here gives way to the first. */
  function offer() {
    const stale = problemsOf(recorded, undefined).some(([, , text]) => text === form.prompt);
    offered = problemsOf(recorded, familyOf(lab.session));
    if (stale && offered.length && !offered.some(([, , text]) => text === form.prompt)) form.prompt = offered[0][2];
    const choices = [["", "Own text"], ["bar", "The run bar's prompt"], ...offered];
    source.replaceChildren(...choices.map(([value, text]) => h("option", { value }, text)));
    prompt.value = form.prompt;
    source.value = [...offered.map(([name]) => name), "bar"].find((choice) => textOf(choice) === form.prompt) ?? "";
  }
  offer();
  function methods() {
    const full = form.methods.length >= SIDE_BY_SIDE;
    const open = chips.querySelector("details")?.open || other.some((card) => form.methods.includes(card.name));
    const one = (/** @type {Pick<Card, "name" | "title" | "summary">} */ card) => {
      const on = form.methods.includes(card.name);
      return h(
        "button.toggle",
        {
          "aria-pressed": String(on),
          "data-name": card.name,
          disabled: full && !on,
          title: card.summary,
          onclick: () => {
            form.methods = on ? form.methods.filter((name) => name !== card.name) : [...form.methods, card.name];
            methods();
            /** @type {HTMLElement | null} */
            const again = chips.querySelector(`[data-name="${card.name}"]`);
            again?.focus();
          },
        },
        card.title,
      );
    };
    chips.replaceChildren(
      h("span.label", {}, "Methods"),
      ...own.map(one),
      other.length
        ? h(
            "details",
            { open },
            h("summary", {}, "Others, which remember nothing"),
            h("span.chips", {}, other.map(one)),
          )
        : "",
    );
  }
  methods();
  const go = h(
    "button.primary",
    {
      onclick: () => {
        if (![...element.querySelectorAll("input")].every((input) => input.reportValidity())) return;
        act.run({
          models: chosenModels(lab.session),
          prompt: form.prompt,
          lanes: form.methods,
          n: form.n,
          temperature: form.temperature,
          max_new_tokens: form.max_new_tokens,
          seed: form.seed,
        });
      },
    },
    "Draw",
  );
  const stop = h("button", { disabled: true, onclick: act.stop, title: "End after the round in progress" }, "Stop");
  const back = example ? h("button", { onclick: act.example }, "Recorded example") : null;
  const models = withModels(lab.session, offer);
  const element = h(
    "section.ask",
    {},
    h(
      "p",
      {},
      "The answers to one problem repeat each other. A method that needs no draft model remembers what it has seen, " +
        "so later trajectories are drafted from earlier ones.",
    ),
    chips,
    h(
      "div.distribution",
      {},
      number(
        "n",
        "Trajectories",
        { min: 1, max: recorded.most, step: 1 },
        "Answers of each method, one after another.",
      ),
      number("temperature", "Temperature", { min: 0, max: 100, step: "any" }, "0 is greedy: all answers are the same."),
      number(
        "max_new_tokens",
        "Max tokens",
        { min: 1, max: limits.tokens, step: 1 },
        "At most this many in each answer.",
      ),
      number("seed", "Seed", { min: 0, step: 1 }, "The same seed gives the same draws."),
      h("label.field", {}, h("span", {}, "Problem"), source),
    ),
    prompt,
    models.line,
    h("div.row", {}, go, stop, back, note),
  );
  /** The focus goes over to the button that can be pressed: on a disabled one the keyboard would be lost.
   * @param {boolean} on @param {string} text */
  function busy(on, text) {
    const here = [go, stop].some((button) => button === document.activeElement);
    note.textContent = text;
    if (stop.disabled !== on) return;
    [go.disabled, stop.disabled] = [on, !on];
    if (back) back.disabled = on;
    if (here) (on ? stop : go).focus();
  }
  return { element, busy, leave: models.leave };
}

/** @param {HTMLElement} spot @param {Shown | null} shown */
function drawAbout(spot, shown) {
  if (!shown) return void spot.replaceChildren(h("p.quiet", {}, "Nothing is recorded: press Draw."));
  const how = shown.command
    ? h("p.quiet", {}, factsOf(shown), " by ", commandline(shown.command))
    : h("p.quiet", {}, `${factsOf(shown)}.`);
  spot.replaceChildren(
    how,
    h("p.problem", {}, shown.prompt),
    ...(shown.answer != null && shown.task in RIGHT ? [h("p.quiet", {}, `${RIGHT[shown.task]}: ${shown.answer}`)] : []),
  );
}
