// The trajectory drawer: several answers to one problem by several methods, live or recorded; text, tokens a call,
// votes.

import { h } from "./dom.js";
import { waitingWords } from "./run/waiting.js";
import { fresh, take } from "./trajectorydata.js";
import { drawPool } from "./trajectorypool.js";
import { drawGrowth, drawRows, drawVotes } from "./trajectoryrows.js";
import { visitor } from "./visitor.js";

const FIRST = 4;
const SIDE_BY_SIDE = 6; // methods of a family
/** Kept while the page lives, so that closing the drawer loses nothing. */
const kept = { recorded: null, shown: null, form: null, method: null };

/** @param {HTMLElement} body @param {object} store @param {object} lab */
export async function drawTrajectories(body, store, lab) {
  const spot = h("div.trajectories");
  body.append(spot);
  try {
    kept.recorded ??= await lab.api.get("trajectories");
  } catch (error) {
    return void spot.append(h("p.warn", {}, error.message));
  }
  kept.shown ??= kept.recorded.examples[0] ?? null;
  kept.form ??= start(lab);
  const view = {
    about: h("div.about"),
    growth: h("section.growth"),
    votes: h("section.votes"),
    rows: h("section.rows"),
    note: h("p.warn", { role: "alert" }),
  };
  let job = null;
  let asked = false;

  const draw = () => {
    asked = false;
    if (!spot.isConnected) return job?.abort();
    drawAbout(view.about, kept.shown);
    for (const part of [view.growth, view.votes, view.rows]) part.hidden = !kept.shown;
    if (!kept.shown) return;
    if (!kept.shown.methods.some((one) => one.key === kept.method)) kept.method = kept.shown.methods[0]?.key ?? null;
    drawGrowth(view.growth, kept.shown);
    drawVotes(view.votes, kept.shown);
    drawRows(view.rows, kept.shown, kept.method, (key) => {
      kept.method = key;
      draw();
    });
  };
  const later = () => {
    if (!asked) requestAnimationFrame(draw);
    asked = true;
  };
  const form = drawForm(lab, {
    run,
    stop: () => job?.abort(),
    example: () => {
      kept.shown = kept.recorded.examples[0];
      draw();
    },
  });

  async function run(request) {
    job?.abort();
    job = new AbortController();
    const { signal } = job;
    view.note.textContent = "";
    form.busy(true, "Starting.");
    let mine = null;
    try {
      const asked = { ...request, visitor: visitor() };
      for await (const message of lab.api.lines("trajectories/live", asked, signal)) {
        if (signal.aborted) break;
        if (message.kind === "error") throw new Error(message.error);
        if (message.kind === "begin") {
          mine = kept.shown = fresh(message);
          kept.method = null;
        } else if (mine) take(mine, message);
        form.busy(true, message.line ? `${waitingWords(message.line)}.` : progress(mine));
        later();
      }
    } catch (error) {
      if (!signal.aborted)
        view.note.textContent =
          error.message === "network error" ? "The connection was lost; what had arrived is kept." : error.message;
    }
    if (mine) mine.live = false;
    if (job.signal === signal)
      form.busy(false, !mine ? "" : signal.aborted ? `Stopped. ${progress(mine)}` : `Done. ${progress(mine)}`);
    later();
  }

  spot.append(form.element, view.note, view.about, view.growth, view.votes, view.rows, drawPool(kept.recorded.results));
  body.closest("dialog, [data-room]")?.addEventListener("close", () => job?.abort(), { once: true });
  draw();
  new ResizeObserver(([entry]) => {
    const wide = Math.round(entry.contentRect.width);
    if (wide && wide !== Number(spot.dataset.wide)) later();
    spot.dataset.wide = wide;
  }).observe(spot);
}

/** What the form starts with: the methods of the example, its problem, its numbers. */
function start(lab) {
  const example = kept.recorded.examples[0];
  const known = new Map(lab.session.catalogue.methods.map((card) => [card.name, card]));
  const family = [...known.values()].filter((card) => card.family === "lookup");
  const methods = (example?.methods.map((one) => one.method) ?? family.map((card) => card.name)).filter(
    (name) => known.has(name) && !known.get(name).unavailable,
  );
  return {
    methods: methods.slice(0, SIDE_BY_SIDE),
    n: FIRST,
    temperature: 0.6,
    max_new_tokens: Math.min(160, lab.session.catalogue.limits.tokens),
    seed: 0,
    prompt: example?.prompt ?? kept.recorded.problems[0]?.prompt ?? lab.session.config.prompt,
  };
}

