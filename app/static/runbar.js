// @ts-check
// The run bar: what to run, and Run, Step, Stop. Folded to one line once something is on the stage.
// It edits the session's settings and nothing else: what is shown stays what it is until they run.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { knobForm } from "./knobform.js";
import { methodPicker } from "./picker.js";
import { firstWords, plainLane, settingsInWords } from "./run/choice.js";
import { composedCards } from "./run/composer.js";
import { introduction } from "./run/intro.js";
import { numberFields } from "./run/numbers.js";
import { createRepeats, inRange, LEAST, MOST } from "./run/repeat.js";
import { waitingWords } from "./run/waiting.js";

/**
 * @typedef {import("./types/lab.js").Config} Config
 * @typedef {import("./types/wire.js").LaneRequest} Lane
 */

const ME = "runbar";
const WAITING = /** @type {Record<string, string>} */ ({ queued: "Waiting…", loading: "Loading…" });

/** @param {HTMLElement} element @param {import("./types/store.js").Store} store
 * @param {import("./types/lab.js").Lab} lab */
export function mount(element, store, lab) {
  const { session } = lab;
  const composed = composedCards(lab);
  let ownPrompt = "";
  let settingsOpen = false;
  let built = false;
  const cards = () => [...(session.catalogue?.methods ?? []), ...composed.of(names())];
  const names = () => session.config?.lanes.map((lane) => lane.method) ?? [];
  /** @param {string} name */
  const card = (name) => cards().find((item) => item.name === name);

  const preset = h("select", { "aria-label": "Case" });
  const summary = h("span.summary");
  const fold = h(
    "button.plain.fold",
    {
      "aria-expanded": "true",
      "aria-controls": "runform",
      "aria-keyshortcuts": "e",
      onclick: () => setFolded(!folded()),
    },
    icon("sliders"),
    h("span", {}, "Edit"),
  );
  const stale = h("span.stale", { role: "status" });
  const waits = h("span.waits", { role: "status" });
  const runWord = h("span", {}, "Run");
  const run = h(
    "button.primary",
    { onclick: () => go(session.run), "aria-keyshortcuts": "Control+Enter" },
    icon("play"),
    runWord,
  );
  const step = h("button", { onclick: () => go(session.step), "aria-keyshortcuts": "." }, icon("forward"), "Step");
  const repeats = createRepeats(store, lab);
  const halt = () => {
    repeats.stop();
    lab.ui.emit("halt");
    return lab.bus.stop();
  };
  const stop = h("button", { onclick: halt, disabled: true }, icon("stop"), "Stop");
  const repeatWord = h("span", { role: "status" }, "Repeat");
  const repeat = h("button.plain", { onclick: () => repeats.start(Number(often.value)) }, icon("again"), repeatWord);
  const often = h("input", {
    type: "number",
    min: LEAST,
    max: MOST,
    value: 5,
    "aria-label": "Runs of each method",
  });
  often.addEventListener("change", () => (often.value = String(inRange(often.value))));
  const line = h(
    "div.runline",
    {},
    h("label.field.case", {}, h("span.unseen", {}, "Case"), preset),
    fold,
    h("div.about", {}, summary, stale, waits),
    h("div.go", {}, run, step, stop, h("div.repeat", {}, repeat, often, h("span", { "aria-hidden": "true" }, "×"))),
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
  const chips = h("div.chips", { role: "group", "aria-label": "Methods" });
  const add = h(
    "button.plain.add",
    { "aria-haspopup": "dialog", "aria-expanded": "false", onclick: pick },
    icon("plus"),
    "Choose methods",
  );
  const anchor = h("span.anchor", {}, add);
  const numbers = numberFields((partial) => edit(partial));
  const chat = h("input", { type: "checkbox" });
  const settings = h("div.settings", { hidden: true });
  const toggle = h(
    "button.plain",
    { "aria-expanded": "false", onclick: toggleSettings },
    icon("sliders"),
    "Method settings",
  );
  const intro = introduction(lab, (partial) => edit(partial));
  const form = h(
    "div.runform",
    { id: "runform" },
    point,
    h("label.field.prompt", {}, h("span", {}, "Prompt"), prompt),
    intro.element,
    h("div.how", {}, h("span.label", {}, "Methods"), anchor, chips),
    h(
      "div.sampling",
      {},
      h("label.field.models", {}, h("span", {}, "Models"), models),
      numbers.elements,
      h("label.field.check", {}, h("span", {}, "Chat template"), chat),
      toggle,
    ),
    settings,
  );
  const picker = methodPicker(
    lab,
    () => composed.of(names()),
    (lanes) => edit({ lanes }),
  );

  preset.addEventListener("change", choosePreset);
  models.addEventListener("change", () => session.chooseModels(models.value, ME));
  chat.addEventListener("change", () => edit({ chat: chat.checked }));

  function build() {
    const { limits, models: pairs } = session.catalogue ?? { limits: { tokens: 1 }, models: [] };
    models.replaceChildren(...pairs.map((name) => h("option", { value: name }, name)));
    numbers.most("max_new_tokens", limits.tokens);
    element.replaceChildren(line, form);
    built = true;
    setFolded(store.lanes.length > 0 || willOpen());
    show();
    buttons();
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
    point.textContent = chosen?.point ?? "Every lane gets the same prompt, seed and sampling.";
    if (prompt.value !== config.prompt) prompt.value = config.prompt;
    models.value = config.models;
    numbers.show(config);
    chat.checked = config.chat;
    showChips();
    inWords();
    composed.learn(names()).then((more) => more && show());
  }

  /** The folded line: what is set, and whether it has run. */
  function inWords() {
    const { config } = session;
    if (!config) return;
    intro.show();
    const words = firstWords(config.prompt, 70) || "No prompt yet";
    summary.replaceChildren(h("b", {}, words), h("span", {}, settingsInWords(config).join(" · ")));
    stale.textContent = session.stale ? "Settings changed, press Run" : "";
    element.classList.toggle("isstale", session.stale);
  }

  function showChips() {
    const lanes = session.config?.lanes ?? [];
    chips.replaceChildren(
      ...lanes.map((lane, i) => {
        const { title, guarantee } = card(lane.method) ?? { title: lane.method, guarantee: "" };
        const count = Object.keys(lane.knobs).length;
        const words = count === 1 ? "1 setting changed" : `${count} settings changed`;
        return h(
          `span.chip.${guarantee}`,
          {},
          h("span", {}, title, count ? h("i", { role: "img", "aria-label": words }, String(count)) : null),
          h(
            "button.plain",
            { "aria-label": `Remove ${title}`, onclick: () => edit({ lanes: lanes.filter((_, j) => j !== i) }) },
            icon("close"),
          ),
        );
      }),
    );
    if (settingsOpen) showSettings();
  }

  function pick() {
    if (picker.element.isConnected) return closePicker();
    picker.draw();
    anchor.append(picker.element);
    add.setAttribute("aria-expanded", "true");
    const { style } = picker.element;
    style.left = "0px";
    const box = picker.element.getBoundingClientRect();
    const over = box.right - (document.documentElement.clientWidth - 12);
    if (over > 0) style.left = `${-Math.min(over, box.left - 12)}px`;
    style.maxHeight = `${Math.max(300, innerHeight - Math.max(0, box.top) - 16)}px`;
    picker.focus();
    addEventListener("pointerdown", outside);
  }

  function closePicker() {
    picker.element.remove();
    add.setAttribute("aria-expanded", "false");
    removeEventListener("pointerdown", outside);
  }

  /** @param {PointerEvent} event */
  function outside(event) {
    if (event.target instanceof Node && !anchor.contains(event.target)) closePicker();
  }

  anchor.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !picker.element.isConnected) return;
    event.stopPropagation();
    closePicker();
    add.focus();
  });

  function toggleSettings() {
    settingsOpen = !settingsOpen;
    toggle.setAttribute("aria-expanded", String(settingsOpen));
    settings.hidden = !settingsOpen;
    if (settingsOpen) showSettings();
  }

  function showSettings() {
    const lanes = session.config?.lanes ?? [];
    /** @param {number} at @param {Lane["knobs"]} knobs */
    const set = (at, knobs) => {
      edit({ lanes: (session.config?.lanes ?? []).map((lane, i) => (i === at ? { ...lane, knobs } : lane)) }, false);
      settingsOpen = false; // the forms hold the focus: only the counts beside the names are drawn anew
      showChips();
      settingsOpen = true;
    };
    settings.replaceChildren(
      ...lanes.flatMap((lane, at) => {
        const found = card(lane.method);
        if (!found) return [];
        const again = h(
          "button.plain.again",
          { onclick: () => edit({ lanes: [...(session.config?.lanes ?? []), plainLane(lane.method)] }) },
          "Another lane of it",
        );
        const part = knobForm(found, lane.knobs, (knobs) => set(at, knobs));
        part.append(again);
        return [part];
      }),
    );
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

  /** Run, or step; without a prompt the cursor goes there. @param {() => Promise<boolean>} begin */
  async function go(begin) {
    if (await begin()) return;
    setFolded(false);
    prompt.focus();
  }

  const folded = () => form.hidden;

  /** @param {boolean} to */
  function setFolded(to) {
    form.hidden = to;
    fold.setAttribute("aria-expanded", String(!to));
    fold.lastElementChild?.replaceChildren(to ? "Edit" : "Fold");
    element.classList.toggle("folded", to);
    if (to) closePicker();
  }

  function buttons() {
    const { phase } = store.status;
    const busy = ["queued", "loading", "running"].includes(phase);
    const { repeating, line } = store.status;
    const against = repeats.hindrance();
    stop.disabled = !busy && !repeating;
    repeat.disabled = against !== "" || repeating !== null;
    repeat.title = against || "The shown methods again on the same prompt, for the spread of their numbers";
    repeatWord.textContent = repeating ? (repeating.run < 0 ? "Waiting…" : `Run ${repeating.run + 1} of`) : "Repeat";

    waits.textContent = line && (phase === "queued" || repeating) ? waitingWords(line) : "";
    runWord.textContent = WAITING[phase] ?? "Run";
    run.classList.toggle("busy", phase in WAITING);
  }

  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go(session.run);
  });
  session.on("catalogue", () => {
    if (!built) build();
  });
  session.on("config", ({ by }) => {
    if (by !== ME) show();
  });
  session.on("methods", () => {
    if (settingsOpen) showSettings();
    if (picker.element.isConnected) picker.draw();
  });
  session.on("ran", () => {
    buttons();
    setFolded(true);
    inWords();
  });
  lab.ui.on("edit", () => {
    setFolded(!folded());
    if (!folded()) prompt.focus();
  });
  store.on("status", buttons);
  if (session.catalogue) build();
}
