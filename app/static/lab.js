// Entry: one store, one bus, and the views on the mount points of app/copy/page.html.

import { createBus } from "./bus.js";
import { headsConfig, presetConfig } from "./config.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { bindKeys } from "./keys.js";
import { watchFlags } from "./flags.js";
import { createLink } from "./link.js";
import { createMined } from "./mined.js";
import { createStore } from "./store.js";
import { restoreTheme } from "./top.js";

const VIEWS = [
  "top",
  "runbar",
  "verdict",
  "strip",
  "lanes",
  "ribbon",
  "inspector",
  "tree",
  "aggregates",
  "divergence",
  "whatif",
  "foot",
  "timeline",
  "drawers",
];

const store = createStore();
/** What the page's own views share besides the store: the server, what is set, notices. */
const lab = { store, catalogue: null, config: null, ran: null, figures: new Map() };
const base = new URL("../lab/", import.meta.url);
const modules = VIEWS.map((name) =>
  import(`./${name}.js`).then(
    (module) => [name, module],
    (error) => (console.warn(`view ${name}: ${error.message}`), [name, null]),
  ),
);

/** An answer of the server; one that says what is wrong becomes an error with those words. */
lab.answer = async (path, options) => {
  const answer = await fetch(new URL(path, base), options);
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => null);
  throw new Error(body?.error ?? `The server answered ${answer.status}.`);
};
lab.fetch = async (path, options) => {
  const answer = await lab.answer(path, options);
  return answer.json().catch(() => Promise.reject(new Error(`The server answered ${answer.status} without JSON.`)));
};

lab.notify = (text) => {
  const spot = document.querySelector('[data-view="notices"]');
  const notice = h(
    "p.notice",
    {},
    h("span", {}, text),
    h("button.plain", { "aria-label": "Dismiss", onclick: () => notice.remove() }, icon("close")),
  );
  spot?.append(notice);
};
lab.clearNotices = () => document.querySelector('[data-view="notices"]')?.replaceChildren();

/** Show the recorded runs of a preset; no model is involved. */
lab.openRecorded = async (name, early) => {
  await guarded(async () => {
    const body = await (early ?? lab.fetch(`trace?name=${encodeURIComponent(name)}`));
    await lab.bus.stop();
    const preset = lab.catalogue.presets.find((item) => item.name === body.recorded);
    if (preset) lab.config = presetConfig(preset);
    store.emit("reconfig");
    store.load(body.lanes, { recorded: body.recorded });
  });
};

/** Show a visitor's own files: checked by the server, kept nowhere. */
lab.openFiles = async (files) => {
  lab.clearNotices();
  await guarded(async () => {
    const lanes = [];
    for (const file of files) {
      const { upload, lanes: most } = lab.catalogue.limits;
      if (file.size > upload)
        throw new Error(`${file.name} is larger than ${Math.round(upload / 1e6)} MB, which is the limit.`);
      lanes.push(...(await lab.fetch("open", { method: "POST", body: file })).lanes);
      if (lanes.length > most)
        throw new Error(`These files hold ${lanes.length} runs; at most ${most} fit side by side.`);
    }
    await lab.bus.stop();
    const keys = new Map();
    for (const lane of lanes) {
      const count = (keys.get(lane.card.name) ?? 0) + 1;
      keys.set(lane.card.name, count);
      lane.key = count > 1 ? `${lane.card.name}.${count}` : lane.card.name;
    }
    store.load(lanes);
    const config = headsConfig([...store.runs.values()], lab.catalogue.models[0] ?? "");
    if (config) lab.config = lab.ran = config;
    store.emit("reconfig");
    store.emit("config");
  });
};

async function guarded(work) {
  try {
    await work();
  } catch (error) {
    lab.notify(error.message);
  }
}

lab.mined = createMined(lab);
lab.bus = createBus(store, (text) => lab.notify(text));
lab.link = createLink(store, lab);
const wanted = new URLSearchParams(location.search);
const catalogue = lab.fetch("catalogue");
const early = wanted.has("m") ? null : lab.fetch(`trace?name=${encodeURIComponent(wanted.get("trace") ?? "")}`);
early?.catch(() => {});

async function mount(element) {
  restoreTheme();
  for (const [name, module] of await Promise.all(modules)) {
    const spot = element.querySelector(`[data-view="${name}"]`);
    if (spot && module) module.mount(spot, store, lab);
  }
  bindKeys(store, lab);
  watchFlags(store, lab);
  await guarded(async () => {
    lab.catalogue = await catalogue;
    const { config, view } = lab.link.read();
    const first = lab.catalogue.presets.find((item) => item.name === lab.catalogue.first);
    lab.config =
      config ??
      (first
        ? presetConfig(first)
        : {
            preset: "",
            models: lab.catalogue.models[0],
            prompt: "",
            lanes: lab.catalogue.methods.slice(0, 2).map(({ name }) => ({ method: name, knobs: {} })),
            max_new_tokens: 128,
            temperature: 0,
            top_p: 1,
            top_k: 0,
            seed: 0,
            chat: false,
          });
    store.emit("catalogue");
    if (config) await lab.runNow(false);
    else if (lab.catalogue.presets.some((item) => item.recorded)) await lab.openRecorded("", early);
    lab.link.restore(view);
    document.documentElement.dataset.draftscope = "ready";
  });
}

const calls = window.draftscope?.calls ?? []; // Gradio may have been faster than these modules
window.draftscope = { store, lab, mount, attach: lab.bus.attach };
for (const [name, given] of calls) window.draftscope[name](...given);