function progress(shown) {
  if (!shown) return "Waiting for the models, or for a run of another page.";
  const ended = shown.methods.reduce((sum, method) => sum + method.rows.filter((row) => row.reason).length, 0);
  return `${ended} of ${shown.n * shown.methods.length} trajectories.`;
}

function drawForm(lab, act) {
  const { form, recorded } = kept;
  const { limits } = lab.session.catalogue;
  const cards = lab.session.catalogue.methods
    .filter((card) => !card.unavailable)
    .sort((a, b) => (b.family === "lookup") - (a.family === "lookup"));
  const chips = h("div.chips", { role: "group", "aria-label": "Methods to draw with" });
  const note = h("span.quiet", { role: "status" });
  const number = (name, text, attrs, title) => {
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
  const choices = [
    ["", "Own text"],
    ["bar", "The run bar's prompt"],
    ...recorded.problems.map((one, i) => [String(i), `Held-out ${one.task} problem ${i + 1}`]),
  ];
  if (recorded.examples[0]) choices.splice(2, 0, ["example", "The recorded example's problem"]);
  const source = h(
    "select",
    {
      "aria-label": "Take the problem from",
      onchange: () => {
        if (source.value === "") return prompt.focus();
        form.prompt =
          source.value === "bar"
            ? lab.session.config.prompt
            : source.value === "example"
              ? recorded.examples[0].prompt
              : recorded.problems[Number(source.value)].prompt;
        prompt.value = form.prompt;
      },
    },
    choices.map(([value, text]) => h("option", { value }, text)),
  );
  prompt.value = form.prompt;
  source.value = form.prompt === recorded.examples[0]?.prompt ? "example" : "";
  function methods() {
    const full = form.methods.length >= SIDE_BY_SIDE;
    const open =
      chips.querySelector("details")?.open ||
      cards.some((card) => card.family !== "lookup" && form.methods.includes(card.name));
    const one = (card) => {
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
            chips.querySelector(`[data-name="${card.name}"]`).focus();
          },
        },
        card.title,
      );
    };
    const [own, other] = [
      cards.filter((card) => card.family === "lookup"),
      cards.filter((card) => card.family !== "lookup"),
    ];
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
          models: lab.session.config.models,
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
  const back = recorded.examples[0] ? h("button", { onclick: act.example }, "Recorded example") : null;
  const element = h(
    "section.ask",
    {},
    h(
      "p",
      {},
      "The answers to one problem repeat each other. A method that needs no draft model remembers what it has seen, so later trajectories are drafted from earlier ones.",
    ),
    chips,
    h(
      "div.law",
      {},
      number(
        "n",
        "Trajectories",
        { min: 1, max: recorded.most, step: 1 },
        "Answers of each method, one after another.",
      ),
      number("temperature", "Temperature", { min: 0, max: 100, step: "any" }, "0 is greedy: all answers are the same."),
      number("max_new_tokens", "Tokens", { min: 1, max: limits.tokens, step: 1 }, "At most this many in each answer."),
      number("seed", "Seed", { min: 0, step: 1 }, "The same seed gives the same draws."),
      h("label.field", {}, h("span", {}, "Problem"), source),
    ),
    prompt,
    h("div.row", {}, go, stop, back, note),
  );
  /** The focus goes over to the button that can be pressed: on a disabled one the keyboard would be lost. */
  function busy(on, text) {
    const here = [go, stop].includes(document.activeElement);
    note.textContent = text;
    if (stop.disabled !== on) return;
    [go.disabled, stop.disabled] = [on, !on];
    if (back) back.disabled = on;
    if (here) (on ? stop : go).focus();
  }
  return { element, busy };
}

function drawAbout(spot, shown) {
  if (!shown) return void spot.replaceChildren(h("p.quiet", {}, "Nothing is recorded: press Draw."));
  const facts = `${shown.n} trajectories a method, temperature ${shown.temperature}, at most ${shown.max_new_tokens} tokens, seed ${shown.seed}`;
  const how = shown.command
    ? h("p.quiet", {}, `Recorded (${facts}; target ${shown.target.id}) by `, h("code", {}, shown.command))
    : h("p.quiet", {}, `${shown.live ? "Being drawn now" : "Drawn on this page"}: ${facts}; models ${shown.models}.`);
  spot.replaceChildren(
    how,
    h("p.problem", {}, shown.prompt),
    shown.answer != null && shown.task === "arithmetic" ? h("p.quiet", {}, `Right answer: ${shown.answer}`) : null,
  );
}
