// @ts-check
// The run bar: what to run, and Run, Step, Stop. Folded to one line once something is on the stage.
// It edits the session's settings and nothing else: what is shown stays what it is until they run.

import { presetConfig, sameConfig } from "./config.js";
import { h, tell } from "./dom.js";
import { icon } from "./icons.js";
import { byFamily, firstWords, settingsInWords } from "./run/choice.js";
import { commit, explained, refused } from "./run/fields.js";
import { goButtons } from "./run/gobuttons.js";
import { introduction } from "./run/intro.js";
import { methodChoice } from "./run/methods.js";
import { numberFields } from "./run/numbers.js";
import { modelLoader } from "./run/openmodels.js";

/** @typedef {import("./types/lab.js").Config} Config */

const ME = "runbar";
const LATE = 300; // milliseconds after which it is told that a case is being fetched

/** What a case shows, of which other settings may show nothing.
 * @param {import("./types/wire.js").PagePreset} preset @param {Config} config */
const pointOf = (preset, config) =>
  sameConfig(presetConfig(preset), config) ? preset.point : `Before your changes: ${preset.point}`;

/** @param {HTMLElement} element @param {import("./types/store.js").Store} store
 * @param {import("./types/lab.js").Lab} lab */
export function mount(element, store, lab) {
  const { session } = lab;
  let ownPrompt = "";
  let built = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waits;

  const preset = h("select", { "aria-label": "Case" });
  const summary = h("span.summary");
  const fold = h(
    "button.plain.fold",
    {
      "aria-expanded": "true",
      "aria-controls": "runform",
      "aria-keyshortcuts": "e",
      onclick: turn,
    },
    icon("sliders"),
    h("span", {}, "Edit"),
  );
  const stale = h("span.stale", { role: "status" });
  const buttons = goButtons(store, lab, go);
  const line = h(
    "div.runline",
    {},
    h("label.field.case", {}, h("span.unseen", {}, "Case"), preset),
    fold,
    h("div.about", {}, summary, stale, buttons.waits),
    buttons.element,
  );

  const point = h("p.point");
  const prompt = h("textarea", {
    rows: 3,
    "aria-label": "Prompt",
    placeholder: "Write a prompt, or choose a case.",
    spellcheck: "false",
    oninput: typed,
  });
  const models = h("select", { "aria-label": "Models" });
  const methods = methodChoice(lab, edit);
  const numbers = numberFields((partial) => edit(partial));
  const chat = h("input", { type: "checkbox" });
  const intro = introduction(lab, (partial) => edit(partial));
  const form = h(
    "div.runform",
    { id: "runform" },
    point,
    h("label.field.prompt", {}, h("span", {}, "Prompt"), prompt),
    intro.element,
    methods.element,
    h(
      "div.sampling",
      {},
      h("label.field.models", {}, h("span", {}, "Models"), models),
      modelLoader(lab).element,
      numbers.elements,
      h("label.field.check", {}, h("span", {}, "Chat template"), chat),
      methods.toggle,
    ),
    methods.settings,
  );

  preset.addEventListener("change", choosePreset);
  models.addEventListener("change", () => {
    void session.chooseModels(models.value, ME);
    inWords();
  });
  chat.addEventListener("change", () => edit({ chat: chat.checked }));

  function build() {
    fill();
    element.replaceChildren(line, form);
    built = true;
    setFolded(store.lanes.length > 0 || willOpen());
    show();
    buttons.draw();
  }

  /** What the catalogue says may be chosen. */
  function fill() {
    const {
      limits,
      models: pairs,
      families,
    } = session.catalogue ?? { limits: { tokens: 1 }, models: [], families: {} };
    models.replaceChildren(
      ...byFamily(pairs, families).map(([label, names]) =>
        h("optgroup", { label }, ...names.map((name) => h("option", { value: name }, name))),
      ),
    );
    const chosen = session.config?.models ?? "";
    if (chosen && session.catalogue?.models.length && !session.catalogue.models.includes(chosen))
      models.append(h("option", { value: chosen, disabled: true }, `${chosen}, not here any more`));
    numbers.most("max_new_tokens", limits.tokens);
  }

  /** Whether the page is about to show runs: then it opens folded, and nothing jumps. */
  const willOpen = () =>
    new URLSearchParams(location.search).has("m") || Boolean(session.catalogue?.presets.some((item) => item.recorded));

  /** The controls as session.config says. */
  function show() {
    const { config, catalogue } = session;
    if (!built || !config || !catalogue) return;
    const titles = catalogue.presets.map((item) => h("option", { value: item.name }, item.title));
    preset.replaceChildren(h("option", { value: "" }, "Own prompt"), ...titles);
    preset.value = config.preset;
    const chosen = catalogue.presets.find((item) => item.name === config.preset);
    point.textContent = chosen ? pointOf(chosen, config) : "Every lane gets the same prompt, seed and sampling.";
    once();
    if (prompt.value !== config.prompt) prompt.value = config.prompt;
    models.value = config.models;
    numbers.show(config);
    chat.checked = config.chat;
    methods.show();
    inWords();
  }

  /** What the case on the stage is about is said in here while this is open, and not again above its runs. */
  function once() {
    const { config } = session;
    element.classList.toggle("says", Boolean(config?.preset) && config?.preset === store.status.recorded);
  }

  /** The folded line: what is set, and whether it has run. @param {boolean} late whether a case is slow to come */
  function inWords(late = false) {
    const { config } = session;
    if (!config) return;
    intro.show();
    const words = firstWords(config.prompt, 70) || "No prompt yet";
    const whole = h("b.whole", { "aria-hidden": "true", text: config.prompt }); // on paper, in place of its first words
    summary.replaceChildren(h("b.first", {}, words), whole, h("span", {}, settingsInWords(config).join(" · ")));
    const comes = late && session.opening !== "";
    tell(stale, session.stale ? "Settings changed, press Run" : comes ? "Opening the recording …" : "");
    stale.classList.toggle("comes", comes);
    element.classList.toggle("isstale", session.stale);
  }

  /** @param {Partial<Config>} partial */
  function edit(partial, redraw = true) {
    session.configure(partial, ME);
    if (redraw) show();
    else inWords();
  }

  function typed() {
    ownPrompt = prompt.value;
    const leaving = session.config?.preset !== "";
    edit({ prompt: prompt.value, preset: "", task: undefined, answer: undefined }, leaving);
  }

  function choosePreset() {
    const chosen = session.catalogue?.presets.find((item) => item.name === preset.value);
    if (chosen) return session.choosePreset(chosen.name);
    edit({ preset: "", prompt: ownPrompt, task: undefined, answer: undefined });
    setFolded(false);
    prompt.focus();
  }

  /** Run, or step, with what the fields say; without a prompt the cursor goes there, and to a number that is refused.
   * @param {() => Promise<boolean>} begin */
  async function go(begin) {
    commit(form);
    const runs = begin === session.run || !store.lanes.length || session.stale;
    const wrong = runs ? refused(form, ".sampling, .settings") : null;
    if (wrong) {
      setFolded(false);
      lab.ui.clearNotices();
      return lab.ui.notify(explained(wrong));
    }
    if (await begin()) return;
    setFolded(false);
    prompt.focus();
  }

  const folded = () => form.hidden;

  /** Unfold for an edit, or fold. What a server offers that loads models may have changed since it was asked. */
  function turn() {
    setFolded(!folded());
    const { catalogue, config } = session;
    if (!folded() && catalogue?.models.length && !catalogue.closed && config)
      void session.chooseModels(config.models, ME);
  }

  /** @param {boolean} to */
  function setFolded(to) {
    if (to && form.contains(document.activeElement)) fold.focus({ preventScroll: true });
    form.hidden = to;
    fold.setAttribute("aria-expanded", String(!to));
    fold.lastElementChild?.replaceChildren(to ? "Edit" : "Fold");
    element.classList.toggle("folded", to);
    if (to) methods.close();
  }

  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault(); // of the page's keys this one works in fields, too
    go(session.run);
  });
  session.on("catalogue", () => {
    if (built) fill();
    else build();
  });
  session.on("config", ({ by }) => {
    if (by !== ME) show();
  });
  session.on("ran", () => {
    setFolded(true);
    inWords();
  });
  session.on("opening", () => {
    clearTimeout(waits);
    waits = setTimeout(() => inWords(true), session.opening ? LATE : 0);
  });
  store.on("status", once);
  lab.ui.on("begin", (what) => go(session[what]));
  lab.ui.on("edit", () => {
    turn();
    if (!folded()) prompt.focus();
  });
  if (session.catalogue) build();
}
