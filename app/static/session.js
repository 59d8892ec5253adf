// @ts-check
// What is set in the run bar and what becomes of it: a run, a recording, a visitor's files.

import { firstConfig, headsConfig, presetConfig, sameConfig, unsaid } from "./config.js";
import { createEmitter } from "./emitter.js";
import { NEEDS } from "./packed.js";
import { lanesOf } from "./run/choice.js";

/** @param {string} name */
const noCase = (name) =>
  `This link names a case that this server does not have, "${name.slice(0, 40)}". Choose one from the list.`;

/** @param {string} title */
const noRuns = (title) =>
  `No runs of “${title}” are recorded here. Its settings are in the run bar: press Run to make them.`;

/**
 * @typedef {import("./types/lab.js").Session} Session
 * @typedef {import("./types/lab.js").Config} Config
 */

/**
 * @param {Pick<import("./types/lab.js").Lab, "api" | "bus" | "ui"> & {store: import("./types/store.js").Store}} parts
 * @returns {Session}
 */
export function createSession({ store, api, bus, ui }) {
  /** @type {import("./types/store.js").Emitter<import("./types/lab.js").SessionTopics>} */
  const { on, emit } = createEmitter();

  /** Tell the visitor what went wrong; the page goes on. @param {() => Promise<void>} work */
  const guarded = (work) => work().catch((error) => ui.notify(error instanceof Error ? error.message : String(error)));

  /** The settings as they were when the stage was filled. @type {Config | null} */
  let base = null;
  let turns = 0;
  /** Whose methods the catalogue has. */
  let shown = "";
  /** The last that asks for the stage gets it: tells whether this was the last.
   * @param {string} [title] of a case that is fetched for it */
  const turn = (title = "") => {
    const mine = ++turns;
    opening(title);
    return () => mine === turns;
  };

  /** @param {string} title of the case that comes, empty where none does */
  function opening(title) {
    if (session.opening === title) return;
    session.opening = title;
    emit("opening");
  }

  /** A case of the catalogue; an empty name is the first that is recorded. @param {string} name */
  const caseOf = (name) => session.catalogue?.presets.find((one) => (name ? one.name === name : one.recorded));

  /** What is told where the runs of a case are not here, and done: it can be run, or is none; then the first comes onto
   * an empty stage. @param {string} name @param {ReturnType<typeof caseOf>} known */
  async function without(name, known) {
    ui.notify(known ? noRuns(known.title) : noCase(name));
    if (known) {
      session.configure(presetConfig(known), "recording");
      void methodsOf();
    } else if (!store.lanes.length) await session.openRecorded("");
  }

  /** The stage shows other runs now. @param {Config | null} ran their settings, null where no one request makes them
   * @param {Config | null} config what the run bar shows */
  function filled(ran, config = ran) {
    session.ran = ran;
    base = session.config = config ?? session.config;
    emit("ran");
  }

  /** The cards, with their defaults, are those of the models that are chosen. */
  function methodsOf() {
    const models = session.config?.models ?? "";
    return models === shown || !session.catalogue?.models.includes(models) ? undefined : fetchMethods(models);
  }

  /** @param {string} models */
  async function fetchMethods(models) {
    shown = models;
    const body = await api.get("catalogue", { models }).catch(() => null);
    if (shown !== models) return;
    if (!body) {
      shown = "";
      return;
    }
    listed(body);
    session.takeMethods(body.methods);
  }

  /** The models that the server has now: another page may have had others opened in the place of some.
   * @param {import("./types/wire.js").Catalogue} there */
  function listed({ models, families, taught }) {
    if (!session.catalogue || models.join("\n") === session.catalogue.models.join("\n")) return;
    session.catalogue = { ...session.catalogue, models, families, taught };
    emit("catalogue");
    emit("config", { by: "catalogue" });
  }

  /** @type {{-readonly [K in keyof Session]: Session[K]}} */
  const session = {
    on,
    emit,
    catalogue: null,
    config: null,
    ran: null,
    opening: "",
    get turns() {
      return turns;
    },
    get stale() {
      if (session.opening || !store.lanes.length || !base || !session.config) return false;
      return !sameConfig(base, session.config);
    },

    take(catalogue, config, models = catalogue.models[0] ?? "") {
      session.catalogue = catalogue;
      session.config = config ?? firstConfig(catalogue);
      shown = models;
      emit("catalogue");
      emit("config", { by: "catalogue" });
      void methodsOf();
    },
    configure(partial, by = "") {
      if (!session.config) return;
      const problem = "prompt" in partial ? { task: undefined, answer: undefined } : {}; // goes with its prompt
      session.config = { ...session.config, ...problem, ...partial };
      emit("config", { by });
    },
    choosePreset(name, by = "") {
      const preset = session.catalogue?.presets.find((item) => item.name === name);
      if (!preset) return;
      if (!preset.recorded) return session.configure(presetConfig(preset), by);
      session.config = presetConfig(preset);
      emit("config", { by });
      void methodsOf();
      session.openRecorded(name);
    },
    async openRecorded(name, early) {
      const { catalogue } = session;
      if (!name && catalogue && !caseOf("")) return false; // nothing is recorded
      let shown = false;
      await guarded(async () => {
        const coming = caseOf(name);
        const wanted = turn(coming?.title);
        if (coming?.recorded && !store.lanes.length) {
          session.config = presetConfig(coming);
          emit("config", { by: "recording" });
        }
        try {
          const body = await (early ?? api.get("trace", { name })).catch((error) => {
            if (!catalogue || coming?.recorded) throw error;
            return null;
          });
          if (body && wanted()) await bus.stop();
          if (!wanted()) return;
          if (!body) return await without(name, coming);
          const preset = session.catalogue?.presets.find((item) => item.name === body.recorded);
          store.load(body.lanes, { recorded: body.recorded, compared: body.compared });
          filled(preset ? presetConfig(preset) : null);
          emit("config", { by: "recording" });
          void methodsOf();
          shown = true;
        } finally {
          if (wanted()) opening("");
        }
      });
      return shown;
    },
    openFiles: (files) => {
      ui.clearNotices();
      return session.openGiven(read(files));
    },
    openGiven: (given) =>
      guarded(async () => {
        const wanted = turn();
        const { lanes, compared } = await given;
        if (wanted()) await bus.stop();
        if (!wanted()) return;
        store.load(lanes, { compared, opened: true });
        const here = session.catalogue?.models ?? [];
        const runs = [...store.runs.values()];
        const config = headsConfig(runs, here);
        const more = config && here.length ? unsaid(runs) : "";
        const made = !more && runs.every((run) => run.head?.preset === config?.models);
        filled(made || !here.length ? config : null, config);
        if (more) ui.notify(`${more} Run makes others.`);
        emit("config", { by: "files" });
        void methodsOf();
      }),
    reopen: ({ runs, lanes, status, ran, config }) =>
      guarded(async () => {
        const wanted = turn();
        await bus.stop();
        if (!wanted()) return;
        store.bring({ runs, lanes, status });
        filled(ran, config);
        emit("config", { by: "recording" });
        void methodsOf();
      }),
    stay: () => void turn(),
    async chooseModels(models, by = "") {
      session.configure({ models }, by);
      await fetchMethods(models);
    },
    async openedModels(models) {
      const catalogue = await api.get("catalogue", { models });
      const able = catalogue.methods.filter((card) => !card.unavailable).map((card) => card.name);
      const { config } = session;
      const lanes = config?.lanes.filter(({ method }) => able.includes(method)) ?? [];
      const chosen = lanes.length ? lanes : lanesOf(able, [], 3);
      session.take(catalogue, { ...(config ?? firstConfig(catalogue)), models, lanes: chosen }, models);
      session.takeMethods(catalogue.methods);
    },
    takeMethods(methods) {
      if (!session.catalogue) return;
      session.catalogue = { ...session.catalogue, methods };
      emit("methods");
    },
    async run({ step = false } = {}) {
      const { config } = session;
      ui.clearNotices();
      if (!session.catalogue?.models.length) {
        ui.notify(NEEDS);
        return true;
      }
      if (!config?.prompt.trim()) {
        ui.notify("The prompt is empty: write some text, or choose a case.");
        return false;
      }
      turn();
      ui.emit("halt"); // a lane that is being made beside the others: its end would be taken for that of this run
      if (step) store.setOption("ghosts", true);
      await bus.start(config, { step });
      return true;
    },
    step() {
      if (!store.lanes.length || session.stale) return session.run({ step: true });
      store.setOption("ghosts", true);
      ui.emit("step", 1);
      return Promise.resolve(true);
    },
  };

  /** What is in some files, checked by the server, which keeps none. @param {readonly File[]} files */
  async function read(files) {
    const upload = session.catalogue?.limits.upload ?? Infinity;
    if (files.reduce((sum, file) => sum + file.size, 0) > upload)
      throw new Error(`These files are larger than ${Math.round(upload / 1e6)} MB together, which is the limit.`);
    return api.post("open", framed(files));
  }
  bus.on("methods", (methods) => {
    if (!session.ran || session.ran.models !== session.config?.models) return; // others were chosen meanwhile
    shown = session.ran.models;
    session.takeMethods(methods);
  });
  bus.on("begun", (config) => {
    session.ran = base = config;
    emit("ran");
  });
  return session;
}

/** Several files in one body, as the server splits them: a line with name and size before each.
 * @param {readonly File[]} files */
export const framed = (files) =>
  new Blob(files.flatMap((file) => [`${JSON.stringify({ file: file.name, bytes: file.size })}\n`, file]));
