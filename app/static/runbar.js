// The run bar: what to run, and Run, Step, Stop. It edits the session's settings and nothing else.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { knobForm } from "./knobform.js";
import { methodPicker } from "./picker.js";

const NUMBERS = [
  ["max_new_tokens", "Tokens", { min: 1, step: 1 }, "At most this many new tokens."],
  ["temperature", "Temperature", { min: 0, max: 100, step: "any" }, "0 is greedy: always the most probable token."],
  [
    "top_p",
    "Top-p",
    { min: 0.001, max: 1, step: "any" },
    "Keep the most probable tokens up to this mass; 1 keeps all.",
  ],
  ["top_k", "Top-k", { min: 0, step: 1 }, "Keep this many of the most probable tokens; 0 keeps all."],
  ["seed", "Seed", { min: 0, step: 1 }, "The same seed gives the same draws."],
];

const ME = "runbar";

/** @param {HTMLElement} element @param {object} store @param {object} lab */
export function mount(element, store, lab) {
  const ui = {};
  let ownPrompt = "";
  let settingsOpen = false;
  const { session } = lab;
  const card = (name) => session.catalogue.methods.find((item) => item.name === name);

  function build() {
    const { limits, models } = session.catalogue;
    ui.preset = h("select", { "aria-label": "Preset", onchange: choosePreset });
    ui.point = h("p.point");
    ui.prompt = h("textarea", {
      rows: 3,
      "aria-label": "Prompt",
      placeholder: "Write a prompt, or choose a preset.",
      spellcheck: "false",
      oninput: typed,
    });
    ui.models = h(
      "select",
      { "aria-label": "Models", onchange: () => session.chooseModels(ui.models.value, ME) },
      models.map((name) => h("option", { value: name }, name)),
    );
    ui.chips = h("div.chips", { role: "group", "aria-label": "Methods" });
    ui.numbers = NUMBERS.map(([name, label, attrs, title]) => {
      const max = name === "max_new_tokens" ? { max: limits.tokens } : {};
      const input = h("input", {
        type: "number",
        required: true,
        ...attrs,
        ...max,
        onchange: () => input.reportValidity() && edit({ [name]: Number(input.value) }),
      });
      return { name, input, element: h("label.field.short", { title }, h("span", {}, label), input) };
    });
    ui.chat = h("input", { type: "checkbox", onchange: () => edit({ chat: ui.chat.checked }) });
    ui.settings = h("div.settings", { hidden: true });
    ui.toggle = h(
      "button.plain",
      { "aria-expanded": "false", onclick: toggleSettings },
      icon("sliders"),
      "Method settings",
    );
    ui.run = h(
      "button.primary",
      { onclick: () => go(session.run), title: "Run all lanes (Ctrl Enter)" },
      icon("play"),
      "Run",
    );
    ui.step = h(
      "button",
      { onclick: () => go(session.step), title: "Show one more target call in every lane (.)" },
      icon("forward"),
      "Step",
    );
    ui.stop = h(
      "button",
      { onclick: () => lab.bus.stop(), disabled: true, title: "End after the round in progress" },
      icon("stop"),
      "Stop",
    );
    element.replaceChildren(
      h(
        "div.what",
        {},
        h("div.case", {}, h("label.field", {}, h("span", {}, "Preset"), ui.preset), ui.point),
        h("label.field.prompt", {}, h("span", {}, "Prompt"), ui.prompt),
        h("div.go", {}, ui.run, h("div.two", {}, ui.step, ui.stop)),
      ),
      h("div.how", {}, ui.chips),
      h(
        "div.law",
        {},
        h("label.field", {}, h("span", {}, "Models"), ui.models),
        ui.numbers.map((item) => item.element),
        h(
          "label.field.check",
          { title: "Wrap the prompt in the model's chat template." },
          h("span", {}, "Chat"),
          ui.chat,
        ),
        ui.toggle,
      ),
      ui.settings,
    );
    show();
    buttons();
  }

  /** The controls as session.config says. */
  function show() {
    if (!ui.run || !session.config) return;
    const { config, catalogue } = session;
    const options = [
      h("option", { value: "" }, "Own prompt"),
      ...catalogue.presets.map((item) => h("option", { value: item.name }, item.title)),
    ];
    ui.preset.replaceChildren(...options);
    ui.preset.value = config.preset ?? "";
    const preset = catalogue.presets.find((item) => item.name === config.preset);
    ui.point.textContent = preset?.point ?? "Every lane gets the same prompt, seed and sampling.";
    ui.point.title = preset?.story ?? "";
    if (ui.prompt.value !== config.prompt) ui.prompt.value = config.prompt;
    ui.models.value = config.models;
    for (const { name, input } of ui.numbers) input.value = config[name];
    ui.chat.checked = config.chat;
    chips();
  }

  function chips() {
    const { lanes } = session.config;
    const full = lanes.length >= session.catalogue.limits.lanes;
    const items = lanes.map((lane, i) => {
      const { title, guarantee } = card(lane.method) ?? { title: lane.method, guarantee: "" };
      const count = Object.keys(lane.knobs).length;
      return h(
        `span.chip.${guarantee}`,
        {},
        h("span", {}, title, count ? h("i", { title: "settings changed" }, String(count)) : null),
        h(
          "button.plain",
          {
            "aria-label": `Remove ${title}`,
            title: "Remove",
            onclick: () => edit({ lanes: lanes.filter((_, j) => j !== i) }),
          },
          icon("close"),
        ),
      );
    });
    const add = h(
      "button.plain.add",
      { "aria-haspopup": "menu", "aria-expanded": "false", onclick: () => pick(add, full) },
      icon("plus"),
      "Add a method",
    );
    ui.chips.replaceChildren(h("span.label", {}, "Methods"), ...items, h("span.anchor", {}, add));
    if (settingsOpen) settings();
  }

  function pick(add, full) {
    const anchor = add.parentElement;
    const close = () => {
      anchor.querySelector(".picker")?.remove();
      add.setAttribute("aria-expanded", "false");
      removeEventListener("pointerdown", outside);
      removeEventListener("keydown", onkey);
    };
    const outside = (event) => !anchor.contains(event.target) && close();
    const onkey = (event) => {
      if (event.key !== "Escape") return;
      close();
      add.focus();
    };
    if (anchor.querySelector(".picker")) return close();
    const chosen = session.config.lanes.map((lane) => lane.method);
    anchor.append(
      methodPicker(session.catalogue.methods, chosen, full, (picked) => {
        close();
        edit({ lanes: [...session.config.lanes, { method: picked.name, knobs: {} }] });
      }),
    );
    add.setAttribute("aria-expanded", "true");
    const picker = anchor.querySelector(".picker");
    const over = picker.getBoundingClientRect().right - (document.documentElement.clientWidth - 16);
    if (over > 0) picker.style.left = `${-over}px`;
    anchor.querySelector(".picker button:enabled")?.focus();
    addEventListener("pointerdown", outside);
    addEventListener("keydown", onkey);
  }

  function toggleSettings() {
    settingsOpen = !settingsOpen;
    ui.toggle.setAttribute("aria-expanded", String(settingsOpen));
    ui.settings.hidden = !settingsOpen;
    if (settingsOpen) settings();
  }

  function settings() {
    const set = (at, knobs) => {
      edit({ lanes: session.config.lanes.map((lane, i) => (i === at ? { ...lane, knobs } : lane)) }, false);
      chipCounts();
    };
    ui.settings.replaceChildren(
      ...session.config.lanes
        .map((lane, at) => card(lane.method) && knobForm(card(lane.method), lane.knobs, (knobs) => set(at, knobs)))
        .filter(Boolean),
    );
  }

  const chipCounts = () => {
    const open = settingsOpen;
    settingsOpen = false;
    chips();
    settingsOpen = open;
  };

  function edit(partial, redraw = true) {
    session.configure(partial, ME);
    if (redraw) show();
  }

  function typed() {
    ownPrompt = ui.prompt.value;
    const leaving = session.config.preset !== "";
    edit({ prompt: ui.prompt.value, preset: "" }, false);
    if (leaving) show();
  }

  function choosePreset() {
    const preset = session.catalogue.presets.find((item) => item.name === ui.preset.value);
    if (!preset) return edit({ preset: "", prompt: ownPrompt });
    session.choosePreset(preset.name);
  }

  /** Run, or step; without a prompt the cursor goes there. */
  async function go(begin) {
    if (!(await begin())) ui.prompt.focus();
  }

  function buttons() {
    if (!ui.run) return;
    const { phase } = store.status;
    const busy = ["queued", "loading", "running"].includes(phase);
    ui.stop.disabled = !busy;
    ui.run.lastChild.textContent = { queued: "Waiting…", loading: "Loading…" }[phase] ?? "Run";
    ui.run.classList.toggle("busy", busy && phase !== "running");
  }

  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go(session.run);
  });
  session.on("catalogue", () => {
    if (!ui.run) build();
  });
  session.on("config", ({ by }) => {
    if (by !== ME) show();
  });
  session.on("methods", () => {
    if (settingsOpen) settings();
  });
  store.on("status", buttons);
  if (session.catalogue) build();
}
